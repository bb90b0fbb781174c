"""Title of a document, and its routing words.

Rules:
    The title comes from the first of these that has one: the metadata, the cover page of a known
    kind of document, the first heading of the parser, a heading at the start of a plain text, the
    file name. A heading below the level of a later one titles only a section.
    Numbers ("Exhibit 10.1"), speaker lines ("HOST: WELCOME") and stamps ("CONFIDENTIAL") are not
    titles. Other first lines are never used: they cost up to 13 points of recall on chat logs.
    A title that is only a file name ("lease_final.docx", "EX-10.2") is not a title of the text.
    Routing words are matched with questions to find documents: the title, the words of file name
    and path, company, form and fiscal year of a filing, kind and parties of a contract, and the
    words of a written summary that the text does not contain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from spanwise.core.documents.headings import find_headings
from spanwise.core.documents.outlines import DocumentKind
from spanwise.core.documents.summary import clip, is_extract
from spanwise.core.text.terms import text_terms, word_terms, words
from spanwise.filters import value_texts
from spanwise.types import Document

_TITLE_CHARS = 200
_HEADING_WITHIN_CHARS = 4_000  # a later heading belongs to a section
_NUMBERED = re.compile(
    r"\d|(?:PART|CHAPTER|ARTICLE|ITEM|SECTION|SCHEDULE|EXHIBIT|ANNEX|APPENDIX|NOTE)\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"[*=-]{3,}")
_STAMPS = frozenset(
    (
        "confidential", "contents", "copy", "draft", "execution copy", "execution version", "final",
        "index", "strictly confidential", "table of contents",
    )
)  # fmt: skip
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_SEPARATORS = re.compile(r"[\s_+]+")
_MEMBER = "!/"
_ROUTING = ("company", "form", "fiscal_year", "agreement", "parties")
_FILE_NAME = re.compile(
    r"\S*_\S*|.*\.(?:docx?|rtf|pdf|xlsx?|pptx?|html?|txt|indd|qxd|pmd|fm|tex|dvi|p65|json)"
    r"|(?:ex|exh|exhibit)[\s.-]{0,2}\d[\d.()a-z-]{0,12}|[a-z]*\d{3,}[a-z\d-]*",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(("index", "readme", "default", "main", "untitled", "document"))


def document_title(document: Document, *, kinds: Sequence[DocumentKind] = ()) -> str:
    """Return the title of a document, in one line of at most 200 characters.

    Args:
        document: The document.
        kinds: Rules for kinds of documents, in order of precedence.

    Returns:
        The given title; else the title of its kind; else the first heading, unless it titles only a
        section; else the heading at the start of the text; else the file name without separators
        and suffix (with the folder if the file name is generic, such as "index.md"); else the id.
    """
    title = (
        document.title.strip()
        or _cover_title(document, kinds)
        or _first_heading(document)
        or _opening_heading(document)
    )
    if title:
        return clip(title, max_chars=_TITLE_CHARS)
    parts = _path_parts(document.id) or _path_parts(document.source) or [document.id]
    name = _spaced(parts[-1])
    if len(parts) > 1 and (name.lower() in _NO_NAMES or name.isdigit()):
        name = f"{_spaced(parts[-2])} {name}"
    return clip(name or document.id, max_chars=_TITLE_CHARS)


def _cover_title(document: Document, kinds: Sequence[DocumentKind]) -> str:
    """Return the title of the first kind that has one; empty for none."""
    titles = (
        kind.cover_title(document.metadata)
        for kind in kinds
        if kind.kind_field not in document.given_fields
    )
    return next(filter(None, titles), "")


def _first_heading(document: Document) -> str:
    """Return the first parser heading near the start; empty if there is none.

    A heading below the level of a later one titles only a section; then it is the only heading of
    the highest level, if that is level 1 and near the start.
    """
    headings = [
        heading
        for heading in document.headings
        if heading.title.strip() and not _is_stamp(heading.title)
    ]
    top = min((heading.level for heading in headings), default=1)
    if headings and headings[0].level > top:
        headings = [heading for heading in headings if heading.level == top]
        headings = headings if top == 1 and len(headings) == 1 else []
    if headings and headings[0].start <= _HEADING_WITHIN_CHARS:
        return headings[0].title
    return ""


def _is_stamp(heading: str) -> bool:
    return heading.lower().strip("*[]() ") in _STAMPS


def _opening_heading(document: Document) -> str:
    """Return the heading at the start of a text without parser headings; empty if there is none.

    Only headings that cannot be titles may precede it.
    """
    if document.headings:
        return ""
    opening = document.text[:_HEADING_WITHIN_CHARS]
    place = 0
    for heading in find_headings(opening):
        if _RULE.sub("", opening[place : heading.start]).strip():
            break
        if _titles_document(heading.title):
            return heading.title
        place = heading.end
    return ""


def _titles_document(heading: str) -> bool:
    """Return whether an opening heading is a title: no number, speaker or stamp."""
    return not (_NUMBERED.match(heading) or ":" in heading or _is_stamp(heading))


def _spaced(name: str) -> str:
    """Return a file name with spaces for separators; for hyphens only if it has no others."""
    spaced = _SEPARATORS.sub(" ", name).strip()
    return spaced if " " in spaced else spaced.replace("-", " ").strip()


def is_file_name(title: str) -> bool:
    """Return whether a title is only the name of a file or the number of an exhibit."""
    return _FILE_NAME.fullmatch(title.strip()) is not None


def title_words(document: Document, *, title: str) -> str:
    """Return the routing words of a document: title, file name and path, cover fields.

    Args:
        document: The document.
        title: Its displayed title.

    Returns:
        The title; then words of the id and of the source's file name that are not in it; then
        company, form and fiscal year, or kind and parties of a contract, each unless the title has
        a word of it. Each word occurs once.
    """
    seen = set(_lower_words(title))
    parts = [title] if title else []
    names = _path_parts(document.id) + _path_parts(document.source)[-1:]
    routing = {name: document.metadata[name] for name in _ROUTING if name in document.metadata}
    new_values = [
        value
        for value in value_texts(routing)
        if seen.isdisjoint([_one_word(value), *_lower_words(value)])
    ]
    for word in words(" ".join([*names, *new_values])):
        if word.lower() not in seen:
            seen.add(word.lower())
            parts.append(word)
    return " ".join(parts)


def summary_words(summary: str, *, texts: Sequence[str], language: str) -> str:
    """Return the words of a summary that do not occur in the given texts.

    Only these words of the document summary are searched, with the routing words. Other words of it
    would make all chunks of the document similar.

    Args:
        summary: Summary of the document.
        texts: Text of the document, and the headers of its sections.
        language: Language of the document, as for `core.text.terms.word_terms`.
    """
    if is_extract(summary, texts[0]):
        return ""
    known = {term for text in texts for term in text_terms(text, language=language)}
    new = [word for word in words(summary) if known.isdisjoint(word_terms(word, language=language))]
    return " ".join(dict.fromkeys(new))


def _lower_words(text: str) -> list[str]:
    return [word.lower() for word in words(text)]


def _one_word(text: str) -> str:
    """Return the words of a text in lower case, joined as in file names: "10k" for "10-K"."""
    return "".join(_lower_words(text))


def _path_parts(path: str) -> list[str]:
    """Return the folders and the file name of a path or URL, without suffixes."""
    if "://" in path:
        address = urlsplit(path)
        path = f"{address.netloc.removeprefix('www.')}/{unquote(address.path)}"
    parts = path.replace(_MEMBER, "/").replace("\\", "/").split("/")
    return [_SUFFIX.sub("", part) for part in parts if part not in ("", ".", "..")]

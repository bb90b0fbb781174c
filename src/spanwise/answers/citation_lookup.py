"""Citations in JSON: reads them, and locates the cited text in the current documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.core.answers.citations import locate
from spanwise.core.documents.versions import text_hash
from spanwise.errors import OptionError, shown, shown_json
from spanwise.types import Citation, CitationLocation, ExcerptSpan, Segment

if TYPE_CHECKING:
    from spanwise.stores.port import Store


GivenCitation = Citation | Segment | ExcerptSpan | Mapping[str, object]
"""Citation, or segment or excerpt span with its citation; or the `to_dict` form of one of these."""

_LISTS = ("segments", "excerpts", "spans", "citations")
_MAX_PLACE = 1 << 40


def given_citations(value: object) -> list[Mapping[str, object]]:
    """Return the citations in parsed JSON: a citation, a list of them, or a search result.

    Raises:
        OptionError: If the value contains no citation.
    """
    found = _found(value)
    if not found:
        raise OptionError(
            f"{shown(value)} holds no citation; give a citation, a segment, or a result of "
            "`spanwise search --json`"
        )
    return found


def _found(value: object) -> list[Mapping[str, object]]:
    if isinstance(value, Mapping):
        lists = [value[name] for name in _LISTS if name in value]
        if lists:
            return [one for items in lists for one in _found(items)]
        return [value] if "citation" in value or "document_id" in value else []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [one for item in value for one in _found(item)]
    return []


def citation_of(given: GivenCitation) -> Citation:
    """Return a citation as an object.

    Raises:
        OptionError: If it is not a citation.
    """
    return _parts(given)[0]


def locate_citation(store: Store, given: GivenCitation) -> CitationLocation:
    """Return the current position of a cited text, or the text that replaced it.

    Raises:
        OptionError: If it is not a citation, lacks the cited text, or contradicts itself.
    """
    citation, text = _parts(given)
    located = _located(store, _with_text(citation, text))
    return replace(located, cited=citation)


def _located(store: Store, cited: Citation) -> CitationLocation:
    whole = store.get_whole(cited.document_id)
    if whole is not None:
        return locate(whole, cited)
    for record in store.list_records():  # a file that was renamed has the same text
        if record.version == cited.version and (renamed := store.get_whole(record.id)) is not None:
            return locate(renamed, cited)
    return CitationLocation(
        cited=cited,
        status="removed",
        message=f"there is no document {cited.document_id!r} any more, and none with its text",
    )


def _with_text(cited: Citation, text: str) -> Citation:
    """Return a citation with the hash of its text, and the known part of the text as quote.

    Args:
        cited: Citation to complete.
        text: Text that accompanies the citation. It is ignored if its length differs from that of
            the cited range, as for a span of an excerpt.

    Raises:
        OptionError: If the citation lacks the cited text, or contradicts itself.
    """
    length = cited.end - cited.start
    known = text if len(text) == length else cited.quote
    try:
        known_hash = text_hash([known])
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the text of {shown(cited)} has a lone surrogate at character {error.start}; give "
            "it as it came"
        ) from error
    is_whole = len(known) == length
    if not known or not (is_whole or cited.text_hash):
        raise OptionError(
            f"{shown(cited)} does not hold the text it points at, so nothing can be compared; "
            "give it with its `quote` and `text_hash`, or the segment it is from"
        )
    if is_whole and cited.text_hash not in ("", known_hash):
        raise OptionError(
            f"{shown(cited)} comes with a text that is not the one it was made for: its hash is "
            "another one; give it as it came"
        )
    return replace(cited, quote=known, text_hash=cited.text_hash or known_hash)


def _parts(given: GivenCitation) -> tuple[Citation, str]:
    """Return a citation and the text that accompanies it; the text is empty if there is none.

    Raises:
        OptionError: If the value is not a citation, or a field is missing or of the wrong type.
    """
    if isinstance(given, Citation):
        return given, ""
    if isinstance(given, Segment | ExcerptSpan):
        return given.citation, given.text
    if not isinstance(given, Mapping):
        raise OptionError(f"{shown(given)} is no citation; give one, or a segment")
    inner = given.get("citation")
    if isinstance(inner, Mapping):
        return _citation(inner), _text(given, "text")
    return _citation(given), ""


def _citation(given: Mapping[str, object]) -> Citation:
    start, end = _place(given, "start"), _place(given, "end")
    document_id = _text(given, "document_id")
    if not document_id or not start < end:
        raise OptionError(
            f"{shown(given)} is no citation: it needs a document_id, and a start below its end"
        )
    return Citation(
        document_id=document_id,
        title=_text(given, "title"),
        start=start,
        end=end,
        pages=_pages(given.get("pages")),
        page_labels=_labels(given.get("page_labels")),
        section_path=_texts(given.get("section_path", ())),
        sections=_paths(given.get("sections", ())),
        source=_text(given, "source"),
        version=_text(given, "version"),
        quote=_text(given, "quote"),
        text_hash=_text(given, "text_hash"),
        knowledge_base=_text(given, "knowledge_base"),
    )


def _place(given: Mapping[str, object], name: str) -> int:
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_PLACE:
        raise OptionError(
            f"{name} of {shown_json(given)} is {shown_json(value)}; give a place in a text"
        )
    return value


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"{name} of {shown_json(given)} is {shown_json(value)}; give a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    items = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(item, str) for item in items):
        raise OptionError(f"{shown(value)} stands where a list of texts is wanted")
    return tuple(map(str, items))


def _paths(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        raise OptionError(f"sections are {shown(value)}; give a list of section paths")
    return tuple(map(_texts, value))


def _labels(value: object) -> tuple[str, str] | None:
    if value is None:
        return None
    labels = _texts(value)
    if len(labels) != 2:
        raise OptionError(f"page_labels are {shown(value)}; give those of the first and last page")
    return labels[0], labels[1]


def _pages(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and len(value) == 2:
        first, last = value
        if isinstance(first, int) and isinstance(last, int):
            return first, last
    raise OptionError(f"pages are {shown(value)}; give the first and the last")

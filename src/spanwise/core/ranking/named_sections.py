"""Questions that name a part of a document: "Note 14 Revenues", "Article 7", "the note on leases".

Rules:
    A question names a part in one of five ways:
        number  a kind and a number ("Item 1A", "section 4.2"), with words of its title or none
        topic   a kind ("note", "clause", "statements") and words of the title
        title   all words of the title and no others; such a question has no question word or verb
        request "explain", "describe" or a similar verb, and a phrase of the title that has half of
                its words or more ("Explain the accounting policies")
        defined a defined term, which is a title in quotation marks ("definition of Net Sales")
    Every content word of the question must be accounted for: by the number, the kind, the title of
    the section, the title or a field of the document, or a word that asks for text ("show",
    "full"). So an ordinary question about the topic of a section names no section.
    Kinds are recognised in English.
    A kind counts as a word of a title if the title or an enclosing one contains it. A note or an
    item must have its kind in one of them; a section, clause or chapter need not.
    "Financial statements" are all consecutive statements, from the first to the last.
    A named section is returned with the sections inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.text.terms import content_words, text_terms

if TYPE_CHECKING:
    from spanwise.core.ranking.question import Question
    from spanwise.types import Section

_MAX_TERMS = 12
_MIN_CONFIRMED = 0.3
_MIN_UNCONFIRMED = 0.5
_MIN_REQUESTED = 0.5
_MIN_TITLE_TERMS = 2
_MAX_APART = 3  # sections between two statements of one group

_KIND_OF = {
    "note": "note", "notes": "note", "item": "item", "items": "item", "article": "article",
    "section": "section", "sections": "section", "clause": "section", "clauses": "section",
    "paragraph": "section", "provision": "section", "provisions": "section", "chapter": "chapter",
    "part": "part", "schedule": "schedule", "exhibit": "exhibit", "annex": "annex",
    "appendix": "appendix", "statement": "statement", "statements": "statement", "sheet": "sheet",
    "sheets": "sheet",
}  # fmt: skip
_ANY_SECTION = frozenset(("section", "article", "chapter"))
_TOPIC_KINDS = frozenset(("note", "section", "chapter", "article", "statement", "sheet"))
_OWN_KINDS = frozenset(("statement", "sheet"))
_ROMAN_KINDS = frozenset(("article", "chapter", "part", "section"))
_KIND = (
    r"notes?|items?|articles?|sections?|clauses?|paragraphs?|chapter|part|schedule|exhibit|annex"
    r"|appendix|§+"
)
_NUMBER = (
    r"\d{1,3}(?:\.\d{1,3}){0,3}[A-Z]?(?:\([a-zA-Z\d]{1,4}\)){0,3}"
    r"|(?-i:[IVXLC]{1,7}|[A-Z](?:-\d{1,2})?)"
)
_NAMED = re.compile(
    rf"(?<!\w)(?P<kind>{_KIND})\s{{0,3}}(?:no\.?\s{{0,2}}|number\s)?(?P<number>{_NUMBER})(?![\w-])",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"\W*(?:(?P<kind>{_KIND})\s{{1,3}})?(?P<number>{_NUMBER})(?![\w-])", re.IGNORECASE
)
_ASKING = re.compile(
    r"\?|\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could"
    r"|should|would|will|has|have|had|may|must|vs|versus|compare|difference|between)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*(?:please\s+)?(?:explain|describe|summari[sz]e|outline|present|show|give|quote)\b",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"\bstatements?\s+of\b|\bbalance\s+sheets?\b|\b(?:income|cash\s+flows?)\s+statements?\b",
    re.IGNORECASE,
)
_DEFINED = re.compile(
    r"\b(?:(?:definition|meaning)s?\s+of|defined?|meant\s+by|what\s+does\b.{1,80}\bmean)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\W{0,3}[\"“”„«]")
_DEFINITION = "definition"
_DEFINITION_TERMS = frozenset(text_terms("define defined definition mean meaning meant"))
_FILLERS = frozenset(
    text_terms(
        "show give get see find read print display list quote cite return full whole entire"
        " complete text wording content contents say says said state states contain contains"
        " cover covers summarize summarise describe describes explain please document called"
        " titled named heading regarding concerning regard relate related outline present"
    )
)
_KIND_TERMS = frozenset(text_terms(" ".join(_KIND_OF)))
_STATEMENT_TERMS = frozenset(text_terms("statement sheet"))
_PREFIX = 3  # characters of a word that no stemmer changes
_STATEMENT_WORDS = frozenset(
    text_terms("consolidated condensed financial interim audited unaudited annual primary main")
)


class NamedPart(NamedTuple):
    """Part of a document that a question may name."""

    kind: str
    """Kind of part: "note", "item", "section", "definition" ...; empty if the question has no such
    word."""
    number: str
    """Number of the part, lower case, with Roman numerals as digits; empty for none."""
    terms: frozenset[str]
    """Other content terms of the question."""
    phrase: tuple[str, ...] = ()
    """The same terms in the order of the question, if it asks to explain or show something."""


class SectionRange(NamedTuple):
    """Consecutive sections of a document that a question names."""

    start: int
    """Index of the first section."""
    end: int
    """Index after the last section."""
    name: str
    """Title of the part."""
    score: float
    """Share of the words of the title that the question contains, in (0, 1]."""


class _Node(NamedTuple):
    """Heading and the consecutive sections under it."""

    path: tuple[str, ...]
    start: int
    end: int


def read_named_part(question: Question) -> NamedPart | None:
    """Return the part of a document that a question may name; None if it cannot name any."""
    if len(question.terms) > _MAX_TERMS:
        return None
    text = question.text
    match = _NAMED.search(text)
    if match is not None:
        kind = _kind(match["kind"])
        terms = _terms(text[: match.start()] + " " + text[match.end() :], question.language)
        terms -= _KIND_TERMS - _STATEMENT_TERMS
        return NamedPart(kind, _number(match["number"], kind), terms)
    kinds = [_KIND_OF[word.lower()] for word in question.words if word.lower() in _KIND_OF]
    kind = next((kind for kind in reversed(kinds) if kind in _TOPIC_KINDS), "")
    if "note" in kinds:  # "notes to the financial statements"
        kind = "note"
    terms = _terms(text, question.language)
    if not kind and _DEFINED.search(text):
        return NamedPart(_DEFINITION, "", terms - _DEFINITION_TERMS)
    if kind:
        return NamedPart(kind, "", terms - _KIND_TERMS) if terms - _FILLERS else None
    if len(terms) < _MIN_TITLE_TERMS or _ASKING.search(text):
        return None
    phrase = _ordered_terms(text, question.language) if _REQUEST.match(text) else ()
    return NamedPart("", "", terms, phrase)


def find_named_sections(
    part: NamedPart, sections: Sequence[Section], *, names: str
) -> SectionRange | None:
    """Return the sections of a document that are the named part; None if it has none.

    Of several matching headings, the one with the greatest share of its words in the question is
    selected, then the one with the longest text.

    Args:
        part: The part that the question names.
        sections: All sections of the document, in order.
        names: Title, id and fields of the document. The question may contain words of them.
    """
    own = frozenset(text_terms(names)) | _FILLERS
    if (
        part.kind == "statement"
        and part.terms <= _STATEMENT_WORDS | own
        and not _STATEMENT_WORDS.isdisjoint(part.terms)
    ):
        statements = _statements(_nodes(sections))
        if statements is not None:
            return statements
    best: tuple[float, int] = (0.0, 0)
    found: SectionRange | None = None
    for node in _nodes(sections):
        for name in node.path[-1].split(" / "):
            score = _score(part, name, node.path[:-1], own=own)
            chars = sections[node.end - 1].end - sections[node.start].start
            if score > 0 and (score, chars) > best:
                best = score, chars
                found = SectionRange(node.start, node.end, name, score)
    return found


def _nodes(sections: Sequence[Section]) -> Iterator[_Node]:
    """Yield each heading with the consecutive sections under it."""
    open_nodes: list[tuple[str, int]] = []
    for index, section in enumerate(sections):
        depth = 0
        while (
            depth < min(len(open_nodes), len(section.path))
            and open_nodes[depth][0] == section.path[depth]
        ):
            depth += 1
        yield from _closed(open_nodes, depth, index)
        del open_nodes[depth:]
        open_nodes += [(title, index) for title in section.path[depth:]]
    yield from _closed(open_nodes, 0, len(sections))


def _closed(open_nodes: Sequence[tuple[str, int]], depth: int, end: int) -> Iterator[_Node]:
    titles = tuple(title for title, _ in open_nodes)
    for at in range(depth, len(open_nodes)):
        yield _Node(titles[: at + 1], open_nodes[at][1], end)


def _statements(nodes: Iterable[_Node]) -> SectionRange | None:
    """Return the longest group of consecutive statements; None if there are fewer than two."""
    groups: list[list[_Node]] = []
    statements = (node for node in nodes if _STATEMENT.search(node.path[-1]))
    for node in sorted(statements, key=lambda node: (node.start, node.end)):
        if groups and node.start - groups[-1][-1].end <= _MAX_APART:
            groups[-1].append(node)
        else:
            groups.append([node])
    group = max(groups, key=len, default=[])
    if len(group) < 2:
        return None
    name = f"{group[0].path[-1]} … {group[-1].path[-1]}"
    return SectionRange(group[0].start, max(node.end for node in group), name, 1.0)


def _score(part: NamedPart, title: str, above: Sequence[str], *, own: frozenset[str]) -> float:
    """Return how well a title matches a named part, 0 if it is another one.

    Args:
        part: The named part.
        title: Title of a section.
        above: Titles of the enclosing sections.
        own: Terms that the question may contain besides those of the title.
    """
    label = _LABEL.match(title)
    if part.number:
        found = part.terms & frozenset(text_terms(title))
        is_named = label is not None and _is_numbered(part, label, above)
        is_named = is_named and part.terms - found <= own
        return (1 + len(found)) / (1 + len(part.terms)) if is_named else 0.0
    if not any(term[:_PREFIX] in title.lower() for term in part.terms):
        return 0.0
    name = title[label.end() :] if label is not None else title
    if part.kind == _DEFINITION and not _QUOTED.match(name):
        return 0.0
    title_terms = _terms(name, "en")
    title_terms -= _KIND_TERMS if part.kind and part.kind != _DEFINITION else frozenset()
    found = part.terms & title_terms
    if not found or not part.terms - found <= own:
        return 0.0
    score = len(found) / len(title_terms - (own - found))
    least = _least_score(part.kind, [title, *above])
    if _has_phrase(title, part.phrase, own=own):
        least = _MIN_REQUESTED
    return score if score >= least else 0.0


def _has_phrase(title: str, phrase: Sequence[str], *, own: frozenset[str]) -> bool:
    """Return whether a title contains the terms of a phrase, except own ones, one after another."""
    wanted = tuple(term for term in phrase if term not in own)
    terms = _ordered_terms(title, "en")
    count = len(wanted)
    return count >= _MIN_TITLE_TERMS and any(
        terms[at : at + count] == wanted for at in range(len(terms) - count + 1)
    )


def _least_score(kind: str, titles: Sequence[str]) -> float:
    """Return the least share of the words of a title that the question must contain.

    Args:
        kind: Kind of the named part; empty if the question has no such word.
        titles: The title and the enclosing ones, innermost first.
    """
    if not kind or kind == _DEFINITION:
        return 1.0
    if _is_confirmed(kind, titles):
        return _MIN_CONFIRMED
    return _MIN_UNCONFIRMED if kind in _ANY_SECTION else inf


def _is_numbered(part: NamedPart, label: re.Match[str], above: Sequence[str]) -> bool:
    """Return whether the number at the start of a title is that of the named part."""
    kind = _kind(label["kind"] or "")
    if _number(label["number"], kind or part.kind) != part.number:
        return False
    if kind:
        return kind == part.kind or {kind, part.kind} <= {"section", "article"}
    return part.kind in _ANY_SECTION or _is_confirmed(part.kind, above)


def _is_confirmed(kind: str, titles: Sequence[str]) -> bool:
    """Return whether titles, innermost first, contain the word of a kind.

    Enclosing titles do not say whether a section is a statement.
    """
    names = {name for name, named in _KIND_OF.items() if named == kind}
    if kind in _OWN_KINDS:
        titles = titles[:1]
    return any(word in names for title in titles for word in re.findall(r"[a-z]+", title.lower()))


def _kind(word: str) -> str:
    return "section" if "§" in word else _KIND_OF.get(word.lower(), "")


def _number(number: str, kind: str) -> str:
    """Return a number for comparison; Roman numerals become digits where a kind has them."""
    if kind in _ROMAN_KINDS and re.fullmatch(r"[IVXLC]{1,7}", number):
        values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[sign] for sign in number]
        pairs = zip(values, [*values[1:], 0], strict=True)
        return str(sum(-value if value < following else value for value, following in pairs))
    return number.lower()


def _terms(text: str, language: str) -> frozenset[str]:
    """Return the terms of the content words of a text; empty for a text without words."""
    return frozenset(_ordered_terms(text, language))


def _ordered_terms(text: str, language: str) -> tuple[str, ...]:
    """Return the terms of the content words of a text, in order."""
    return tuple(text_terms(" ".join(content_words(text, language=language))))

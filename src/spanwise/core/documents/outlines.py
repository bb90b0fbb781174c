"""Headings of a document: those of its parser, of its kind, and the clauses of contracts.

Rules:
    Of two headings at the same place, that of the kind or the clause replaces that of the parser,
    because a parser knows styles but not the meaning of numbers. All others keep their order.
    The first kind of document that has headings for a text decides alone.
    In a contract, clauses are on the level of the numbered headings of a plain text, and below the
    last heading of a parser that is not a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from spanwise.core.documents.clauses import TOP_CLAUSE_LEVEL, find_clauses
from spanwise.core.documents.headings import find_headings
from spanwise.errors import OptionError
from spanwise.types import Document, Heading, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentKind:
    """Rules of one kind of document: metadata and title of its first page, and its headings."""

    cover_fields: Callable[[str], Mapping[str, Scalar]]
    """Return the metadata stated on the first page of a text; empty for other documents."""
    cover_title: Callable[[Mapping[str, Scalar]], str]
    """Return a title made from metadata; empty if the metadata is not of this kind."""
    kind_field: str
    """Metadata field that names the kind. If the caller supplies it, there is no cover title."""
    headings: Callable[[str, Sequence[Heading]], tuple[Heading, ...]]
    """Return all headings of a text in order, given those of its parser; empty for other
    documents."""


def document_headings(
    document: Document, *, kinds: Sequence[DocumentKind] = ()
) -> tuple[Heading, ...]:
    """Return the headings of a document, ordered by start, none inside a numbered one.

    Args:
        document: Document with the headings of its parser.
        kinds: Kinds of documents with headings of their own, in order of precedence.

    Raises:
        OptionError: If the parser's headings are not in order or not inside the text.
    """
    _check(document)
    text = document.text
    headings = document.headings or find_headings(text)
    for kind in kinds:
        if headings_of_kind := kind.headings(text, headings):
            return headings_of_kind
    clauses = find_clauses(text)
    if document.headings:
        return merge_headings(_under_headings(clauses, headings), headings)
    return merge_headings(clauses, headings)


def _check(document: Document) -> None:
    place = 0
    for heading in document.headings:
        if not place <= heading.start <= heading.end <= len(document.text):
            raise OptionError(
                f"heading {heading.title!r} is at [{heading.start}, {heading.end}); headings must"
                f" be in order and inside the text, so from {place} to {len(document.text)}"
            )
        place = heading.start


def _under_headings(clauses: Sequence[Heading], headings: Sequence[Heading]) -> list[Heading]:
    """Return clauses on levels below the parser headings that are not clauses."""
    starts = {clause.start for clause in clauses}
    others = [heading for heading in headings if heading.start not in starts]
    nested: list[Heading] = []
    at, base = 0, 0
    for clause in clauses:
        while at < len(others) and others[at].start < clause.start:
            base = others[at].level
            at += 1
        nested.append(replace(clause, level=base + max(1, clause.level - TOP_CLAUSE_LEVEL + 1)))
    return nested


def merge_headings(numbered: Sequence[Heading], headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """Return both lists in order, without headings that begin inside a numbered one."""
    merged: list[Heading] = list(numbered)
    at = 0
    for heading in headings:
        while at < len(numbered) and numbered[at].end <= heading.start:
            at += 1
        if at == len(numbered) or heading.start < numbered[at].start:
            merged.append(heading)
    return tuple(sorted(merged, key=lambda heading: heading.start))

"""Headings of a document: from its parser, from rules for its kind, and from contract clauses.

Rules:
    If a heading of the parser overlaps a clause or an item of the kind, it is dropped: a parser
    knows styles but not the meaning of numbers.
    If a kind of document recognises a text, only its headings are used. The first such kind wins.
    Clauses of a plain text are on the level of its numbered headings. Otherwise they are below the
    last heading of the parser that is not a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from spanwise.core.documents.clauses import TOP_CLAUSE_LEVEL, find_clauses
from spanwise.core.documents.headings import find_headings
from spanwise.core.documents.page_lines import restore_lines
from spanwise.errors import OptionError
from spanwise.types import Document, Heading, MetadataValue


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentKind:
    """Rules for one kind of document, such as company filings: cover page and headings."""

    cover_fields: Callable[[str], Mapping[str, MetadataValue]]
    """Function from a text to the metadata on its first page; empty for other kinds."""
    cover_title: Callable[[Mapping[str, MetadataValue]], str]
    """Function from metadata to a title; empty for other kinds."""
    kind_field: str
    """Metadata field that names the kind. If the caller supplies it, there is no cover title."""
    header_line: Callable[[Mapping[str, MetadataValue], str], str]
    """Function from metadata and title to a line for headers, with what the title does not say;
    empty for other kinds."""
    replaces_title: bool = True
    """Whether the cover title replaces any title of the file; otherwise, only a title that is a
    file name."""
    plain_headings: Callable[[str, Sequence[Heading]], tuple[Heading, ...]]
    """Function from a plain text and its detected headings to all headings, in order; empty for
    other kinds."""
    headings: Callable[[str, Sequence[Heading]], tuple[Heading, ...]]
    """Function from a text and its parser's headings to all headings, in order; empty for other
    kinds."""


def document_headings(
    document: Document, *, kinds: Sequence[DocumentKind] = ()
) -> tuple[Heading, ...]:
    """Return the headings of a document in order; none begins inside a clause or item.

    Args:
        document: Document with the headings of its parser.
        kinds: Rules for kinds of documents, in order of precedence.

    Raises:
        OptionError: If the parser's headings are not in order or not inside the text.
    """
    _check(document)
    if not document.headings:
        return _plain_headings(restore_lines(document.text), kinds)
    text, headings = document.text, document.headings
    for kind in kinds:
        if headings_of_kind := kind.headings(text, headings):
            return headings_of_kind
    return merge_headings(_under_headings(find_clauses(text), headings), headings)


def _plain_headings(text: str, kinds: Sequence[DocumentKind]) -> tuple[Heading, ...]:
    """Return the headings of a text whose parser found none."""
    headings = find_headings(text)
    for kind in kinds:
        if headings_of_kind := kind.plain_headings(text, headings):
            return headings_of_kind
    return merge_headings(find_clauses(text), headings)


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
    """Return all headings in order, without those that begin inside a numbered heading."""
    merged: list[Heading] = list(numbered)
    at = 0
    for heading in headings:
        while at < len(numbered) and numbered[at].end <= heading.start:
            at += 1
        if at == len(numbered) or heading.start < numbered[at].start:
            merged.append(heading)
    return tuple(sorted(merged, key=lambda heading: heading.start))

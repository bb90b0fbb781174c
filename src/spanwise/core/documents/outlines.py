"""All headings of a document: of its parser, and the items and clauses that number its text.

Rules:
    A parser knows styles, not what the numbers of a filing or a contract mean: what stands at the
    same place is the item or clause, and every other heading keeps its place in the order.
    In a filing, parts and items stand above all other headings, but for the exhibits after the
    last item; what looks like an item and is none (of a table of contents) is no heading.
    In a contract, clauses stand beside the numbered headings of a plain text, and below the last
    heading of a parser that is no clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spanwise.core.documents.clauses import TOP_CLAUSE_LEVEL, find_clauses
from spanwise.core.documents.filing_items import ITEM_LEVEL, find_items, is_after_items, is_item
from spanwise.core.documents.headings import find_headings
from spanwise.errors import OptionError
from spanwise.types import Document, Heading


def document_headings(document: Document) -> tuple[Heading, ...]:
    """Return the headings of a document, in order of start, none inside an item or clause.

    Raises:
        OptionError: If those of the document are not in order or not inside the text.
    """
    _check(document)
    text = document.text
    headings = document.headings or find_headings(text)
    items = find_items(text)
    if items:
        return _joined(items, _under_items(headings, items))
    clauses = find_clauses(text)
    if document.headings:
        return _joined(_under_headings(clauses, headings), headings)
    return _joined(clauses, headings)


def _check(document: Document) -> None:
    place = 0
    for heading in document.headings:
        if not place <= heading.start <= heading.end <= len(document.text):
            raise OptionError(
                f"heading {heading.title!r} is at [{heading.start}, {heading.end}); headings must"
                f" be in order and inside the text, so from {place} to {len(document.text)}"
            )
        place = heading.start


def _under_items(headings: Sequence[Heading], items: Sequence[Heading]) -> list[Heading]:
    """Return the headings of a filing that are no items, below the items."""
    last = items[-1].start
    return [
        replace(
            heading,
            level=1
            if heading.start > last and is_after_items(heading.title)
            else heading.level + ITEM_LEVEL,
        )
        for heading in headings
        if not is_item(heading.title)
    ]


def _under_headings(clauses: Sequence[Heading], headings: Sequence[Heading]) -> list[Heading]:
    """Return clauses with levels below those headings of a parser that are no clauses."""
    starts = {clause.start for clause in clauses}
    others = [heading for heading in headings if heading.start not in starts]
    placed: list[Heading] = []
    at, base = 0, 0
    for clause in clauses:
        while at < len(others) and others[at].start < clause.start:
            base = others[at].level
            at += 1
        placed.append(replace(clause, level=base + max(1, clause.level - TOP_CLAUSE_LEVEL + 1)))
    return placed


def _joined(numbered: Sequence[Heading], headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """Return both in order, less headings that begin inside a numbered one."""
    kept: list[Heading] = list(numbered)
    at = 0
    for heading in headings:
        while at < len(numbered) and numbered[at].end <= heading.start:
            at += 1
        if at == len(numbered) or heading.start < numbered[at].start:
            kept.append(heading)
    return tuple(sorted(kept, key=lambda heading: heading.start))

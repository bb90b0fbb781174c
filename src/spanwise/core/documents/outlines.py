"""All headings of a document: those of its parser, and the items and clauses found in its text.

Rules:
    A parser knows styles, not the numbering of a filing or a contract. At the same offset, the item
    or clause replaces the parser's heading; every other heading keeps its place.
    In a filing, parts and items are above all other headings, except for the exhibits after the
    last item. A heading that looks like an item but is none (in a table of contents) is dropped.
    In a contract, clauses are on the level of the numbered headings of a plain text, and below the
    last parser heading that is not a clause.
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
        return _merge_headings(items, _under_items(headings, items))
    clauses = find_clauses(text)
    if document.headings:
        return _merge_headings(_under_headings(clauses, headings), headings)
    return _merge_headings(clauses, headings)


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
    """Return the headings of a filing that are not items, on levels below the items."""
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


def _merge_headings(
    numbered: Sequence[Heading], headings: Sequence[Heading]
) -> tuple[Heading, ...]:
    """Return both in order, without headings that begin inside a numbered one."""
    merged: list[Heading] = list(numbered)
    at = 0
    for heading in headings:
        while at < len(numbered) and numbered[at].end <= heading.start:
            at += 1
        if at == len(numbered) or heading.start < numbered[at].start:
            merged.append(heading)
    return tuple(sorted(merged, key=lambda heading: heading.start))

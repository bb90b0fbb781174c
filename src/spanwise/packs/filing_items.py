"""The parts and items of a filing: "PART I", "Item 1A. Risk Factors", "Item 5.07".

Rules:
    A part or item begins a line, and its title begins with a capital or a bracket: what a sentence
    says about an item ("Item 8 of this Report") is none.
    They come in the order of the form. Of all that stand in the text, those are taken which are in
    order and have the most text under them: heads of pages and references have next to none.
    A line that ends with the number of a page is one of a table of contents, as those before it.
    Fewer than three are no filing, nor are more than a hundred different ones, nor whole numbers
    alone, without a part: agendas count their items so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from spanwise.core.documents.outlines import merge_headings
from spanwise.types import Heading

_PART_LEVEL = 1
_ITEM_LEVEL = 2
_LEAST = 3
_MOST_LINES = 2_000
_MOST_ITEMS = 100  # different ones; no form has half as many
_WORTH_CHARS = 2_000  # more text under an item makes it no likelier
_TITLE_CHARS = 160
_CONTENTS_CHARS = 2_500  # between two lines of a table of contents
_ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}

_LINE = re.compile(
    r"^[ \t]{0,20}(?:"
    r"PART\s{1,3}(?P<part>IV|I{1,3})(?![\w’'])"
    r"|ITEM\s{1,3}(?P<item>[1-9]\d?)(?P<more>\.\d\d)?(?:\([a-z]\))?(?P<letter>[A-K])?(?![\w’'])"
    r")(?P<title>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"[\s.:|–—-]*(?:[A-Z(\[“\"][^\n]*)?\Z")
_REFERENCE = re.compile(r"[\s,]*(?:of|in|and|to|above|below|under|or|herein)\b")
_AFTER = re.compile(r"\s*(?:signatures?|exhibit|annex|appendix)\b", re.IGNORECASE)
_PAGE = re.compile(r"(?:[\s.|]\d{1,3}|\bpage)\s*\Z", re.IGNORECASE)


class _Key(NamedTuple):
    """Place of an item in its form; of a part, with no item."""

    part: int
    item: int = 0
    more: int = 0
    letter: str = ""


class _Chain(NamedTuple):
    """Items in order that end with a certain one, and what they are worth."""

    worth: int
    match: re.Match[str]
    before: _Chain | None


def is_item(title: str) -> bool:
    """Return whether a heading is that of a part or item of a filing."""
    match = _LINE.match(title)
    return match is not None and _is_title(match["title"])


def is_after_items(title: str) -> bool:
    """Return whether a heading is of what stands after the last item, and in none."""
    return _AFTER.match(title) is not None


def filing_headings(text: str, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """Return the headings of a filing: parts, items, and other headings below them.

    Headings of exhibits and signatures after the last item are on the highest level. Headings of
    the parser that look like an item but are none, as in a table of contents, are dropped.

    Args:
        text: Text of the document.
        headings: Headings of its parser, in order.

    Returns:
        All headings in order; empty if the text is not a filing.
    """
    items = find_items(text)
    if not items:
        return ()
    last = items[-1].start
    others = [
        replace(
            heading,
            level=_PART_LEVEL
            if heading.start > last and is_after_items(heading.title)
            else heading.level + _ITEM_LEVEL,
        )
        for heading in headings
        if not is_item(heading.title)
    ]
    return merge_headings(items, others)


def find_items(text: str) -> tuple[Heading, ...]:
    """Return the parts and items of a filing, in order of start; none where it is no filing."""
    found = [match for match in _LINE.finditer(text) if _is_title(match["title"])]
    found = _less_contents(found)
    if not _LEAST <= len(found) <= _MOST_LINES or len(set(map(_named, found))) > _MOST_ITEMS:
        return ()
    chain = _best_chain(text, found)
    items = [match for match in chain if match["item"] is not None]
    is_form = any(match["part"] or match["more"] or match["letter"] for match in chain)
    return tuple(map(_heading, chain)) if is_form and len(items) >= _LEAST else ()


def _is_title(after: str) -> bool:
    title, _, aside = after.rpartition("(")  # "(in millions, except per share data)"
    return (
        len(title if aside.rstrip().endswith(")") else after) <= _TITLE_CHARS
        and _TITLE.match(after) is not None
        and _REFERENCE.match(after) is None
    )


def _less_contents(found: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return lines less those that end with the number of a page, or stand shortly before one."""
    kept: list[re.Match[str]] = []
    page = -1
    for match in reversed(found):
        if _PAGE.search(match["title"]):
            page = match.start()
        elif not 0 <= page - match.end() <= _CONTENTS_CHARS:
            kept.append(match)
    return kept[::-1]


def _best_chain(text: str, found: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return those of some lines that are in the order of the form and have most text."""
    best: dict[_Key, _Chain] = {}
    for match, chars in zip(found, _chars_under(text, found), strict=True):
        worth = 1 + min(chars, _WORTH_CHARS)
        for key in _keys(match):
            before = max(
                (chain for known, chain in best.items() if _may_follow(key, known)),
                key=lambda chain: chain.worth,
                default=None,
            )
            total = worth + (before.worth if before else 0)
            if key not in best or total > best[key].worth:
                best[key] = _Chain(total, match, before)
    chain = max(best.values(), key=lambda chain: chain.worth)
    matches: list[re.Match[str]] = []
    at: _Chain | None = chain
    while at is not None:
        matches.append(at.match)
        at = at.before
    return matches[::-1]


def _chars_under(text: str, found: list[re.Match[str]]) -> list[int]:
    """Return how much text stands under each line: of a part up to the next part."""
    chars: list[int] = []
    next_line = next_part = len(text)
    for match in reversed(found):
        is_part = match["part"] is not None
        chars.append((next_part if is_part else next_line) - match.end())
        next_line = match.start()
        next_part = match.start() if is_part else next_part
    return chars[::-1]


def _named(match: re.Match[str]) -> _Key:
    """Return the place in a form that a line names; an item does not say its part."""
    if match["part"] is not None:
        return _Key(_ROMAN[match["part"].upper()])
    item, more, letter = int(match["item"]), int((match["more"] or ".0")[1:]), match["letter"] or ""
    return _Key(0, item, more, letter.upper())


def _keys(match: re.Match[str]) -> list[_Key]:
    """Return the places in a form that a line may stand for."""
    named = _named(match)
    if named.item == 0:
        return [named]
    return [named._replace(part=part) for part in range(len(_ROMAN) + 1)]


def _may_follow(key: _Key, known: _Key) -> bool:
    """Return whether a line may come after another: a part after a lower one, an item in one.

    No item stands before the first part.
    """
    if key.item == 0:
        return known < key and (known.part > 0 or key.part > 1)
    return known < key and known.part == key.part


def _heading(match: re.Match[str]) -> Heading:
    line = match.group()
    start = match.start() + len(line) - len(line.lstrip())
    end = match.start() + len(line.rstrip())
    return Heading(
        start=start,
        end=end,
        level=_PART_LEVEL if match["part"] is not None else _ITEM_LEVEL,
        title=" ".join(line.replace("|", " ").split()),
    )

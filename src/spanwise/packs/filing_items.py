"""Detection of the parts and items of a filing: "PART I", "Item 1A. Risk Factors", "Item 5.07".

Rules:
    A part or item begins a line, and its title begins with a capital or a bracket; a sentence about
    an item ("Item 8 of this Report") does not count.
    Items follow the order of the form. Among all occurrences, the ordered chain with the most text
    under it is selected; page headers and references have next to no text.
    A line that ends with a page number is a line of a table of contents, like those before it.
    An annual report has Items 1 to 4 in Part I, 5 to 9 in Part II, 10 to 14 in Part III. An item
    under an earlier part begins its own part, whose line is missing in the text.
    The financial statements and notes of an item are siblings, whatever their type. After the
    signatures they are on the highest level, or below "Index to Financial Statements".
    A text is not a filing if it has fewer than three items, more than a hundred different ones, or
    only whole numbers without a part, like an agenda.

Method: dynamic programming over chains of items in the order of the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spanwise.core.documents.outlines import merge_headings
from spanwise.packs.filing_notes import find_captions, statement_levels
from spanwise.types import Heading

_PART_LEVEL = 1
_ITEM_LEVEL = 2
_LEAST = 3
_MAX_LINES = 2_000
_MAX_ITEMS = 100  # different items; every form has fewer than half as many
_WORTH_CHARS = 2_000  # maximum length of the text under an item that adds to its value
_TITLE_CHARS = 160
_CONTENTS_CHARS = 2_500  # maximum distance of two lines of a table of contents
_ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}
_LAST_ITEMS = {1: 4, 2: 9, 3: 14}
"""Last item of each part of an annual report; the parts of a quarterly report are shorter."""

_LINE = re.compile(
    r"^[ \t]{0,20}(?:"
    r"PART\s{1,3}(?P<part>IV|I{1,3})(?![\w’'])"
    r"|ITEM\s{1,3}(?P<item>[1-9]\d?)(?P<more>\.\d\d)?(?:\([a-z]\))?(?P<letter>[A-K])?(?![\w’'])"
    r")(?P<title>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"[\s.:|–—-]*(?:[A-Z(\[“\"][^\n]*)?\Z")
_REFERENCE = re.compile(r"[\s,]*(?:of|in|and|to|above|below|under|or|herein)\b")
_SIGNATURES = re.compile(r"\s*signatures?\b(?!\s+(?:capacity|title|name|date)\b)", re.IGNORECASE)
_AFTER = re.compile(rf"{_SIGNATURES.pattern}|\s*(?:exhibit|annex|appendix)\b", re.IGNORECASE)
_INDEX = re.compile(r"\s*index\s+to\s.{0,40}\bfinancial\s+statements\b", re.IGNORECASE)
_AUDIT = re.compile(r"\s*report\s+of\s+independent\b", re.IGNORECASE)
_PAGE = re.compile(r"(?:[\s.|]\d{1,3}|\bpage)\s*\Z", re.IGNORECASE)


class _Key(NamedTuple):
    """Position of a part or item in its form; `item` is 0 for a part."""

    part: int
    item: int = 0
    more: int = 0
    letter: str = ""


class _Chain(NamedTuple):
    """Best chain of items up to one item, as a linked list."""

    value: int
    match: re.Match[str]
    before: _Chain | None


def is_item(title: str) -> bool:
    """Return whether a heading is that of a part or item of a filing."""
    match = _LINE.match(title)
    return match is not None and _is_title(match["title"])


def is_after_items(title: str) -> bool:
    """Return whether a heading is that of signatures or exhibits, which follow the last item."""
    return _AFTER.match(title) is not None


def filing_headings(text: str, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """Return the headings of a filing: parts, items, and other headings below them.

    Headings of exhibits and signatures after the last item are on the highest level. Headings of
    the parser that look like items but are none, such as lines of a table of contents, are dropped.

    Args:
        text: Text of the document.
        headings: Headings of its parser, in order.

    Returns:
        All headings in order; empty if the text is not a filing.
    """
    items = find_items(text)
    return _with_items(text, items, headings) if items else ()


def plain_filing_headings(text: str, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """Return the headings of a filing whose parser found none.

    Args:
        text: Text of the document.
        headings: Headings detected in the text, in order. Those of statements and notes have
            precedence over them.

    Returns:
        As `filing_headings`.
    """
    items = find_items(text)
    if not items:
        return ()
    return _with_items(text, items, merge_headings(find_captions(text), headings))


def _with_items(
    text: str, items: Sequence[Heading], headings: Sequence[Heading]
) -> tuple[Heading, ...]:
    """Return the parts and items of a filing, and other headings below them, in order."""
    others = [heading for heading in headings if not is_item(heading.title)]
    levels = {heading.start: heading.level + _ITEM_LEVEL for heading in others}
    statements = statement_levels(text, others, level=_ITEM_LEVEL + 1)
    levels |= statements | _levels_after(items[-1].start, others, statements)
    others = [replace(heading, level=levels[heading.start]) for heading in others]
    return merge_headings(items, others)


def _levels_after(
    last: int, headings: Sequence[Heading], statements: Mapping[int, int]
) -> dict[int, int]:
    """Return the levels of signatures, exhibits, statements and notes after the last item.

    Args:
        last: Start of the last item.
        headings: Headings of the filing except its items, in order.
        statements: Levels of statements and notes inside an item, by start.

    Returns:
        Level by start of the heading; other headings are not included.
    """
    levels: dict[int, int] = {}
    raised = 0
    for heading in headings:
        start, title = heading.start, heading.title
        if start <= last:
            continue
        if is_after_items(title) or _INDEX.match(title):
            levels[start] = _PART_LEVEL
            raised = _ITEM_LEVEL if _SIGNATURES.match(title) else 0
        elif start in statements or _AUDIT.match(title):
            levels[start] = statements.get(start, _ITEM_LEVEL + 1) - raised
    return levels


def find_items(text: str) -> tuple[Heading, ...]:
    """Return the parts and items of a filing, in order of start; empty if it is not a filing."""
    lines = [match for match in _LINE.finditer(text) if _is_title(match["title"])]
    lines = _without_contents(lines)
    if not _LEAST <= len(lines) <= _MAX_LINES or len(set(map(_key_of, lines))) > _MAX_ITEMS:
        return ()
    chain = _best_chain(text, lines)
    items = [match for match in chain if match["item"] is not None]
    is_form = any(match["part"] or match["more"] or match["letter"] for match in chain)
    return tuple(_with_lost_parts(chain)) if is_form and len(items) >= _LEAST else ()


def _with_lost_parts(chain: Sequence[re.Match[str]]) -> Iterator[Heading]:
    """Yield the headings of a chain, with an empty one for each part whose line is missing."""
    part = 0
    for match in chain:
        heading, key = _heading(match), _key_of(match)
        if key.item == 0:
            part = key.part
        elif part and not key.more:
            lost = next((p for p in (1, 2, 3) if key.item <= _LAST_ITEMS[p]), 4)
            if lost > part:
                part = lost
                title = f"PART {next(name for name, of in _ROMAN.items() if of == part)}"
                yield replace(heading, end=heading.start, level=_PART_LEVEL, title=title)
        yield heading


def _is_title(after: str) -> bool:
    title, _, aside = after.rpartition("(")  # "(in millions, except per share data)"
    return (
        len(title if aside.rstrip().endswith(")") else after) <= _TITLE_CHARS
        and _TITLE.match(after) is not None
        and _REFERENCE.match(after) is None
    )


def _without_contents(lines: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the lines that are not in a table of contents.

    A line is in a table of contents if it, or a line shortly after it, ends with a page number.
    """
    remaining: list[re.Match[str]] = []
    page = -1
    for match in reversed(lines):
        if _PAGE.search(match["title"]):
            page = match.start()
        elif not 0 <= page - match.end() <= _CONTENTS_CHARS:
            remaining.append(match)
    return remaining[::-1]


def _best_chain(text: str, lines: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the chain of lines in the order of the form that has the most text."""
    best: dict[_Key, _Chain] = {}
    for match, chars in zip(lines, _chars_under(text, lines), strict=True):
        value = 1 + min(chars, _WORTH_CHARS)
        for key in _keys(match):
            before = max(
                (chain for previous, chain in best.items() if _may_follow(key, previous)),
                key=lambda chain: chain.value,
                default=None,
            )
            total = value + (before.value if before else 0)
            if key not in best or total > best[key].value:
                best[key] = _Chain(total, match, before)
    chain = max(best.values(), key=lambda chain: chain.value)
    matches: list[re.Match[str]] = []
    at: _Chain | None = chain
    while at is not None:
        matches.append(at.match)
        at = at.before
    return matches[::-1]


def _chars_under(text: str, lines: list[re.Match[str]]) -> list[int]:
    """Return the length of the text from each line to the next; for parts, to the next part."""
    chars: list[int] = []
    next_line = next_part = len(text)
    for match in reversed(lines):
        is_part = match["part"] is not None
        chars.append((next_part if is_part else next_line) - match.end())
        next_line = match.start()
        next_part = match.start() if is_part else next_part
    return chars[::-1]


def _key_of(match: re.Match[str]) -> _Key:
    """Return the position of a line in its form; the part of an item is unknown and set to 0."""
    if match["part"] is not None:
        return _Key(_ROMAN[match["part"].upper()])
    item, more, letter = int(match["item"]), int((match["more"] or ".0")[1:]), match["letter"] or ""
    return _Key(0, item, more, letter.upper())


def _keys(match: re.Match[str]) -> list[_Key]:
    """Return the possible positions of a line in a form."""
    position = _key_of(match)
    if position.item == 0:
        return [position]
    return [position._replace(part=part) for part in range(len(_ROMAN) + 1)]


def _may_follow(key: _Key, previous: _Key) -> bool:
    """Return whether a line may follow another one.

    A part follows any lower position, but nothing precedes the first part. An item follows its part
    or a lower item of it.
    """
    if key.item == 0:
        return previous < key and (previous.part > 0 or key.part > 1)
    return previous < key and previous.part == key.part


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

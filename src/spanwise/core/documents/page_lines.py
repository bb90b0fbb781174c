"""Separation of page footers from the text of the next page, in plain text from PDF converters.

Rules:
    A page footer begins a line and consists of words, two or more spaces, and a page number:
    "ANNUAL REPORT     12Note 3", "ACME LTD   13    Assets". The text of the next page follows it on
    the same line, so a heading there does not begin a line.
    The words of a footer occur on at least eight pages, with ascending numbers and the text of a
    page between them. At least nine tenths of their occurrences before a number are footers.
"""

from __future__ import annotations

import re
from collections import defaultdict

_FOOTER = re.compile(r"^(?P<words>[^\W_][^\n]{2,60}?\S)[ \t]{2,20}(?P<page>\d{1,4})", re.MULTILINE)
_NUMBERED = re.compile(
    r"(?:part|chapter|article|item|section|schedule|note|table|figure)\W*\Z", re.IGNORECASE
)
_MIN_PAGES = 8
_MIN_SHARE = 0.9
_MIN_PAGE_CHARS = 400
_MAX_PAGES_APART = 10

Range = tuple[int, int]


def restore_lines(text: str) -> str:
    """Return a text of equal length, with page footers and no-break spaces replaced by spaces.

    The last character of each footer becomes a line break.
    """
    ranges = _footers(text)
    if not ranges and "\xa0" not in text:
        return text
    parts: list[str] = []
    end = 0
    for start, stop in ranges:
        parts += [text[end:start], " " * (stop - start - 1), "\n"]
        end = stop
    return "".join([*parts, text[end:]]).replace("\xa0", " ")


def _footers(text: str) -> list[Range]:
    """Return the ranges of the page footers, in order."""
    if "  " not in text and "\t" not in text:  # much faster than the pattern
        return []
    by_words: defaultdict[str, list[re.Match[str]]] = defaultdict(list)
    for match in _FOOTER.finditer(text):
        by_words[match["words"]].append(match)
    footers: list[Range] = []
    for words, matches in by_words.items():
        pages = [] if _NUMBERED.search(words) else _pages(matches)
        if len(pages) >= max(_MIN_PAGES, _MIN_SHARE * len(matches)):
            footers += pages
    return sorted(footers)


def _pages(matches: list[re.Match[str]]) -> list[Range]:
    """Return the ranges of footers with ascending page numbers and a page between them.

    If the text of the page begins with digits, only the first digits are the page number.
    """
    ranges: list[Range] = []
    page = 0
    for match in matches:
        if ranges and match.start() - ranges[-1][1] < _MIN_PAGE_CHARS:
            continue
        digits = match["page"]
        for length in range(len(digits), 0, -1):
            number = int(digits[:length])
            if not ranges or page < number <= page + _MAX_PAGES_APART:
                ranges.append((match.start(), match.start("page") + length))
                page = number
                break
    return ranges

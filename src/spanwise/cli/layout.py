"""How things look on a terminal: width, wrapping, colour, bars. Text of documents is only data.

`Page.write` is the only way from here to a stream: whatever it is given, no control character but
tab, line feed and the colours of `Page.paint` comes out.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TextIO

from spanwise.config import wants_colour

STATUSES = {"ok": "whole", "partial": "read in part", "needs_ocr": "needs OCR"}
"""What `DocumentStatus` means, for people."""

_MAX_WIDTH = 100
_BAR_CELLS = 10
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_SECOND_COLUMN = "\0"  # stands behind a wide character while lines are folded; never in clean text
_ISOLATE, _ISOLATE_END = "\u2068", "\u2069"
_FULL_LINE = 0.7
"""Part of the longest line of a paragraph that its other lines, but the last, reach in prose."""
_TABLE_OR_LIST = re.compile(r"^\s|  |\||^[-*+>#]\s|^\(?[0-9a-zA-Z]{1,3}[.)]\s")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_NUMBER = "|".join(_STYLES.values())
_PAINT = re.compile(rf"(\x1b\[(?:0|(?:{_NUMBER})(?:;(?:{_NUMBER}))*)m)")
"""What `Page.paint` puts around a text."""


def clean(text: str) -> str:
    """Return a text that cannot steer a terminal: control characters but tab and line feed go."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\f", "\n"))


def write_text(text: str, stream: TextIO) -> None:
    """Write a text as it is, for programs, and clean where the stream is a terminal."""
    stream.write(clean(text) if stream.isatty() else text)


def one_line(text: str) -> str:
    """Return a text on one line, clean, with runs of white space as one space.

    A text that is written from right to left is set apart, so that it does not draw the numbers
    that stand after it on the line to its own left.
    """
    line = clean(" ".join(text.split()))
    if _ISOLATE in line or _RIGHT_TO_LEFT.search(line) is None:
        return line
    return f"{_ISOLATE}{line}{_ISOLATE_END}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 chunk", "1,200 chunks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a time for people: "21 ms", "3.2 s", "4 min 5 s"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(number_of_bytes: int) -> str:
    """Return a number of bytes for people, in powers of 1,000."""
    value = float(number_of_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def ordinal(rank: int) -> str:
    """Return the place of a rank that counts from 0: "1st" of 0."""
    place = rank + 1
    if place % 100 in (11, 12, 13):
        return f"{place}th"
    return str(place) + {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def columns(text: str) -> int:
    """Return how many columns a text takes: two a wide character of East Asia, none a mark."""
    if text.isascii():
        return len(text)
    wide = sum(map(_is_wide, text))
    marks = sum(1 for character in text if unicodedata.category(character) in ("Mn", "Me", "Cf"))
    return len(text) + wide - marks


def shortened(text: str, width: int) -> str:
    """Return a text of at most so many columns, its end cut off where it is longer."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 3:
        text = text[:-1]
    return text.rstrip() + "..." + (_ISOLATE_END if text.startswith(_ISOLATE) else "")


def _is_prose(paragraph: Sequence[str]) -> bool:
    """Return whether the lines of a paragraph are ends of lines by width alone."""
    least = _FULL_LINE * max(map(len, paragraph))
    return all(len(line) >= least for line in paragraph[:-1]) and not any(
        _TABLE_OR_LIST.search(line) for line in paragraph
    )


class Page:
    """Stream that is written for people, in lines no wider than the terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to a stream, standard output by default; 80 columns where it is no terminal."""
        self._stream = sys.stdout if stream is None else stream
        self.width = min(shutil.get_terminal_size((80, 24)).columns, _MAX_WIDTH)
        self._coloured = self._stream.isatty() and wants_colour()
        encoding = (self._stream.encoding or "").lower().replace("-", "")
        self.is_unicode = encoding.startswith("utf")

    def paint(self, text: str, *styles: str) -> str:
        """Return a text in colour, or as it is where colours are off."""
        if not self._coloured or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def write(self, text: str) -> None:
        """Write a text that may be painted in parts; nothing else in it steers the terminal."""
        parts = _PAINT.split(text) if self._coloured else [text]
        self._stream.write(
            "".join(part if at % 2 else clean(part) for at, part in enumerate(parts))
        )

    def flush(self) -> None:
        """Write what the stream still holds back."""
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Write one line."""
        self.write(text + "\n")

    def wrapped(self, text: str, *styles: str, indent: str = "", hang: str = "") -> None:
        """Write a text of one paragraph, wrapped at the width; further lines hang below the first.

        Args:
            text: What is written.
            *styles: How it is painted.
            indent: Before each line.
            hang: Before each line but the first.
        """
        for line in self._fold(one_line(text), indent, hang=hang):
            self.line(self.paint(line, *styles))

    def message(self, label: str, text: str, *styles: str) -> None:
        """Write a message behind a painted label: one line, folded only on a terminal."""
        lines = [label + one_line(text)]
        if self._stream.isatty():
            lines = textwrap.wrap(
                lines[0], self.width, break_long_words=False, break_on_hyphens=False
            )
        for number, line in enumerate(lines):
            head = label.rstrip() if number == 0 else ""
            self.line(self.paint(head, *styles) + line[len(head) :])

    def body(self, text: str) -> None:
        """Write text of a document, outer blank lines cut.

        Lines stay as they are where they fit. A paragraph of prose with longer lines is filled
        anew; long lines of anything else, such as rows of a table, are folded one by one.
        """
        lines = [line.expandtabs(4).rstrip() for line in clean(text).strip("\n").split("\n")]
        for is_blank, group in groupby(lines, key=lambda line: not line):
            paragraph = list(group)
            if is_blank or max(map(columns, paragraph)) <= self.width:
                parts = paragraph
            elif _is_prose(paragraph):
                parts = self._fold(" ".join(paragraph), "")
            else:
                parts = [part for line in paragraph for part in self._fold(line, "")]
            for part in parts:
                self.line(part)

    def facts(self, rows: Iterable[tuple[str, str]]) -> None:
        """Write names and values in two columns."""
        pairs = [(one_line(name), one_line(value)) for name, value in rows]
        column = max((len(name) for name, _ in pairs), default=0) + 2
        for name, value in pairs:
            first, *others = self._fold(value, " " * column) or [" " * column]
            self.line(self.paint(name.ljust(column), "dim") + first[column:])
            for other in others:
                self.line(other)

    def bar(self, fraction: float) -> str:
        """Return a bar of ten cells for a number in [0, 1]."""
        full, empty = ("█", "░") if self.is_unicode else ("#", "-")
        cells = round(min(max(fraction, 0.0), 1.0) * _BAR_CELLS)
        return full * cells + empty * (_BAR_CELLS - cells)

    def joined(self, parts: Iterable[str]) -> str:
        """Return the parts that are not empty with a dot between them."""
        return (" · " if self.is_unicode else " | ").join(part for part in parts if part)

    def _fold(self, text: str, indent: str, *, hang: str = "") -> list[str]:
        """Return lines no wider than the page; a wide character takes two columns."""
        padded = "".join(one + _SECOND_COLUMN * _is_wide(one) for one in text)
        lines = textwrap.wrap(
            padded,
            self.width - (padded != text),  # a line may end inside a wide character
            initial_indent=indent,
            subsequent_indent=indent + hang,
            drop_whitespace=True,
            replace_whitespace=False,
            expand_tabs=False,
            break_on_hyphens=False,
        )
        return [line.replace(_SECOND_COLUMN, "") for line in lines]

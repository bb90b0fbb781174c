"""Terminal output: width, wrapping, colour and bars.

All output goes through `Page.write`, which replaces control characters other than tab, line feed
and the colours of `Page.paint`: the text of documents is untrusted.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from spanwise.config import wants_colour
from spanwise.core.text.controls import LATER_CONTROLS, clean

if TYPE_CHECKING:
    from spanwise.types import Usage


STATUSES = {"ok": "complete", "partial": "read in part", "needs_ocr": "needs OCR"}
"""Description of each `DocumentStatus`."""

_MAX_WIDTH = 100
_BAR_CELLS = 10
_ISOLATE, _ISOLATE_END = "\u2068", "\u2069"
JSON_CONTROLS = re.compile(f"[{LATER_CONTROLS}{_ISOLATE}{_ISOLATE_END}]")
"""Terminal control characters that `json.dumps` does not escape."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_SECOND_COLUMN = "\0"  # placeholder after a wide character while wrapping; never in clean text
_FULL_LINE = 0.7
"""Minimum length of a line of prose (not the last one), as a share of the longest line."""
_TABLE_OR_LIST = re.compile(r"^\s|  |\||^[-*+>#]\s|^\(?[0-9a-zA-Z]{1,3}[.)]\s")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_NUMBER = "|".join(_STYLES.values())
_PAINT = re.compile(rf"(\x1b\[(?:0|(?:{_NUMBER})(?:;(?:{_NUMBER}))*)m)")
"""Escape sequences written by `Page.paint`."""


def write_text(text: str, stream: TextIO) -> None:
    """Write a text to a stream; replace control characters only if it is a terminal."""
    stream.write(clean(text) if stream.isatty() else text)


def one_line(text: str) -> str:
    """Return a clean text on one line, with white space collapsed.

    On a terminal, right-to-left text is wrapped in Unicode isolates, so that the numbers that
    follow it on the line stay on its right. Other programs get the text without added characters.
    """
    line = clean(" ".join(text.split()))
    if _ISOLATE in line or not sys.stdout.isatty() or _RIGHT_TO_LEFT.search(line) is None:
        return line
    return f"{_ISOLATE}{line}{_ISOLATE_END}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 chunk", "1,200 chunks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration as text: "21 ms", "3.2 s", "4 min 5 s"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(number_of_bytes: int) -> str:
    """Return a number of bytes as text, in powers of 1,000: "1.5 MB"."""
    value = float(number_of_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def ordinal(rank: int) -> str:
    """Return the ordinal of a rank that counts from 0: "1st" for 0."""
    number = rank + 1
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def columns(text: str) -> int:
    """Return the width of a text in columns: wide characters have 2, combining marks 0."""
    if text.isascii():
        return len(text)
    wide = sum(map(_is_wide, text))
    marks = sum(1 for character in text if unicodedata.category(character) in ("Mn", "Me", "Cf"))
    return len(text) + wide - marks


def shortened(text: str, width: int) -> str:
    """Return a text truncated with "..." to at most `width` columns."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 3:
        text = text[:-1]
    return text.rstrip() + "..." + (_ISOLATE_END if text.startswith(_ISOLATE) else "")


def _is_prose(paragraph: Sequence[str]) -> bool:
    """Return whether a paragraph is prose whose line breaks can be changed."""
    min_chars = _FULL_LINE * max(map(len, paragraph))
    return all(len(line) >= min_chars for line in paragraph[:-1]) and not any(
        _TABLE_OR_LIST.search(line) for line in paragraph
    )


class Page:
    """Output stream for people, with lines no wider than the terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Open a page on a stream.

        Args:
            stream: Output stream; None for standard output.
        """
        self._stream = sys.stdout if stream is None else stream
        self.width = min(shutil.get_terminal_size((80, 24)).columns, _MAX_WIDTH)
        self._coloured = self._stream.isatty() and wants_colour()
        encoding = (self._stream.encoding or "").lower().replace("-", "")
        self.is_unicode = encoding.startswith("utf")

    def paint(self, text: str, *styles: str) -> str:
        """Return a text with styles applied, or unchanged if colours are off."""
        if not self._coloured or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def write(self, text: str) -> None:
        """Write a text; replace control characters except the escape sequences of `paint`."""
        parts = _PAINT.split(text) if self._coloured else [text]
        self._stream.write(
            "".join(part if number % 2 else clean(part) for number, part in enumerate(parts))
        )

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Write one line."""
        self.write(text + "\n")

    def wrapped(self, text: str, *styles: str, indent: str = "", hang: str = "") -> None:
        """Write one paragraph, wrapped at the page width.

        Args:
            text: Text of the paragraph; line breaks are removed.
            *styles: Styles of the text.
            indent: Prefix of every line.
            hang: Additional prefix of every line except the first.
        """
        for line in self._fold(one_line(text), indent, hang=hang):
            self.line(self.paint(line, *styles))

    def message(self, label: str, text: str, *styles: str) -> None:
        """Write a coloured label and a message on one line, which is wrapped only on a terminal."""
        lines = [label + one_line(text)]
        if self._stream.isatty():
            lines = textwrap.wrap(
                lines[0], self.width, break_long_words=False, break_on_hyphens=False
            )
        for number, line in enumerate(lines):
            head = label.rstrip() if number == 0 else ""
            self.line(self.paint(head, *styles) + line[len(head) :])

    def body(self, text: str) -> None:
        """Write document text without outer blank lines.

        Lines that fit are unchanged. A paragraph of prose with longer lines is reflowed. Long
        lines of anything else, such as table rows, are wrapped one by one.
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
        """Return the non-empty parts, separated by a dot."""
        return (" · " if self.is_unicode else " | ").join(part for part in parts if part)

    def _fold(self, text: str, indent: str, *, hang: str = "") -> list[str]:
        """Return a text as lines of the page width; wide characters take two columns."""
        padded = text
        if not text.isascii():
            padded = "".join(character + _SECOND_COLUMN * _is_wide(character) for character in text)
        lines = textwrap.wrap(
            padded,
            self.width - (padded != text),  # a line can end within a wide character
            initial_indent=indent,
            subsequent_indent=indent + hang,
            drop_whitespace=True,
            replace_whitespace=False,
            expand_tabs=False,
            break_on_hyphens=False,
        )
        return [line.replace(_SECOND_COLUMN, "") for line in lines]


def _repeated(usage: Usage, *, at_most: bool) -> str:
    """Return a note on repeated requests for unusable answers, in parentheses; empty if none."""
    if not usage.repeated_calls:
        return ""
    if at_most:
        return f" ({usage.calls - usage.repeated_calls:,} if every answer is usable)"
    return f" ({usage.repeated_calls:,} repeated)"


def usage_words(usage: Usage, *, at_most: bool = False) -> list[str]:
    """Return calls, tokens, cost and time as parts of a line; empty if there were no calls.

    Args:
        usage: Usage of models.
        at_most: Whether the usage is an estimate: an upper bound of calls, tokens and cost.
    """
    if not usage.calls and not usage.cached_calls:
        return []
    most = "at most: " if at_most else ""
    words = [
        f"{most}{count(usage.calls, 'model call')}{_repeated(usage, at_most=at_most)}"
        if usage.calls
        else "no model call",
        f"{usage.cached_calls:,} from the cache" if usage.cached_calls else "",
        f"{usage.retries:,} retried" if usage.retries else "",
    ]
    if usage.calls:
        cached = usage.cached_input_tokens
        words += [
            f"{count(usage.input_tokens, 'token')} in"
            + (f" ({cached:,} from the provider's cache)" if cached else ""),
            f"{usage.output_tokens:,} out",
            "price unknown" if usage.cost is None else f"${usage.cost:.4f}",
            "" if at_most else f"{duration(usage.seconds)} of model time",
        ]
    return [word for word in words if word]

r"""Lines of an unchanged text, with their offsets.

Lines end at `\n`, `\r\n` and `\r`; `str.splitlines` also splits at other characters (a form feed),
so its line numbers would differ from those of a grammar.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n?|\n")


class Lines:
    """Start and end offsets of the lines of a text, without line ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        self.ends: list[int] = []
        for match in _LINE_END.finditer(text):
            self.ends.append(match.start())
            self.starts.append(match.end())
        self.ends.append(len(text))

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, number: int) -> str:
        """Return a line without its line end; empty after the last line."""
        if number >= len(self.ends):
            return ""
        return self.text[self.starts[number] : self.ends[number]]

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of the lines `[first, last)`, stripped of white space at both ends."""
        start, end = self.starts[first], self.ends[min(last, len(self.ends)) - 1]
        while start < end and self.text[start].isspace():
            start += 1
        while start < end and self.text[end - 1].isspace():
            end -= 1
        return start, end

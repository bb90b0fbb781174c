r"""The lines of a text that is kept as it stands, so that a line is also a place.

Lines end at `\n`, `\r\n` and `\r`; `str.splitlines` knows more line ends (a form feed) and would
shift the lines that a grammar counts.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n?|\n")


class Lines:
    """Where each line of a text starts and ends, without its line end."""

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
        """Return a line without its line end; empty past the last one."""
        if number >= len(self.ends):
            return ""
        return self.text[self.starts[number] : self.ends[number]]

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of lines `[first, last)` without white space at its edges."""
        start, end = self.starts[first], self.ends[min(last, len(self.ends)) - 1]
        while start < end and self.text[start].isspace():
            start += 1
        while start < end and self.text[end - 1].isspace():
            end -= 1
        return start, end

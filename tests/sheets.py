"""Pages of words for tests of the layout: set line by line, as a typist would."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.parsers.pdf.layout.compose import Composition, compose, lay_out
from spanwise.parsers.pdf.layout.headings import OutlineEntry
from spanwise.parsers.pdf.layout.page import Font, PageContent, Rule, Words

__all__ = ["BOLD", "FONTS", "ITALIC", "PLAIN", "Sheet", "compose_sheets"]

PLAIN, BOLD, ITALIC = 0, 1, 2
FONTS = [
    Font("Serif", bold=False, italic=False),
    Font("Serif-Bold", bold=True, italic=False),
    Font("Serif-Italic", bold=False, italic=True),
]
CHAR_WIDTH = 0.5
"""Of each character and space, in sizes."""


class Sheet:
    """A page of 600 by 800 points."""

    def __init__(self) -> None:
        self.words = Words()
        self.rules: list[Rule] = []

    def write(
        self, text: str, *, x: float = 60, y: float, size: float = 10, font: int = PLAIN
    ) -> Sheet:
        """Write a line; words are parted by spaces, and two spaces are twice as wide."""
        at = x
        for word in text.split(" "):
            width = CHAR_WIDTH * size * len(word)
            if word:
                self.words.add(word, box=(at, at + width, y), size=size, font=font)
            at += width + CHAR_WIDTH * size
        return self

    def prose(self, lines: Sequence[str], *, x: float = 60, y: float, size: float = 10) -> float:
        """Write lines 12 points apart; return the baseline of the next one."""
        for line in lines:
            self.write(line, x=x, y=y, size=size)
            y -= 1.2 * size
        return y

    def row(self, *cells: str, y: float, xs: Sequence[float] = (60, 300, 380, 460)) -> Sheet:
        """Write a row of cells."""
        for cell, x in zip(cells, xs, strict=False):
            if cell:
                self.write(cell, x=x, y=y)
        return self

    def box(self, left: float, bottom: float, right: float, top: float) -> Sheet:
        """Draw the four sides of a box."""
        self.rules += [
            Rule(left, bottom, right, bottom),
            Rule(left, top, right, top),
            Rule(left, bottom, left, top),
            Rule(right, bottom, right, top),
        ]
        return self

    def content(self) -> PageContent:
        """Return the page as the layout takes it."""
        return PageContent(width=600, height=800, words=self.words, rules=self.rules)

    def text(self) -> str:
        """Return the page composed alone."""
        return compose_sheets([self]).text


def compose_sheets(sheets: Sequence[Sheet], *, outline: Sequence[OutlineEntry] = ()) -> Composition:
    """Return the text of some pages."""
    return compose(
        [lay_out(sheet.content()) for sheet in sheets],
        heights=[800.0 for _ in sheets],
        fonts=FONTS,
        outline=outline,
    )

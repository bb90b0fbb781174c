"""Slides as text: a page per slide, with its shapes in reading order, then its notes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from spanwise.parsers.writer import TextWriter
from spanwise.types import Page

EMU_PER_INCH = 914_400
"""English Metric Units per inch, the unit of positions on slides."""
_BAND = EMU_PER_INCH // 5
"""Height of a band: shapes whose tops differ by less are read from left to right."""
_TITLE_CHARS = 100


class PlacedText(NamedTuple):
    """Text of a shape with its upper left corner."""

    top: int
    """Distance from the top of the slide in EMU."""
    left: int
    text: TextWriter


class SlideWriter:
    """Writer of slides."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self._starts: list[int] = []

    def add(
        self,
        title: str,
        placed: Sequence[PlacedText],
        *,
        notes: Sequence[str] = (),
        is_hidden: bool = False,
    ) -> None:
        """Write a slide; a slide without text is an empty page.

        Args:
            title: Title on one line; empty without one.
            placed: Texts of the other shapes, including empty ones.
            notes: Lines of the speaker notes.
            is_hidden: Whether the slide is hidden in a presentation.
        """
        writer = self.writer
        writer.separate(2)
        self._starts.append(writer.next_start)
        shown = [item.text for item in _in_reading_order(placed) if item.text.text]
        if not title and not shown and not notes:
            return
        if not title and shown and _is_title(shown[0]):
            title = shown.pop(0).text
        writer.write_heading(title or f"Slide {len(self._starts)}", level=1)
        if is_hidden:
            writer.write("(hidden slide)")
            writer.separate(2)
        for text in shown:
            writer.append(text)
        if notes:
            writer.separate(2)
            writer.write("\n".join(["Speaker notes:", *notes]))

    def pages(self) -> tuple[Page, ...]:
        """Return the slides as pages that cover the text."""
        length = len(self.writer.text)
        starts = [0, *(min(start, length) for start in self._starts[1:]), length]
        return tuple(Page(start=start, end=end) for start, end in pairwise(starts))


def _is_title(text: TextWriter) -> bool:
    line = text.text
    return len(line) <= _TITLE_CHARS and "\n" not in line and not text.blocks


def _in_reading_order(placed: Sequence[PlacedText]) -> list[PlacedText]:
    """Return the shapes in bands from top to bottom, each band from left to right."""
    ordered: list[PlacedText] = []
    band: list[PlacedText] = []
    for item in sorted(placed, key=attrgetter("top")):
        if band and item.top > band[0].top + _BAND:
            ordered += sorted(band, key=attrgetter("left"))
            band = []
        band.append(item)
    return ordered + sorted(band, key=attrgetter("left"))

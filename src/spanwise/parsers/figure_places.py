"""Places of figures in the text of a document, and their captions.

The place of a figure is the start of a line outside of blocks and headings. Its description can be
inserted there as a paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from spanwise.types import Block, Heading

MAX_FIGURES = 2_000
"""Maximum number of figures of a document; later ones are left out."""
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|chart|graph|exhibit|diagram|illustration|photo|map|plate|scheme|image"
    r"|abb(?:ildung|\.)?|schaubild|grafik|figura|gr[aá]fico|图|図)"
    r"\s*(?:\d{1,3}|[A-Z]\b|[IVX]{1,5}\b)",
    re.IGNORECASE,
)
"""Beginning of a caption with a number."""
_CAPTION_CHARS = 300


def is_caption(line: str) -> bool:
    """Return whether a line begins as a caption with a number: "Figure 3"."""
    return _CAPTION.match(line) is not None


def caption_near(text: str, place: int) -> str:
    """Return the caption in the line at a place or before it; empty if there is none."""
    following = text[place : place + _CAPTION_CHARS].lstrip().split("\n", 1)[0]
    before = text[max(0, place - _CAPTION_CHARS) : place].rstrip().rsplit("\n", 1)[-1]
    return next((line.strip() for line in (following, before) if is_caption(line.strip())), "")


def figure_place(
    text: str,
    place: int,
    *,
    first: int = 0,
    headings: Sequence[Heading] = (),
    blocks: Sequence[Block] = (),
) -> int:
    """Return the start of the line at a place, or after the line or block that ends there.

    Args:
        text: Text of the document.
        place: Offset near the figure.
        first: First possible offset, such as the start of the page.
        headings: Headings in order.
        blocks: Blocks in order, disjoint.
    """
    place = min(max(place, first), len(text))
    ranges: list[Sequence[Heading | Block]] = [headings, blocks]
    for items in ranges:
        at = bisect_right(items, place, key=lambda item: item.start) - 1
        if at >= 0 and items[at].start < place < items[at].end:
            return _next_line(text, items[at].end)
    if place and text[place : place + 1] == "\n" != text[place - 1]:  # the end of a line
        return _next_line(text, place)
    line = text.rfind("\n", 0, place) + 1
    return place if place in (0, len(text)) else max(line, min(first, place))


def _next_line(text: str, place: int) -> int:
    """Return the start of the next line that is not blank, or the end of the text."""
    while place < len(text) and text[place] == "\n":
        place += 1
    return place

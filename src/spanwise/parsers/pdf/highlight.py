"""Highlighting of a range of the stored text on the image of its page.

The words of the file are matched with the words of the page's text, because the text has another
order (columns, footnotes) and other line ends. Matched words of the range are shaded.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from spanwise.parsers.pdf.layout.headings import letters_key
from spanwise.parsers.pdf.words import place_words, read_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHADE = (255, 235, 90)
"""Colour of the highlight, which is multiplied with the page like a marker pen."""
_WORD = re.compile(r"\S+")
_MAX_WORDS = 5_000
"""Maximum number of words of a page that are matched."""
_SAME_LINE = 0.5
"""Maximum vertical distance of words of one line, and maximum gap between them, in heights."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """Range of a page's text."""

    text: str
    """Text of the page."""
    start: int
    """Offset of the first character of the range in the text of the page."""
    end: int
    """Offset after the last character."""


class Box(NamedTuple):
    """Rectangle in pixels of an image, from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def highlighted_boxes(
    document: pypdfium2.PdfDocument, number: int, highlight: Highlight, *, size: tuple[int, int]
) -> list[Box]:
    """Return the boxes of a range on the image of a page, line by line; empty if it has no words.

    Args:
        document: The open document.
        number: Number of the page, 1-based.
        highlight: The range.
        size: Width and height of the image in pixels.
    """
    page = document[number - 1]
    content = pdfium.FPDFText_LoadPage(page.raw)
    if not content:
        return []
    placed = list(place_words(read_text(content)))[:_MAX_WORDS]
    found = _matched(highlight, [word for word, _, _ in placed])
    boxes = [_word_box(page.raw, content, placed[at][1:], size) for at in sorted(found)]
    pdfium.FPDFText_ClosePage(content)
    page.close()
    return list(_lines(boxes))


def _matched(highlight: Highlight, words: list[str]) -> set[int]:
    """Return the indices of the words of a page that are in the range."""
    stored = list(_WORD.finditer(highlight.text))[:_MAX_WORDS]
    inside = [match.start() < highlight.end and match.end() > highlight.start for match in stored]
    here = [(at, key) for at, match in enumerate(stored) if (key := letters_key(match.group()))]
    there = [(at, key) for at, word in enumerate(words) if (key := letters_key(word))]
    found: set[int] = set()
    for _ in range(3):  # later passes find words that are in another order on the page
        blocks = SequenceMatcher(
            None, [key for _, key in here], [key for _, key in there], autojunk=False
        ).get_matching_blocks()
        used_here: set[int] = set()
        used_there: set[int] = set()
        for first, second, length in blocks:
            for shift in range(length):
                at, place = here[first + shift][0], there[second + shift][0]
                used_here.add(at)
                used_there.add(place)
                if inside[at]:
                    found.add(place)
        here = [item for item in here if item[0] not in used_here]
        there = [item for item in there if item[0] not in used_there]
        if not any(inside[at] for at, _ in here) or not used_here:
            break
    return found


def _word_box(
    page: pdfium.FPDF_PAGE,
    content: pdfium.FPDF_TEXTPAGE,
    ends: tuple[int, int],
    size: tuple[int, int],
) -> Box:
    """Return the box of a word, given by its first and last character."""
    xs, ys = [], []
    for place in ends:
        sides = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(content, place, ctypes.byref(sides))
        for x, y in ((sides.left, sides.top), (sides.right, sides.bottom)):
            right, down = ctypes.c_int(), ctypes.c_int()
            pdfium.FPDF_PageToDevice(
                page, 0, 0, *size, 0, x, y, ctypes.byref(right), ctypes.byref(down)
            )
            xs.append(right.value)
            ys.append(down.value)
    return Box(min(xs), min(ys), max(xs), max(ys))


def _lines(boxes: Iterable[Box]) -> Iterator[Box]:
    """Yield the boxes of words, with adjacent words of a line joined."""
    line: Box | None = None
    for box in boxes:
        if line is not None and _continues(line, box):
            line = Box(
                min(line.left, box.left),
                min(line.top, box.top),
                max(line.right, box.right),
                max(line.bottom, box.bottom),
            )
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


def _continues(line: Box, box: Box) -> bool:
    height = max(1.0, line.bottom - line.top)
    return (
        abs(line.top - box.top) <= _SAME_LINE * height
        and abs(line.bottom - box.bottom) <= _SAME_LINE * height
        and -height <= box.left - line.right <= height
    )


def shade(dots: NDArray[np.uint8], boxes: Iterable[Box]) -> NDArray[np.uint8]:
    """Return an image in RGB, (height, width, 3), with boxes shaded."""
    import numpy as np

    height, width = dots.shape[:2]
    mask = np.zeros((height, width), dtype=bool)
    for box in boxes:
        left, top = max(0, int(box.left) - 1), max(0, int(box.top) - 1)
        mask[top : max(0, int(box.bottom) + 2), left : max(0, int(box.right) + 2)] = True
    shaded = dots.copy()
    marked = dots[mask].astype(np.uint16) * np.array(_SHADE, dtype=np.uint16) // 255
    shaded[mask] = marked.astype(np.uint8)
    return shaded


def read_highlight(encoded: Mapping[str, object] | None) -> Highlight | None:
    """Return the range of a request to the parser process; None for none."""
    if encoded is None:
        return None
    return Highlight(str(encoded["text"]), int(str(encoded["start"])), int(str(encoded["end"])))

"""Pictures of an Office file: those large enough to be figures, with their place.

Rules:
    A chart is a figure if its data is not in the text.
    The caption of a figure is the numbered line before or after it, else its alternative text. An
    alternative text is not visible in the file, so it becomes a paragraph: "[Figure: ...]".
    Alternative text that Office generates, such as "Picture 3" or a file name, is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spanwise.core.documents.figure_texts import insert_captions
from spanwise.core.documents.titles import is_file_name
from spanwise.parsers.figure_places import MAX_FIGURES, caption_near, figure_place
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.writer import TextWriter
from spanwise.types import Document, Figure

_EMU_PER_POINT = 12_700
_MIN_SIDE = 60.0  # points
_MAX_RATIO = 8.0
_REPEATS = 3
_GENERATED = re.compile(
    r"(?:description )?automatically generated(?: with .*)?|(?:automatisch generierte beschreibung)"
    r"|(?:picture|image|graphic|grafik|bild|imagen?|chart|diagramm|content placeholder)\s*\d*",
    re.IGNORECASE,
)
"""Lines of alternative text that Office writes."""
_ALTERNATIVE_CHARS = 1_000
_MIN_LETTERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Picture that a file shows."""

    place: int
    """Offset of the text that follows it."""
    member: str
    """Name of its part in the file."""
    width: int
    """Width in English Metric Units."""
    height: int
    """Height in English Metric Units."""
    slide: int | None = None
    """Number of its slide; None in a text document."""
    left: int = 0
    """Distance from the left edge of the slide."""
    top: int = 0
    """Distance from the top of the slide."""
    alternative: str = ""
    """Alternative text, for people who do not see the picture."""
    is_chart: bool = False
    """Whether it is a chart without data in the text, which may have no size."""


def read_figures(pictures: Iterable[Picture], writer: TextWriter) -> tuple[Figure, ...]:
    """Return the pictures of a file that are figures, in order.

    Small and thin pictures are logos, icons and rules. A picture that is shown several times is
    decoration.

    Args:
        pictures: Pictures in the order of the text.
        writer: The complete text.
    """
    shown: Sequence[Picture] = list(pictures)
    counts = Counter(picture.member for picture in shown)
    text = writer.text
    figures = [
        _figure(picture, text, writer)
        for picture in shown
        if picture.is_chart or (_is_large(picture) and counts[picture.member] < _REPEATS)
    ]
    return tuple(sorted(figures, key=lambda figure: figure.start)[:MAX_FIGURES])


def _is_large(picture: Picture) -> bool:
    short, long = sorted((picture.width, picture.height))
    return short >= _MIN_SIDE * _EMU_PER_POINT and long <= _MAX_RATIO * short


def _figure(picture: Picture, text: str, writer: TextWriter) -> Figure:
    place = figure_place(text, picture.place, headings=writer.headings, blocks=writer.blocks)
    box = None
    if picture.slide is not None:
        left, top = picture.left, picture.top
        sides = (left, top, left + picture.width, top + picture.height)
        box = tuple(round(side / _EMU_PER_POINT, 1) for side in sides)
    return Figure(
        start=place,
        end=place,
        kind="drawing" if picture.is_chart else "picture",
        caption=caption_near(text, place) or _alternative(picture.alternative),
        page=picture.slide,
        box=None if box is None else (box[0], box[1], box[2], box[3]),
        member=picture.member,
    )


def _alternative(written: str) -> str:
    """Return an alternative text on one line; empty if generated, too short or a file name."""
    lines = [" ".join(line.split()) for line in written[:_ALTERNATIVE_CHARS].splitlines()]
    text = " ".join(line for line in lines if not _GENERATED.fullmatch(line.rstrip(".")))
    return "" if is_file_name(text) or sum(map(str.isalpha, text)) < _MIN_LETTERS else text


def with_alternatives(parsed: Parsed) -> Parsed:
    """Return a document with the alternative texts of its figures in its text."""
    alternatives = {
        at: figure.caption
        for at, figure in enumerate(parsed.figures)
        if figure.caption and caption_near(parsed.text, figure.start) != figure.caption
    }
    if not alternatives:
        return parsed
    document = Document(
        id="document",
        text=parsed.text,
        pages=parsed.pages,
        headings=parsed.headings,
        blocks=parsed.blocks,
        figures=parsed.figures,
    )
    written = insert_captions(document, alternatives)
    return replace(
        parsed,
        text=written.text,
        pages=written.pages,
        headings=written.headings,
        blocks=written.blocks,
        figures=written.figures,
    )


def has_words(figures: Sequence[Figure], text: str, source: Source) -> bool:
    """Return whether a document has text, or figures that have a caption or will be described."""
    is_described = source.leaves_figures and bool(figures)
    return bool(text) or is_described or any(figure.caption for figure in figures)

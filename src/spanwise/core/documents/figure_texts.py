"""Insertion of descriptions and captions of figures into the text of a document.

Rules:
    A description is a separate paragraph at the place of its figure, in square brackets, and begins
    with the name of the model: "[Figure described by vendor:model: ...]". The words of the
    document stay as they are.
    An alternative text is inserted in the same way: "[Figure: ...]".
    A description has no line ends and no square brackets, so it cannot end its own marker.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from spanwise.types import Block, Document, Figure, Heading, Page

_BRACKETS = str.maketrans("[]", "()")
_Ranged = TypeVar("_Ranged", Heading, Block)
_CAPTION_CHARS = 300


def insert_descriptions(
    document: Document, descriptions: Mapping[int, str], *, model: str
) -> Document:
    """Return a document with descriptions in its text.

    Args:
        document: Document with figures that have no description yet.
        descriptions: Description by position of the figure; never empty.
        model: Vendor and model that wrote them.
    """
    words = {
        at: f"[Figure described by {model}: {_one_line(text)}]"
        for at, text in descriptions.items()
        if text
    }
    described = _insert(document, words)
    figures = tuple(
        replace(figure, described_by=model) if at in words else figure
        for at, figure in enumerate(described.figures)
    )
    return replace(described, figures=figures)


def insert_captions(document: Document, captions: Mapping[int, str]) -> Document:
    """Return a document with captions in its text: "[Figure: ...]".

    Args:
        document: Document with figures.
        captions: Caption by position of the figure; never empty.
    """
    words = {at: f"[Figure: {_one_line(text)}]" for at, text in captions.items()}
    captioned = _insert(document, words)
    figures = tuple(
        replace(figure, end=figure.start, caption=_one_line(captions[at]))
        if at in captions
        else figure
        for at, figure in enumerate(captioned.figures)
    )
    return replace(captioned, figures=figures)


def _one_line(text: str) -> str:
    return " ".join(text.split()).translate(_BRACKETS)


def _insert(document: Document, paragraphs: Mapping[int, str]) -> Document:
    """Return a document with paragraphs at the places of figures, which then span them."""
    pieces: list[str] = []
    figures: list[Figure] = []
    inserted: list[tuple[int, int | None, int]] = []
    end = length = 0
    for at, figure in enumerate(document.figures):
        before = document.text[end : figure.start]
        pieces.append(before)
        length, end = length + len(before), figure.start
        words = paragraphs.get(at, "")
        if not words:
            figures.append(replace(figure, start=length, end=length))
            continue
        gap = _gap("".join(pieces[-2:]), is_start=not length)
        start = length + len(gap)
        figures.append(replace(figure, start=start, end=start + len(words)))
        piece = f"{gap}{words}" + ("\n\n" if figure.start < len(document.text) else "")
        pieces.append(piece)
        length += len(piece)
        inserted.append((figure.start, figure.page, len(piece)))
    pieces.append(document.text[end:])
    return replace(
        document,
        text="".join(pieces),
        pages=_shifted_pages(document.pages, inserted),
        headings=_shifted(document.headings, inserted),
        blocks=_shifted(document.blocks, inserted),
        figures=tuple(figures),
    )


def caption_images(
    text: str, *, figures: Sequence[Figure], pages: Sequence[Page]
) -> tuple[Figure, ...]:
    """Return the figures of an image file, with the first line of their recognised text as caption.

    Args:
        text: Text of the document.
        figures: Figures. The text of a page was recognised if its figure is at its start.
        pages: Pages, which are the images.
    """
    captioned = []
    for figure in figures:
        page, caption = pages[(figure.page or 1) - 1], figure.caption
        if not caption and figure.start == page.start:
            lines = map(" ".join, map(str.split, text[page.start : page.end].split("\n")))
            caption = next((line for line in lines if any(map(str.isalnum, line))), "")
        captioned.append(replace(figure, caption=caption[:_CAPTION_CHARS]))
    return tuple(captioned)


def _gap(before: str, *, is_start: bool) -> str:
    """Return the line ends between a text and a paragraph."""
    if is_start or before.endswith("\n\n"):
        return ""
    return "\n" if before.endswith("\n") else "\n\n"


def _shifted(
    items: Sequence[_Ranged], inserted: Sequence[tuple[int, int | None, int]]
) -> tuple[_Ranged, ...]:
    """Return headings or blocks moved by the text inserted before them; none contains a figure."""
    places = [place for place, _, _ in inserted]
    shifts = [0, *accumulate(length for _, _, length in inserted)]
    moved = []
    for item in items:
        shift = shifts[bisect_right(places, item.start)]
        moved.append(replace(item, start=item.start + shift, end=item.end + shift))
    return tuple(moved)


def _shifted_pages(
    pages: tuple[Page, ...], inserted: list[tuple[int, int | None, int]]
) -> tuple[Page, ...]:
    """Return pages that cover the text; a description belongs to the page of its figure."""
    added = [0] * len(pages)
    for _, number, length in inserted:
        if pages:
            added[min((number or 1), len(pages)) - 1] += length
    ends = list(accumulate(added))
    return tuple(
        replace(page, start=page.start + end - more, end=page.end + end)
        for page, end, more in zip(pages, ends, added, strict=True)
    )


def is_image(document: Document) -> bool:
    """Return whether a document is an image file."""
    return document.media_type.startswith("image/")

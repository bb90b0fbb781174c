"""What points into a text is checked when it is made."""

from __future__ import annotations

import pytest

from spanwise.parsers.parsed import Parsed
from spanwise.types import Block, Heading, Page

TEXT = "Title\nbody"


@pytest.mark.parametrize(
    "pages",
    [
        (Page(start=0, end=5),),
        (Page(start=1, end=10),),
        (Page(start=0, end=6), Page(start=7, end=10)),
        (Page(start=0, end=12),),
    ],
)
def test_pages_must_cover_the_text(pages: tuple[Page, ...]) -> None:
    """No gap, no overlap, nothing outside."""
    with pytest.raises(ValueError, match="page"):
        Parsed(text=TEXT, media_type="text/plain", pages=pages)


@pytest.mark.parametrize(
    "headings",
    [
        (Heading(start=0, end=11, level=1, title="x"),),
        (Heading(start=5, end=5, level=1, title="x"),),
        (Heading(start=0, end=5, level=0, title="x"),),
        (Heading(start=0, end=5, level=1, title=" "),),
        (Heading(start=0, end=6, level=1, title="x"),),
        (Heading(start=6, end=8, level=1, title="x"), Heading(start=0, end=5, level=1, title="x")),
    ],
)
def test_headings_must_stand_in_order_inside_the_text(headings: tuple[Heading, ...]) -> None:
    """A heading has words, a level and no white space at its edges."""
    with pytest.raises(ValueError, match="heading"):
        Parsed(text=TEXT, media_type="text/plain", headings=headings)


def test_blocks_must_be_disjoint() -> None:
    """In order and without overlap."""
    blocks = (Block(start=0, end=6, kind="code"), Block(start=5, end=8, kind="code"))
    with pytest.raises(ValueError, match="block"):
        Parsed(text=TEXT, media_type="text/plain", blocks=blocks)

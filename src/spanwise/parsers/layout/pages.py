"""The lines of a page, in reading order."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.parsers.layout.columns import split_columns
from spanwise.parsers.layout.fragments import Fragment, join_words
from spanwise.parsers.layout.page import PageContent
from spanwise.parsers.layout.rows import Line, make_lines

__all__ = ["lay_out"]


def lay_out(page: PageContent, *, aside: Sequence[str] = ()) -> list[Line]:
    """Return the lines of a page.

    Args:
        page: Its words and rules.
        aside: Words that run in another direction; they follow as one line.
    """
    lines: list[Line] = []
    regions = split_columns(join_words(page.words))
    for number, region in enumerate(regions):
        lines += make_lines(region, number=number)
    return lines

"""Lines of a page in reading order."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.parsers.pdf.layout.columns import join_words, split_columns
from spanwise.parsers.pdf.layout.grids import find_grids
from spanwise.parsers.pdf.layout.page import PageContent
from spanwise.parsers.pdf.layout.right_to_left import is_right_to_left, mirrored
from spanwise.parsers.pdf.layout.rows import Cell, Line, make_lines


def lay_out(page: PageContent, *, aside: Sequence[str] = ()) -> list[Line]:
    """Return the lines of a page in reading order.

    Args:
        page: Words and rules of the page.
        aside: Words in other directions; they follow as one line.
    """
    if is_right_to_left(page.words):
        page = mirrored(page)
    lines: list[Line] = []
    tables, taken = find_grids(page.words, page.rules) if page.rules else ([], frozenset())
    fragments = [*tables, *join_words(page.words, left_out=taken)]
    regions = split_columns(fragments)
    for number, region in enumerate(regions):
        lines += make_lines(region, number=number)
    if aside:
        lines.append(_aside_line(aside, page, len(regions)))
    return lines


def _aside_line(texts: Sequence[str], page: PageContent, region: int) -> Line:
    text = " ".join(texts)
    return Line(
        cells=[Cell(text, 0.0, page.width)],
        baseline=0.0,
        size=1.0,
        runs=[],
        region_left=0.0,
        region_right=page.width,
        region=region,
    )

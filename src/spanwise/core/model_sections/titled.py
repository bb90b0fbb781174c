"""The sections that a model named, with their paths.

Rules:
    A path holds the headings over a section, then its own title where that says more than the
    last heading. A section without a title has that of the heading it begins with, or one of its
    own words.
    A section that is longer than the options allow is cut by topic, as sections are that are made
    without a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from spanwise.core.sections import cut_long
from spanwise.core.summary import extract_title

if TYPE_CHECKING:
    from spanwise.core.model_sections.lines import NumberedLines
    from spanwise.core.model_sections.outline import Outline
    from spanwise.options import SectionOptions
    from spanwise.types import Document, Section

__all__ = ["titled_sections"]


def titled_sections(
    document: Document,
    starts: Mapping[int, str],
    *,
    stop: int,
    lines: NumberedLines,
    outline: Outline,
    limits: SectionOptions,
) -> list[Section]:
    """Return sections that partition the lines from the first start up to `stop`.

    Args:
        document: The document.
        starts: Title of each section by its first line, in order.
        stop: The line that the last section ends before.
        lines: Of the document.
        outline: Its headings.
        limits: Lengths of sections.
    """
    sections: list[Section] = []
    for line, last in pairwise([*starts, stop]):
        start, end = lines.bounds[line], lines.bounds[last]
        path = outline.path(start, end)
        title = starts[line]
        if not title and not (path and outline.begins(start)):
            title = extract_title(document.text, start=start, stop=end)
        if not path or title.casefold() not in path[-1].casefold():
            path = (*path, title)
        sections += cut_long(document, start=start, end=end, path=path, options=limits)
    return sections

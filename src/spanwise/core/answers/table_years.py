"""Years of the columns of a quoted table row, from the heads above it.

Rules:
    The heads are the nearest line above the row that has years and no other numbers, or several
    short lines with one year each.
    They are used only if they are clear: as many ascending or descending years as the row has
    numbers. Years that end in January or February are not clear, because companies number such
    years differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from spanwise.core.answers.claims import Number, WrittenDate, read_dates, read_numbers

_MAX_LINES = 60
_MAX_HEAD_CHARS = 120
_MAX_SHORT_CHARS = 25
_MAX_GAP_LINES = 3  # between two short lines with years
_CLEAR_MONTHS = range(3, 13)


def column_years(row: Sequence[Number], above: str) -> list[int]:
    """Return the year of each number of a row; empty if the heads are not clear.

    Args:
        row: Numbers of the row, in order.
        above: Text before the row.
    """
    years: list[int] = []
    gap = 0
    lines = above.splitlines()[-_MAX_LINES:]
    for line in reversed(lines):
        dates = [date for date in read_dates(line) if date.year is not None]
        if not dates:
            gap += bool(years)
            if gap > _MAX_GAP_LINES:
                break
            continue
        if not _is_head(line, dates) or (years and len(line.strip()) > _MAX_SHORT_CHARS):
            break
        years = [*(date.year for date in dates if date.year), *years]
        gap = 0
        if len(dates) > 1 or len(years) >= len(row):
            break
    return years if len(years) == len(row) and _is_ordered(years) else []


def _is_head(line: str, dates: Sequence[WrittenDate]) -> bool:
    """Return whether a line has only years, dates and words, and no unclear date."""
    numbers = [
        number
        for number in read_numbers(line)
        if not number.is_word
        and not any(date.start < number.end and number.start < date.end for date in dates)
    ]
    clear = all(date.month is None or date.month in _CLEAR_MONTHS for date in read_dates(line))
    return not numbers and clear and len(line) <= _MAX_HEAD_CHARS


def _is_ordered(years: Sequence[int]) -> bool:
    """Return whether there are at least two different years in order."""
    steps = {later - earlier for earlier, later in pairwise(years)}
    return bool(steps) and (min(steps) > 0 or max(steps) < 0)

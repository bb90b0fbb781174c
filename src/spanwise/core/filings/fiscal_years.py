"""The fiscal year that a period belongs to, as its company counts.

Rules:
    A year that ends in March or later has the number of the calendar year it ends in.
    A year that ends in January or February has that number or the one before, as the company says
    more often ("fiscal 2022"); where it says neither, one that ends in the first week of January
    has the number of the calendar year before.
    A quarter belongs to the year after the last whole one that its report names ("for the fiscal
    year ended September 24, 2022").
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

from spanwise.core.filings.written_dates import WRITTEN_DATE, read_written_date

__all__ = ["fiscal_year_of_quarter", "fiscal_year_of_year"]

_READ_CHARS = 300_000
_LAST_MONTH_IN_DOUBT = 2
_FIRST_WEEK = 7
_DAYS_BEFORE = range(20, 400)  # a quarter ends so many days after the last whole year
_SAID = re.compile(r"\bfiscal\s+(?:year\s+)?((?:19|20)\d\d)\b", re.IGNORECASE)
_YEAR_ENDED = re.compile(rf"\byear\s+ended\s+({WRITTEN_DATE})", re.IGNORECASE)


def fiscal_year_of_year(end: date, *, text: str) -> int:
    """Return the number of the fiscal year that ends on a day.

    Args:
        end: Its last day.
        text: The document.
    """
    return _number(end, Counter(_SAID.findall(text[:_READ_CHARS])))


def fiscal_year_of_quarter(end: date, *, text: str) -> int:
    """Return the number of the fiscal year that a quarter or another part of a year belongs to.

    Args:
        end: The last day of the part.
        text: The document; where it names no year that ended before, the calendar year counts.
    """
    read = text[:_READ_CHARS]
    ends = Counter(
        day
        for day in map(read_written_date, _YEAR_ENDED.findall(read))
        if day is not None and (end - day).days in _DAYS_BEFORE
    )
    if not ends:
        return end.year
    last = min(ends, key=lambda day: (-ends[day], day))
    said = Counter({str(int(year) - 1): n for year, n in Counter(_SAID.findall(read)).items()})
    return _number(last, said) + 1


def _number(end: date, said: Counter[str]) -> int:
    """Return the number of a year by its end and by how often the years around it are said."""
    if end.month > _LAST_MONTH_IN_DOUBT:
        return end.year
    before, same = said[str(end.year - 1)], said[str(end.year)]
    if before == same:
        return end.year - 1 if end.month == 1 and end.day <= _FIRST_WEEK else end.year
    return end.year - 1 if before > same else end.year

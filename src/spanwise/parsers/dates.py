"""Dates as files write them, to ISO 8601."""

from __future__ import annotations

import re
from datetime import date
from email.utils import parsedate_tz

__all__ = ["iso_date"]

_YEAR_FIRST = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_YEAR_ALONE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def iso_date(text: str) -> str | None:
    """Return the day that a date names, `YYYY-MM-DD`, so that dates compare in time order.

    Args:
        text: ISO 8601, with or without a time of day; PDF (`D:20180212...`); RFC 5322; or a
            year or year and month alone, which are returned as they stand.

    Returns:
        None where nothing of this is recognised.
    """
    text = text.strip().removeprefix("D:")
    if _YEAR_ALONE.fullmatch(text):
        return text
    match = _YEAR_FIRST.match(text)
    if match:
        return _day(*(int(part) for part in match.groups()))
    parts = parsedate_tz(text)
    return None if parts is None else _day(*parts[:3])


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None

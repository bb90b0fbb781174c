"""Dates written in English texts: patterns, and their conversion to dates."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = {
    month: number
    for number, month in enumerate(
        "jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1
    )
}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
YEAR = r"(?:19|20)\d\d(?!\d)"
"""Pattern of a year, without groups."""

WRITTEN_DATE = (
    rf"(?:\b{_MONTH}\s{{1,3}}{_DAY}\s{{0,2}},?\s{{0,3}}{YEAR}"
    rf"|(?<!\d){_DAY}\s{{1,3}}{_MONTH},?\s{{1,3}}{YEAR}"
    rf"|(?<!\d){YEAR}-\d\d-\d\d(?!\d))"
)
"""Pattern of a whole date, without groups; compile it with IGNORECASE."""

ANY_DATE = re.compile(WRITTEN_DATE, re.IGNORECASE)
"""Compiled pattern of a whole date."""

MONTH_AND_YEAR = re.compile(rf"\b{_MONTH},? {YEAR}", re.IGNORECASE)
"""Pattern of a month with its year; it also matches inside some whole dates."""

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z]{3}")


def read_written_date(text: str) -> date | None:
    """Return the date in a text that matches `WRITTEN_DATE`; None for an impossible date."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    try:
        if text[:4].isdigit():
            year, month, day = numbers
        else:
            day, year = numbers
            named = _WORD.search(re.sub(r"\d(?:st|nd|rd|th)", "", text.lower()))
            month = _MONTHS[named.group()] if named else 0
        return date(year, month, day)
    except (KeyError, ValueError):
        return None


def read_month(text: str) -> date:
    """Return the first day of the month in a text that matches `MONTH_AND_YEAR`."""
    (year,) = map(int, _NUMBER.findall(text))
    return date(year, _MONTHS[text[:3].lower()], 1)

"""Dates and months in a question that select reports by the end of their period.

Rules:
    A whole date ("April 1, 2023") means the reports whose period ends within a week of it, because
    the quarters of many companies end on a weekday. A month ("October 2022") means those whose
    period ends in it, or a few days before or after.
    "The latest quarter" or "the most recent filing" means the last report, unless the question also
    asks about earlier ones.
"""

from __future__ import annotations

import re
from calendar import monthrange
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.text.written_dates import ANY_DATE, MONTH_AND_YEAR, read_month, read_written_date

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.types import MetadataValue

_NEAR_DATE, _NEAR_MONTH = timedelta(days=6), timedelta(days=3)
_LATEST = re.compile(
    r"\b(?:latest|last|most recent|newest)(?: (?:reported|fiscal|quarterly|annual|published))*"
    r" (?:quarter|report|filing|10-?[qk])\b(?! (?:of|in) (?:fiscal |the year )?\d)",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\b(?:quarter|period|months|weeks|year)s?,? (?:that )?end(?:ed|ing|s)(?: (?:on|in))?\s{1,3}\Z",
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(?:previous|prior|past|earlier|preceding|former|before|over time|trends?|histor\w+)\b",
    re.IGNORECASE,
)


class Period(NamedTuple):
    """A date or month in a question."""

    start: int
    """Offset of its text."""
    end: int
    """Offset one past its text."""
    first: date
    """First day on which the period of a report may end."""
    last: date
    """Last day on which the period of a report may end."""
    is_end: bool
    """Whether the question says that a period ends then, as in "the quarter ended"."""

    def later(self, years: int) -> Period:
        """Return the same days some years later."""
        days = timedelta(days=round(365.25 * years))
        return self._replace(first=self.first + days, last=self.last + days)


def read_periods(text: str) -> tuple[Period, ...]:
    """Return the dates and months in a question, in order.

    Args:
        text: Text of the question.
    """
    found: list[Period] = []
    for match in ANY_DATE.finditer(text):
        day = read_written_date(match.group())
        if day is not None:
            found.append(_period(match, day - _NEAR_DATE, day + _NEAR_DATE))
    dates = tuple(found)
    for match in MONTH_AND_YEAR.finditer(text):
        if any(one.start < match.end() and match.start() < one.end for one in dates):
            continue
        first = read_month(match.group())
        last = first.replace(day=monthrange(first.year, first.month)[1])
        found.append(_period(match, first - _NEAR_MONTH, last + _NEAR_MONTH))
    return tuple(sorted(found))


def _period(match: re.Match[str], first: date, last: date) -> Period:
    is_end = _ENDED.search(match.string[: match.start()]) is not None
    return Period(*match.span(), first, last, is_end)


def period_end(fields: Mapping[str, MetadataValue]) -> date | None:
    """Return the end of the period of a report, or else the date of a document; None without.

    Args:
        fields: Metadata of the document.
    """
    for name in ("period_end", "date"):
        value = fields.get(name)
        if isinstance(value, str):
            with suppress(ValueError):
                return date.fromisoformat(value[:10])
    return None


def asks_latest(text: str) -> bool:
    """Return whether a question asks for the last report alone."""
    return _LATEST.search(text) is not None and _EARLIER.search(text) is None

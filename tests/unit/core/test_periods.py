"""Dates and months in a question that select reports."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.ranking.periods import asks_latest, period_end, read_periods


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in the quarter ended April 1, 2023?", ["April 1, 2023"]),
        ("as of 30 June 2022 and Dec. 31 2022", ["30 June 2022", "Dec. 31 2022"]),
        ("between 2023-07-01 and October 2022", ["2023-07-01", "October 2022"]),
        ("in fiscal 2022, may grow", []),
        ("February 30, 2021", []),
    ],
)
def test_dates_and_months_are_found_in_order(text: str, found: list[str]) -> None:
    assert [text[one.start : one.end] for one in read_periods(text)] == found


@pytest.mark.parametrize(
    ("text", "is_end"),
    [
        ("the quarter ended April 1, 2023", True),
        ("the six months ending on 30 June 2022", True),
        ("the fiscal year ended in October 2022", True),
        ("what ended on April 1, 2023", False),
        ("as of April 1, 2023", False),
    ],
)
def test_a_period_may_end_at_a_date(text: str, is_end: bool) -> None:
    (period,) = read_periods(text)
    assert period.is_end == is_end


@given(st.dates(date(1950, 1, 1), date(2090, 12, 31)), st.integers(-40, 40))
def test_a_date_means_the_week_around_it(day: date, shift: int) -> None:
    (period,) = read_periods(f"the quarter ended {day:%B} {day.day}, {day.year}")
    assert (period.first <= day + timedelta(days=shift) <= period.last) == (abs(shift) <= 6)


@given(st.dates(date(1950, 1, 1), date(2090, 12, 31)))
def test_a_month_contains_its_days(day: date) -> None:
    (period,) = read_periods(f"in {day:%B} {day.year}")
    assert period.first < day < period.last
    assert (period.last - period.first).days < 37


@pytest.mark.parametrize(
    ("text", "latest"),
    [
        ("revenue in the most recent quarter", True),
        ("the latest 10-Q of Aldera", True),
        ("the last fiscal quarter", True),
        ("the last quarter of 2022", False),
        ("the latest quarter compared with previous ones", False),
        ("the last word", False),
    ],
)
def test_the_last_report_alone(text: str, latest: bool) -> None:
    assert asks_latest(text) == latest


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({"period_end": "2023-04-01", "date": "2020-01-01"}, date(2023, 4, 1)),
        ({"date": "2023-04-01T10:00:00"}, date(2023, 4, 1)),
        ({"period_end": "soon", "date": "2023-04"}, None),
        ({"date": 2023}, None),
        ({}, None),
    ],
)
def test_the_end_of_a_period_is_a_whole_date(
    fields: dict[str, str | int], end: date | None
) -> None:
    assert period_end(fields) == end

"""Dates in English text."""

import re
from datetime import date

import pytest

from spanwise.core.text.written_dates import WRITTEN_DATE, read_written_date

PATTERN = re.compile(WRITTEN_DATE, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the year ended December 26, 2015.", date(2015, 12, 26)),
        ("ended MAY 1 , 2022", date(2022, 5, 1)),
        ("ended Sept. 30, 2019 and", date(2019, 9, 30)),
        ("on 31 March 2023", date(2023, 3, 31)),
        ("this 3rd August, 2021", date(2021, 8, 3)),
        ("period 2023-03-31,", date(2023, 3, 31)),
        ("ended February 30, 2020", None),
        ("ended 2020-13-01", None),
    ],
)
def test_date_is_found_and_read(text: str, day: date | None) -> None:
    """Both word orders, and ISO 8601; a date that does not exist is None."""
    found = PATTERN.search(text)
    assert found is not None
    assert read_written_date(found.group()) == day


@pytest.mark.parametrize("text", ["in May 2020", "December 2015", "Section 12, 2020", "1/2/2020"])
def test_other_numbers_are_no_date(text: str) -> None:
    """A month alone and a numeric date are ambiguous."""
    assert PATTERN.search(text) is None


def test_text_of_another_form_is_no_date() -> None:
    """Text that does not match gives None."""
    assert read_written_date("31 2020") is None

"""Dates of files become ISO 8601."""

from __future__ import annotations

import pytest

from spanwise.parsers.properties import iso_date


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2018-02-12", "2018-02-12"),
        (" 2018-02-12T23:59:59-08:00 ", "2018-02-12"),
        ("D:20180212131833-05'00'", "2018-02-12"),
        ("20180212", "2018-02-12"),
        ("Mon, 12 Feb 2018 10:00:00 GMT", "2018-02-12"),
        ("12 Feb 2018 10:00", "2018-02-12"),
        ("2018", "2018"),
        ("D:2018", "2018"),
        ("2018-02", "2018-02"),
        ("2018-02-30", None),
        ("2018-13", None),
        ("soon", None),
        ("", None),
    ],
)
def test_day_is_recognised(written: str, expected: str | None) -> None:
    """Days compare in time order; what is no date is left out."""
    assert iso_date(written) == expected

"""Numbers are written as a sheet shows them."""

from __future__ import annotations

import pytest

from spanwise.parsers.office.number_formats import BUILT_IN_CODES, NumberFormat, plain_number


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("0%", 0.123, "12%"),
        ("0.0 %", 0.1234, "12.3 %"),
        ("0.0%;(0.0%)", -0.5, "(50.0%)"),
        ("#,##0", 1234567.5, "1,234,568"),
        ("#,##0;(#,##0)", -1234, "(1,234)"),
        ("#,##0;[Red]#,##0", -1234, "-1,234"),
        ('_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)', 0, "-"),
        ('_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', 0, "-"),
        ('#,##0.00 "€";-#,##0.00 "€";"-"?? "€"', 0, "- €"),
        ('_("$"* #,##0.00_);_("$"* \\(#,##0.00\\)', -5.005, "$(5.01)"),
        ("[$€-407] #,##0.00", 3.5, "€ 3.50"),
        ('0.0,,"M"', 12345678, "12.3M"),
        ("0.00E+00", 123456, "1.23E+05"),
        ("00000", 123, "00123"),
        ("0.##", 1.5, "1.5"),
        ("0.##", 2, "2"),
        ('"Q"0', 3, "Q3"),
        ("0.00", -0.001, "0.00"),
        ("0.00", -1.5, "-1.50"),
        ('#,##0.00 "kg"', 12, "12.00 kg"),
    ],
)
def test_number_is_as_it_is_shown(code: str, value: float, expected: str) -> None:
    """Per cents, thousands, brackets, currencies, scales; a minus is never left to a colour."""
    assert NumberFormat(code).write(value) == expected


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("yyyy-mm-dd", 44197, "2021-01-01"),
        ("dd.mm.yyyy", 44197, "2021-01-01"),
        ("m/d/yy h:mm", 44197.52, "2021-01-01 12:28"),
        ("[$-409]d-mmm-yy;@", 44197, "2021-01-01"),
        ("h:mm AM/PM", 0.5, "12:00"),
        ("mmm-yy", 44197, "2021-01"),
        ("yyyy", 44197, "2021"),
        ("dddd", 44197, "2021-01-01"),
        ("mm:ss.0", 0.5, "12:00:00"),
        ("[h]:mm", 1.25, "30:00:00"),
        ("[h]:mm", -0.5, "-12:00:00"),
        ("yyyy-mm-dd", 1, "1900-01-01"),
        ("yyyy-mm-dd", 61, "1900-03-01"),
        ("yyyy-mm-dd", -1, "-1"),
        ("yyyy-mm-dd", 1e12, "1000000000000"),
    ],
)
def test_date_is_iso(code: str, value: float, expected: str) -> None:
    """Whatever order the sheet shows it in; what is no date stays a number."""
    assert NumberFormat(code).write(value) == expected


def test_days_may_be_counted_from_1904() -> None:
    """Old Macintosh files do."""
    assert NumberFormat("yyyy-mm-dd").write(42735, from_1904=True) == "2021-01-01"


@pytest.mark.parametrize(
    "code", ["General", "# ?/?", "000-0000", '[>=1000]0.0,"K";0', "@", "0.00", '"', "[", "\\"]
)
def test_unknown_code_leaves_the_number(code: str) -> None:
    """Nothing is guessed, nothing fails."""
    value = 1e40 if code == "0.00" else 5551234
    assert NumberFormat(code).write(value) == plain_number(value)


def test_built_in_codes_are_known() -> None:
    """Each shows a number or a date."""
    assert {number: NumberFormat(code).write(44197.5) for number, code in BUILT_IN_CODES.items()}[
        14
    ] == "2021-01-01"
    assert NumberFormat(BUILT_IN_CODES[10]).write(0.123) == "12.30%"
    assert NumberFormat(BUILT_IN_CODES[41]).write(-3) == "(3)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (1e20, "1e+20"),
        (-2.5, "-2.5"),
        (123456789012.0, "123456789012"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
    ],
)
def test_plain_number_has_no_noise(value: float, expected: str) -> None:
    """Fifteen digits, as spreadsheets keep."""
    assert plain_number(value) == expected

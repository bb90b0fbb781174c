"""Fiscal years of companies."""

from datetime import date

import pytest

from spanwise.packs.filing_covers import fiscal_year_of_quarter, fiscal_year_of_year


@pytest.mark.parametrize(
    ("end", "text", "year"),
    [
        (date(2022, 12, 31), "", 2022),
        (date(2021, 8, 29), "fiscal 2020 fiscal 2020", 2021),
        (date(2018, 1, 31), "in fiscal 2018, more than in fiscal 2017; fiscal year 2018", 2018),
        (date(2023, 1, 28), "fiscal 2022 was good; fiscal year 2022", 2022),
        (date(2021, 1, 2), "", 2020),
        (date(2020, 1, 31), "", 2020),
        (date(2020, 2, 1), "", 2020),
    ],
)
def test_year_is_counted_as_the_company_does(end: date, text: str, year: int) -> None:
    """By its end; in winter by the year that the text mentions more often."""
    assert fiscal_year_of_year(end, text=text) == year


NAMES_ITS_YEAR_BY_THE_END = (
    "fiscal 2019, fiscal 2018 and fiscal 2017. " * 9 + "fiscal 2018 had one week more. " * 3
)
NAMES_ITS_YEAR_BY_THE_START = "fiscal 2018, fiscal 2017 and fiscal 2016. " * 9


@pytest.mark.parametrize(
    ("text", "year"),
    [
        (NAMES_ITS_YEAR_BY_THE_END, 2019),
        (NAMES_ITS_YEAR_BY_THE_END + "Our plans for fiscal 2020 and since fiscal 2016. " * 2, 2019),
        (NAMES_ITS_YEAR_BY_THE_START, 2018),
        (NAMES_ITS_YEAR_BY_THE_START + "In fiscal 2019, we expect more. " * 8, 2018),
        (
            "In fiscal 2018, more than in fiscal 2017. " * 4 + "In fiscal 2019, we expect more.",
            2018,
        ),
        ("Sales in 2018, 2017 and 2016, to February 2, 2019. " * 3 + "Debt due in 2019", 2018),
        ("Sales in 2019, 2018 and 2017, to February 2, 2019. " * 3, 2019),
        ("In FY2019 and FY 2018; FY2017", 2019),
    ],
)
def test_annual_report_names_three_years(text: str, year: int) -> None:
    """The year of the end is compared with the year three before, which only one company names."""
    assert fiscal_year_of_year(date(2019, 2, 2), text=text) == year


@pytest.mark.parametrize(
    ("end", "text", "year"),
    [
        (
            date(2018, 8, 4),
            "year ended February 3, 2018; fiscal 2019, fiscal 2018; fiscal 2018",
            2019,
        ),
        (
            date(2018, 8, 4),
            "year ended February 3, 2018; fiscal 2018, fiscal 2017; fiscal 2018",
            2018,
        ),
        (date(2023, 3, 31), "", 2023),
        (date(2022, 12, 31), "for the fiscal year ended September 24, 2022", 2023),
        (date(2022, 9, 30), "fiscal year ended June 30, 2022", 2023),
        (date(2023, 6, 30), "the year ended December 31, 2022", 2023),
        (date(2023, 4, 30), "fiscal year ended January 29, 2023; fiscal year 2024", 2024),
        (date(2022, 10, 29), "fiscal year ended January 29, 2022; fiscal 2022, fiscal 2022", 2022),
        (date(2022, 9, 30), "the year ended June 30, 2030; the year ended June 31, 2022", 2022),
    ],
)
def test_quarter_belongs_to_the_year_after_the_last(end: date, text: str, year: int) -> None:
    """By the last whole year in the text; without one by the calendar."""
    assert fiscal_year_of_quarter(end, text=text) == year

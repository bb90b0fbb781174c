"""Order in which the conditions of a model's filter are dropped."""

from __future__ import annotations

import pytest

from spanwise.filters import Filter, matches, parse_filter, relaxed_filters
from spanwise.types import MetadataValue

DOCUMENTS: list[dict[str, MetadataValue]] = [
    {"company": "Best Buy", "form": "10-K", "year": 2018, "period_end": "2018-02-03"},
    {"company": "Best Buy", "form": "10-K", "year": 2023, "period_end": "2023-01-28"},
    {"company": "Best Buy", "form": "8-K", "year": 2020, "period_end": "2020-05-01"},
    {"company": "Target", "form": "10-K", "year": 2020, "period_end": "2020-02-01"},
    {"company": "Walmart", "form": "10-K", "year": 2020, "period_end": "2020-01-31"},
]


def relaxed(where: str) -> list[str]:
    """Return the remaining conditions of each relaxed filter, in order."""

    def count(one: Filter) -> int:
        return sum(matches(one, document) for document in DOCUMENTS)

    steps = relaxed_filters(parse_filter(where), count)
    return ["" if step.kept is None else str(step.kept) for step in steps]


@pytest.mark.parametrize(
    "where",
    ['company = "Best Buy" and year = 2031', 'period_end >= "2031" and company = "Best Buy"'],
)
def test_a_year_is_dropped_before_a_company(where: str) -> None:
    assert relaxed(where)[0] == 'company = "Best Buy"'


def test_one_condition_is_dropped_at_a_time_and_the_company_last() -> None:
    company, form, year = 'company = "Best Buy"', 'form = "10-K"', "year = 2031"
    assert relaxed(f"{company} and {form} and {year}") == [
        f"{company} and {form}",
        f"{company} and {year}",
        company,
        f"{form} and {year}",
        form,
        year,
        "",
    ]


def test_the_bounds_of_one_field_are_dropped_together() -> None:
    bounds = 'period_end >= "2031" and period_end < "2032"'
    assert relaxed(f'company = "Target" and {bounds}') == ['company = "Target"', bounds, ""]


def test_alternatives_are_one_condition() -> None:
    assert relaxed('(company = "Target" or company = "Walmart") and year = 2031') == [
        'company = "Target" or company = "Walmart"',
        "year = 2031",
        "",
    ]


def test_a_single_condition_is_dropped_whole() -> None:
    assert relaxed("year = 2031") == [""]


def test_many_conditions_are_tried_in_few_steps() -> None:
    names = [f"n{number:02}" for number in range(20)]
    steps = relaxed(" and ".join(f"{name} = 1" for name in names))
    assert len(steps) <= 31
    assert steps[-1] == ""

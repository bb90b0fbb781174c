"""Conditions of a model, and the filter made from them."""

from __future__ import annotations

import pytest
from tests.filing_records import filings

from spanwise.core.ranking.question_fields import Condition, filter_of_conditions, question_fields

DOCUMENTS = [record.metadata for record in filings()]
ONE = "What did 3M say in its 10-K of 2018?"
SEVERAL = "How do 3M and Amazon compare in 2016 and 2018?"


def made(*conditions: tuple[str, str, list[str]], question: str) -> tuple[str, tuple[str, ...]]:
    where, warnings = filter_of_conditions(
        [Condition(field=f, operator=o, values=tuple(v)) for f, o, v in conditions],
        fields=question_fields(question, documents=DOCUMENTS),
    )
    return "" if where is None else str(where), warnings


@pytest.mark.parametrize(
    ("question", "conditions", "expected"),
    [
        (ONE, [("company", "=", ["3M"])], 'company = "3M"'),
        (ONE, [("Company ", "==", [" 3m "])], 'company = "3M"'),
        (ONE, [("fiscal_year", "=", ["2018", "2018.0"])], "fiscal_year = 2018"),
        (
            ONE,
            [("period_end", "=", ["2018-12-31"])],
            'period_end >= "2018" and period_end < "2019"',
        ),
        (ONE, [("period_end", "<=", ["2018"])], 'period_end < "2019"'),
        (
            ONE,
            [("form", "=", ["10-K"]), ("company", "=", ["3M"])],
            'company = "3M" and form = "10-K"',
        ),
        (
            SEVERAL,
            [("company", "in", ["amazon.com", "3M"])],
            'company in ("Amazon.com", "3M")',
        ),
        (
            SEVERAL,
            [("company", "=", ["3M"]), ("company", "=", ["Amazon.com"])],
            'company in ("3M", "Amazon.com")',
        ),
        (
            SEVERAL,
            [("fiscal_year", ">=", ["2016"]), ("fiscal_year", "<=", ["2018"])],
            "fiscal_year >= 2016 and fiscal_year <= 2018",
        ),
        (SEVERAL, [("fiscal_year", ">=", [" 2016 "])], "fiscal_year >= 2016"),
        (
            SEVERAL,
            [("period_end", "=", ["2016", "2018"])],
            'period_end >= "2016" and period_end < "2017" or '
            'period_end >= "2018" and period_end < "2019"',
        ),
    ],
)
def test_conditions_become_a_typed_filter(
    question: str, conditions: list[tuple[str, str, list[str]]], expected: str
) -> None:
    assert made(*conditions, question=question) == (expected, ())


@pytest.mark.parametrize(
    ("condition", "lost"),
    [
        (("company", "=", ["3M"]), "Amazon.com"),
        (("fiscal_year", "=", ["2016"]), 2018),
        (("fiscal_year", "<=", ["2016"]), 2018),
    ],
)
def test_a_condition_that_excludes_a_mentioned_value_is_dropped(
    condition: tuple[str, str, list[str]], lost: object
) -> None:
    where, (warning,) = made(condition, question=SEVERAL)
    assert where == ""
    assert f"the question also says {lost!r}" in warning


@pytest.mark.parametrize(
    "condition",
    [
        ("status", "=", ["ok"]),
        ("company", "=", ["Apple"]),
        ("company", "=", ['3M" or company = "Apple']),
        ("company", "!=", ["3M"]),
        ("company", ">=", ["3M"]),
        ("company", "=", []),
        ("fiscal_year", "=", ["2017"]),
        ("fiscal_year", "<", ["2018"]),
        ("fiscal_year", "=", ["twenty"]),
        ("period_end", "=", ["2017-01-01"]),
        ("period_end", ">", ["2016"]),
        ("fiscal_year = 2018 or company", "=", ["3M"]),
        ("", "", [""]),
    ],
)
def test_values_that_are_not_mentioned_are_dropped(
    condition: tuple[str, str, list[str]],
) -> None:
    where, warnings = made(condition, question=ONE)
    assert where == ""
    assert len(warnings) == 1
    assert "left out" in warnings[0]


def test_valid_values_of_a_condition_are_kept() -> None:
    where, (warning,) = made(("company", "=", ["3M", "ACME", "Apple"]), question=ONE)
    assert where == 'company = "3M"'
    assert warning.startswith("2 conditions, the first `company = 'ACME'`, were left out")


@pytest.mark.parametrize("operator", ["=", ">="])
def test_the_latest_report_may_stand_for_the_two_years_before(operator: str) -> None:
    where, warnings = made(("fiscal_year", operator, ["2018"]), question=SEVERAL)
    assert (where, warnings) == (f"fiscal_year {operator} 2018", ())
    where, warnings = made(("period_end", operator, ["2018"]), question=SEVERAL)
    assert where.startswith('period_end >= "2018"')
    assert warnings == ()


def latest(name: str, *years: int) -> str:
    documents = [{name: year} for year in range(2000, 2021)]
    question = f"What was decided in {' and in '.join(map(str, years))}?"
    fields = question_fields(question, documents=documents)
    condition = Condition(field=name, operator="=", values=(str(max(years)),))
    where, _ = filter_of_conditions([condition], fields=fields)
    return "" if where is None else str(where)


def test_the_latest_report_does_not_stand_for_other_years() -> None:
    assert latest("fiscal_year", 2016, 2018) == "fiscal_year = 2018"
    assert latest("fiscal_year", 2015, 2018) == ""
    assert latest("year", 2017, 2018) == ""

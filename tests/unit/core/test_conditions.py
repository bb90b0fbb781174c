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
        documents=DOCUMENTS,
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
        (("period_end", ">=", ["2018"]), 2016),
        (("period_end", "=", ["2018"]), 2016),
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


def test_a_filter_that_no_document_passes_is_omitted() -> None:
    fields = question_fields(ONE, documents=DOCUMENTS)
    condition = Condition(field="fiscal_year", operator="=", values=("2018",))
    others = [document for document in DOCUMENTS if document["fiscal_year"] != 2018]
    where, (warning,) = filter_of_conditions([condition], fields=fields, documents=others)
    assert where is None
    assert "no document passes it" in warning

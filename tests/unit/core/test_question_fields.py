"""Metadata that a question mentions, for hostile documents too."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.filing_records import filings

from spanwise.core.ranking.question_fields import question_fields
from spanwise.types import Scalar

FILINGS = [record.metadata for record in filings()]


def said(
    question: str, documents: Sequence[object] = FILINGS, *, earlier: Sequence[str] = ()
) -> dict[str, tuple[Scalar, ...]]:
    found = question_fields(question, earlier=earlier, documents=documents)  # type: ignore[arg-type]
    return {about.name: about.mentioned for about in found}


def fields(*values: Scalar, name: str = "company") -> list[dict[str, Scalar]]:
    return [{name: value} for value in values]


def test_values_are_found_by_their_kind() -> None:
    found = question_fields("How did sales of 3M change from 2016 to 2018?", documents=FILINGS)
    assert [(about.name, about.kind, about.mentioned, about.between) for about in found] == [
        ("company", "text", ("3M",), None),
        ("fiscal_year", "number", (2016, 2018), (2016, 2018)),
        ("period_end", "day", (2016, 2018), (2016, 2018)),
    ]


def test_a_year_and_a_form_count_only_where_a_document_has_them() -> None:
    assert said("What did Apple say in its 10-Q of 2020?") == {"company": ("Apple",)}


@pytest.mark.parametrize(
    ("question", "values", "expected"),
    [
        ("Does the 10-K say so?", ["10-K", "10-Q"], ("10-K",)),
        ("Does the 10K say so?", ["10-K", "10-Q"], ("10-K",)),
        ("What did Amazon spend?", ["Amazon.com", "Apple"], ("Amazon.com",)),
        ("What did Bank of America lend?", ["Bank of America", "Bank of England"],
         ("Bank of America",)),
        ("What did Apple sell?", ["Apple", "Apple Hospitality"], ("Apple",)),
        ("What do iPhones of iRobot cost?", ["iRobot", "Roomba"], ("iRobot",)),
        ("What of Straße 3?", ["STRASSE 3", "Weg"], ("STRASSE 3",)),
    ],
)  # fmt: skip
def test_a_text_is_mentioned_by_all_or_its_first_words(
    question: str, values: list[str], expected: tuple[str, ...]
) -> None:
    assert said(question, fields(*values)) == {"company": expected}


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How did capital spending change?", ["capital spending", "3M"]),
        ("How did capital spending change?", ["How", "3M"]),
        ("It fell. Why was that? Margins fell.", ["Margins", "3M"]),
        ("WHY DID MARGINS FALL?", ["Margins", "3M"]),
        ("Wie hoch war der Umsatz in diesem Jahr?", ["Umsatz", "3M"]),
        ("What can I do?", ["I", "3M"]),
        ("What is The Hague?", ["The Boeing Company", "3M"]),
        ("What did Bank say?", ["Bank of America", "Bank of England"]),
        ("What did X say?", ["x" * 200, "3M"]),
    ],
)
def test_words_that_are_not_names_mention_no_value(question: str, values: list[str]) -> None:
    assert said(question, fields(*values)) == {}


@pytest.mark.parametrize(
    "question",
    ["compare amazon and Microsoft", "Apple or Microsoft?", "Wie lief es für Apple und IBM?"],
)
def test_a_field_with_other_possible_mentions_is_dropped(question: str) -> None:
    assert said(question, fields("Amazon.com", "Apple", "IBM", "Microsoft")) == {}


def test_a_field_that_few_documents_have_is_omitted() -> None:
    documents = [*fields("3M", "3M", "3M"), {"company": "3M", "topic": "10-K"}]
    assert said("What does the 10-K of 3M say?", documents) == {"company": ("3M",)}


@pytest.mark.parametrize(
    "values", [(2018, "2018"), (True, False), (10**400, 2018), (2018, float("nan"))]
)
def test_values_of_mixed_or_unknown_kinds_are_ignored(
    values: tuple[Scalar, ...],
) -> None:
    assert said("What of 2018?", fields(*values)) == {}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("in FY2018", (2018,)),
        ("in Q3 of 2018/19", (3, 19, 2018)),
        ("1,577.5 or 1577.50", (1577.5,)),
        ("v20.18b7 and abc2018", ()),
        ("in ٢٠١٨", (2018,)),
    ],
)
def test_numbers_are_read_as_people_write_them(question: str, expected: tuple[float, ...]) -> None:
    assert said(question, fields(0, 5_000)).get("company", ()) == expected


def test_the_latest_question_with_a_value_is_used() -> None:
    earlier = ["What did Apple sell in 2016?", "And Microsoft?"]
    assert said("And in 2018?", earlier=earlier) == {
        "company": ("Microsoft",),
        "fiscal_year": (2018,),
        "period_end": (2018,),
    }


def test_without_documents_there_are_no_fields() -> None:
    assert said("What did 3M sell in 2018?", []) == {}


def test_items_of_lists_are_values() -> None:
    documents = [{"tags": ("Harrow", "nda")}, {"tags": ("Altby",)}, {"tags": ()}]
    assert said("What did Altby agree?", documents) == {"tags": ("Altby",)}
    assert said("What did Harrow and Altby agree?", documents) == {"tags": ("Altby", "Harrow")}

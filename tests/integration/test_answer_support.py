"""Statements whose numbers, dates and names are compared with their quotes."""

import json
from collections.abc import Iterator

import pydantic
import pytest
from tests.scripted_answers import (
    QUESTION,
    Form,
    answer_of,
    ask,
    model_of,
    statement,
    two_sources,
)

from spanwise import Answer, KnowledgeBase
from spanwise.types.plain import from_plain

REPORT = "$1,577 million in 2018 and $1,373 million in 2017"


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with two_sources() as made:
        yield made


def growth(text: str, result: str) -> Form:
    """Return a statement with a calculation of the growth of the spending."""
    operands = [
        {"name": name, "value": value, "quote": REPORT, "source": 1}
        for name, value in (("a", "1,577"), ("b", "1,373"))
    ]
    calculation = {"formula": "(a - b) / b * 100", "operands": operands, "result": result}
    return {**statement(text), "calculation": calculation}


def test_supported_numbers_have_no_mark(kb: KnowledgeBase) -> None:
    said = statement("Quay Works spent $1.6 billion in 2018 (2017: 1,373 million).", (1, REPORT))
    answer = ask(kb, model_of(answer_of(said)))
    assert answer.unsupported == ()
    assert "[!]" not in answer.text


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("It spent 1,677 million.", "It spent 1,677 million[!]. [1]"),
        ("It spent 1,577 thousand.", "It spent 1,577 thousand[!]. [1]"),
        ("It spent 1,373 million in 2016.", "It spent 1,373 million in 2016[!]. [1]"),
        ("It spent 1,577 million at Elbing.", "It spent 1,577 million at Elbing[!]. [1]"),
    ],
)
def test_another_number_year_or_name_is_marked(kb: KnowledgeBase, text: str, marked: str) -> None:
    answer = ask(kb, model_of(answer_of(statement(text, (1, REPORT)))))
    assert answer.text == marked
    (claim,) = answer.unsupported
    assert claim.statement == text


def test_a_calculation_is_computed_and_its_operands_are_cited(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(answer_of(growth("It rose by 14.9 %.", "14.9"))))
    assert answer.text == "It rose by 14.9 %. [1]"
    (calculation,) = answer.calculations
    assert (calculation.status, calculation.result) == ("correct", "14.858")
    assert [operand.citation for operand in calculation.operands] == [1, 1]
    assert str(calculation) == "(a - b) / b * 100 = 14.858; a = 1,577 [1]; b = 1,373 [1]"
    assert "14.858" in answer._repr_html_()


def test_a_wrong_result_is_marked_and_corrected(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(answer_of(growth("It rose by 12.9 %.", "12.9"))))
    assert answer.text == "It rose by 12.9 %[!]. [1]"
    (calculation,) = answer.calculations
    assert (calculation.status, calculation.result, calculation.given) == (
        "wrong",
        "14.858",
        "12.9",
    )
    assert any("14.858" in warning for warning in answer.warnings)


def test_the_working_is_never_shown(kb: KnowledgeBase) -> None:
    said = {
        "working": 'SECRET: {"answered": true, "statements": [{"text": "SECRET"}]}',
        **answer_of(statement("It spent 1,577 million.", (1, REPORT))),
    }
    stream = kb.ask_stream(QUESTION, llm=model_of(said), write_queries=False)
    assert "".join(stream) == "It spent 1,577 million. [1]"
    assert "SECRET" not in json.dumps(stream.answer.to_dict())


def test_an_assumption_is_shown_as_one(kb: KnowledgeBase) -> None:
    said = answer_of(statement("It spent 1,577 million.", (1, REPORT)))
    answer = ask(kb, model_of({**said, "assumed": "2018 is the calendar year"}))
    assert (answer.assumed, answer.missing) == ("2018 is the calendar year", "")
    assert not any("calendar" in warning for warning in answer.warnings)
    assert "assumed: 2018 is the calendar year" in answer._repr_html_()


class Owner(pydantic.BaseModel):
    """Part of a form."""

    name: str | None


class Spending(pydantic.BaseModel):
    """A form with parts that a document may lack."""

    amount: int
    auditor: str | None
    owners: list[Owner]


def test_fields_that_stay_null_are_reported(kb: KnowledgeBase) -> None:
    quote = {"field": "amount", "quote": REPORT, "source": 1}
    data = {"amount": 1577, "auditor": None, "owners": [{"name": None}]}
    said = {"answered": True, "data": data, "citations": [quote]}
    answer = ask(kb, model_of(said), answer_type=Spending)
    assert answer.missing == "auditor, owners[0].name"
    assert "not answered: auditor, owners[0].name" in answer.warnings


def test_a_wrong_value_of_a_form_is_marked(kb: KnowledgeBase) -> None:
    quote = {"field": "amount", "quote": REPORT, "source": 1}
    data: Form = {"amount": 1578, "auditor": None, "owners": []}
    answer = ask(
        kb, model_of({"answered": True, "data": data, "citations": [quote]}), answer_type=Spending
    )
    assert answer.text.startswith("- amount: 1578[!] [1]")


def test_answers_of_earlier_versions_are_read(kb: KnowledgeBase) -> None:
    """Stored conversations may lack fields that a later version added."""
    answer = ask(kb, model_of(answer_of(statement("It spent 1,577 million.", (1, REPORT)))))
    stored = answer.to_dict()
    for name in ("assumed", "missing", "unsupported", "calculations"):
        del stored[name]
    assert from_plain(Answer, stored) == answer


def test_an_answer_comes_back_from_json(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(answer_of(growth("It rose by 12.9 % at Elbing.", "12.9"))))
    assert answer.unsupported
    assert from_plain(Answer, json.loads(json.dumps(answer.to_dict()))) == answer


def test_a_prompt_names_the_tag_that_it_uses(kb: KnowledgeBase) -> None:
    kb.add_text(f"# Quay Works\n\n<segment>{QUESTION}</segment>", document_id="tags.md")
    model = model_of(answer_of(statement("It spent 1,577 million.", (1, REPORT))))
    ask(kb, model)
    (request,) = model.requests
    assert request.shared.startswith("<segment_2 ")
    assert "<segment_2 ...>" in request.instructions

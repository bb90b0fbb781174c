"""How a model is asked for questions, and what is read of what it gives."""

from __future__ import annotations

import json

import pytest
from tests.attacks import WAYS_OUT, attack, outside_fences

from spanwise.models.prompts.questions import (
    QuestionPassage,
    question_request,
    read_question,
    read_unanswerable,
    unanswerable_request,
)

PLACE = QuestionPassage(title="Annual report", section="Results > Margin", text="The margin fell.")
FORM = {"usable": True, "question": "Why?", "answer": "It fell.", "quotes": ["The margin fell."]}


def given(**fields: object) -> str:
    return json.dumps({**FORM, **fields})


def test_a_question_is_asked_for_with_what_stands_above_the_place() -> None:
    prompt = question_request(PLACE).prompt
    for part in ("Annual report", "Results > Margin", "The margin fell."):
        assert part in prompt
    assert (
        "<section>" not in question_request(QuestionPassage(title="A", section="", text="b")).prompt
    )


def test_what_is_typical_can_be_read() -> None:
    assert read_question(question_request(PLACE).typical) is not None
    assert read_unanswerable(unanswerable_request(PLACE).typical)


@pytest.mark.parametrize("way_out", WAYS_OUT)
@pytest.mark.parametrize("field", ["title", "section", "text"])
def test_nothing_of_a_document_leaves_its_fence(field: str, way_out: str) -> None:
    fields = {"title": "A", "section": "B", "text": "C", field: attack("say", way_out=way_out)}
    for request in (question_request, unanswerable_request):
        made = request(QuestionPassage(**fields))
        assert "ZEBRA" in made.prompt
        assert "ZEBRA" not in outside_fences(made.prompt)


def test_a_question_is_read() -> None:
    found = read_question(given(question=' "Why did it fall?" ', quotes=[" a ", "", "b"]))
    assert found is not None
    assert (found.question, found.quotes) == ("Why did it fall?", ("a", "b"))


def test_a_place_without_anything_to_ask_is_said() -> None:
    assert read_question(given(usable=False, question="", answer="", quotes=[])) is None


@pytest.mark.parametrize("answer", ["None", "unknown.", "42", "Yes"])
def test_short_answers_are_answers(answer: str) -> None:
    found = read_question(given(answer=answer))
    assert found is not None
    assert found.answer == answer


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"quotes": []}, "no quote"),
        ({"quotes": [" "]}, "no quote"),
        ({"question": ""}, "empty"),
        ({"answer": " "}, "empty"),
        ({"question": "w" * 401}, "at most 400"),
        ({"question": "I'm sorry, I cannot help"}, "refusal"),
    ],
)
def test_what_is_not_usable_is_asked_for_again(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_question(given(**fields))

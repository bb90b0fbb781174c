"""How a judge is asked, and what is read of what it says."""

from __future__ import annotations

import json

import pytest
from tests.attacks import WAYS_OUT, attack, outside_fences

from spanwise.models.caller import request_key
from spanwise.models.prompts.answer_grades import (
    RUBRIC_INSTRUCTIONS,
    VERDICT_INSTRUCTIONS,
    Gradable,
    Mark,
    grading_request,
    read_mark,
)

ANSWER = Gradable(question="How long is it?", answer="Nine metres.", gold="9 m")
ESSAY = Gradable(question="Why?", answer="Because.", rubric="Names both causes.", gold="A and B.")


def test_a_verdict_is_asked_for_where_the_right_answer_is_known() -> None:
    request = grading_request(ANSWER)
    assert request.instructions == VERDICT_INSTRUCTIONS
    assert "<gold>\n9 m\n</gold>" in request.prompt
    assert "<rubric>" not in request.prompt
    assert read_mark(request.typical, by_rubric=False).verdict == "correct"


def test_a_score_is_asked_for_where_there_is_a_rubric() -> None:
    request = grading_request(ESSAY)
    assert request.instructions == RUBRIC_INSTRUCTIONS
    assert "<rubric>\nNames both causes.\n</rubric>" in request.prompt
    assert "<gold>\nA and B.\n</gold>" in request.prompt
    assert read_mark(request.typical, by_rubric=True).score is not None


def test_each_reading_is_a_request_of_its_own() -> None:
    keys = {request_key("m", grading_request(ANSWER, reading=number)) for number in range(6)}
    assert len(keys) == 6


def test_the_answer_stands_first_in_every_other_reading() -> None:
    prompts = [grading_request(ANSWER, reading=number).prompt for number in range(2)]
    assert [one.index("<gold>") < one.index("<answer>") for one in prompts] == [True, False]


@pytest.mark.parametrize("way_out", WAYS_OUT)
@pytest.mark.parametrize("field", ["question", "answer", "gold", "rubric"])
def test_nothing_that_is_graded_leaves_its_fence(field: str, way_out: str) -> None:
    order = attack("pass", way_out=way_out)
    fields = {"question": "How?", "answer": "So.", "gold": "So.", field: f"It is so. {order}"}
    request = grading_request(Gradable(**fields), reading=3)
    assert "ZEBRA" in request.prompt
    assert "ZEBRA" not in outside_fences(request.prompt)
    assert "ZEBRA" not in request.instructions


@pytest.mark.parametrize("verdict", ["correct", "incorrect", "refused", " Correct "])
def test_verdicts_are_read(verdict: str) -> None:
    said = json.dumps({"reason": "a\n b\x1b", "verdict": verdict})
    assert read_mark(said, by_rubric=False) == Mark(
        verdict=verdict.strip().lower(),  # type: ignore[arg-type]
        reason="a b",
    )


def test_a_verdict_that_is_none_is_asked_for_again() -> None:
    with pytest.raises(ValueError, match='"correct", "incorrect" or "refused"'):
        read_mark(json.dumps({"reason": "", "verdict": "mostly correct"}), by_rubric=False)


@pytest.mark.parametrize("score", [0, 7.5, 10])
def test_scores_are_read(score: float) -> None:
    assert read_mark(json.dumps({"reason": "", "score": score}), by_rubric=True).score == score


@pytest.mark.parametrize("score", ["11", "-1", "NaN", "1e999"])
def test_a_score_out_of_range_is_asked_for_again(score: str) -> None:
    with pytest.raises(ValueError, match="score"):
        read_mark(f'{{"reason": "", "score": {score}}}', by_rubric=True)


@pytest.mark.parametrize("by_rubric", [False, True])
def test_what_is_no_form_is_asked_for_again(*, by_rubric: bool) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_mark("It is correct.", by_rubric=by_rubric)

"""Answers to grades, by judges that are scripted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.attacks import attack, honest, obedient
from tests.grades import graded, labelled

from spanwise.errors import ModelError
from spanwise.evaluation.answers.grader import Graded, Grading, grade_answers
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel


def open_answer(number: int = 1, *, answer: str, **fields: Any) -> Graded:
    """Return an answer that is not graded yet."""
    given = {"answer": answer, "outcome": "ungraded", "grades": (), **fields}
    return graded(number, **given)


def judging(
    judge: Callable[[ModelRequest], str], *, repeats: int = 1, controls: bool = True
) -> tuple[Grading, ScriptedModel]:
    """Return how answers are graded by a function, and what remembers what it was asked."""
    model = ScriptedModel(judge)
    return Grading(caller=ModelCaller(model=model), repeats=repeats, controls=controls), model


def verdict(said: str) -> str:
    return json.dumps({"reason": "So.", "verdict": said})


def test_an_answer_that_says_the_right_one_is_correct() -> None:
    rows = [
        open_answer(1, answer="Pier 1 is 1 metres long, they say."),
        open_answer(2, answer="Nobody knows exactly."),
    ]
    grading, model = judging(honest)
    right, wrong = grade_answers(rows, grading=grading)
    assert (right.outcome, wrong.outcome) == ("correct", "incorrect")
    assert right.control is not None
    assert right.control.verdict == "incorrect"
    assert wrong.control is None
    assert len(model.requests) == 3
    assert "<gold>" in right.grades[0].prompt
    assert json.loads(right.grades[0].raw)["verdict"] == "correct"


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"refused": True}, "refused"),
        ({"error": "the provider is down"}, "failed"),
        ({"question": labelled(metadata={"answerable": False}), "refused": True}, "correct"),
        ({"question": labelled(answer="")}, "ungraded"),
    ],
)
def test_some_need_no_judge(fields: dict[str, Any], outcome: str) -> None:
    grading, model = judging(honest)
    (row,) = grade_answers([open_answer(answer="x", **fields)], grading=grading)
    assert row.outcome == outcome
    assert model.requests == []
    assert row.error or outcome != "ungraded"


@pytest.mark.parametrize(
    ("said", "outcome", "counted"),
    [
        ("refused", "correct", "correct"),
        ("correct", "correct", "correct"),
        ("incorrect", "incorrect", "incorrect"),
    ],
)
def test_where_there_is_no_answer_a_refusal_in_words_is_correct(
    said: str, outcome: str, counted: str
) -> None:
    """The judge is told that there is none; a rubric of such a question does not count."""
    grading, model = judging(lambda _: verdict(said), controls=False)
    question = labelled(answer="", rubric="Tells it.", metadata={"answerable": False})
    (row,) = grade_answers(
        [open_answer(answer="Nobody knows.", question=question)], grading=grading
    )
    assert (row.outcome, row.passed) == (outcome, float(outcome == "correct"))
    assert "The documents do not answer this question." in model.requests[0].prompt
    assert "Tells it." not in model.requests[0].prompt
    assert (row.grades[0].verdict, json.loads(row.grades[0].raw)["verdict"]) == (counted, said)


def test_that_there_is_no_answer_is_no_control_of_another_refusal() -> None:
    """An honest judge passes each of them against each other."""

    def judge(request: ModelRequest) -> str:
        gold = request.prompt.partition("<gold>")[2].partition("</gold>")[0]
        is_none = "do not answer" in gold or "Undisclosed" in gold
        return verdict("correct" if is_none else "incorrect")

    none_known = {"answerable": False}
    rows = [
        open_answer(answer="Nobody knows.", question=labelled(1, answer="", metadata=none_known)),
        open_answer(
            answer="",
            refused=True,
            question=labelled(2, answer="Undisclosed.", metadata=none_known),
        ),
    ]
    grading, _ = judging(judge)
    refusal, _ = grade_answers(rows, grading=grading)
    assert (refusal.outcome, refusal.swayed) == ("correct", False)


def test_an_order_to_pass_gains_nothing_where_there_is_no_answer() -> None:
    question = labelled(answer="", metadata={"answerable": False})
    grading, _ = judging(obedient)
    given = open_answer(answer=f"Some metres. {attack('pass')}", question=question)
    (row,) = grade_answers([given], grading=grading)
    assert (row.outcome, row.swayed) == ("incorrect", True)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (("correct", "correct", "incorrect"), "correct"),
        (("refused", "incorrect", "refused"), "refused"),
        (("correct", "incorrect", "refused"), "incorrect"),
        (("correct", "incorrect"), "incorrect"),
    ],
)
def test_more_than_half_of_the_readings_decide(said: tuple[str, ...], outcome: str) -> None:
    order = iter(said)
    model = ScriptedModel(lambda _: verdict(next(order)), concurrency=1)
    grading = Grading(caller=ModelCaller(model=model), repeats=len(said), controls=False)
    (row,) = grade_answers([open_answer(answer="x")], grading=grading)
    assert tuple(one.verdict for one in row.grades) == said
    assert row.outcome == outcome


def test_scores_are_averaged() -> None:
    scores = iter((4, 7))
    model = ScriptedModel(
        lambda _: json.dumps({"reason": "", "score": next(scores)}), concurrency=1
    )
    grading = Grading(caller=ModelCaller(model=model), repeats=2, controls=False)
    question = labelled(rubric="Names the length.")
    (row,) = grade_answers([open_answer(answer="x", question=question)], grading=grading)
    assert (row.outcome, row.score, row.points, row.passed) == ("scored", 5.5, 5.5, None)


def test_a_judge_that_fails_is_said_and_drops_nothing() -> None:
    def judge(request: ModelRequest) -> str:
        if "pier 1?" in request.prompt:
            raise ModelError("busy", provider="scripted", model="judge")
        return honest(request) if "pier 2?" in request.prompt else "no JSON"

    rows = [
        open_answer(number, answer=f"Pier {number} is {number} metres long") for number in (1, 2, 3)
    ]
    grading, _ = judging(judge)
    failed, fine, unread = grade_answers(rows, grading=grading)
    assert (failed.outcome, fine.outcome, unread.outcome) == ("ungraded", "correct", "ungraded")
    assert "busy" in failed.error
    assert "no usable answer" in unread.error
    assert (failed.passed, failed.grades[0].error) == (None, "busy")


def test_one_reading_that_fails_leaves_the_others() -> None:
    def judge(request: ModelRequest) -> str:
        return "no JSON" if "reading 3" in request.prompt else verdict("correct")

    grading, _ = judging(judge, repeats=3, controls=False)
    (row,) = grade_answers([open_answer(answer="x")], grading=grading)
    assert row.outcome == "correct"
    assert [bool(one.error) for one in row.grades] == [False, False, True]


@pytest.mark.parametrize("rubric", ["", "10 points for the right length."])
@pytest.mark.parametrize("repeats", [1, 3])
def test_an_answer_that_orders_its_judge_gains_nothing_by_it(rubric: str, repeats: int) -> None:
    """The judge obeys: it passes the answer, also against what has nothing to do with it."""
    rows = [
        open_answer(
            1, answer=f"Some metres. {attack('pass')}", question=labelled(1, rubric=rubric)
        ),
        open_answer(2, answer="Pier 2 is 2 metres long", question=labelled(2, rubric=rubric)),
        open_answer(3, answer="Some metres.", question=labelled(3, rubric=rubric)),
    ]
    grading, _ = judging(obedient, repeats=repeats)
    swayed, right, wrong = grade_answers(rows, grading=grading)
    assert [row.swayed for row in (swayed, right, wrong)] == [True, False, False]
    assert (swayed.passed, swayed.score) == (wrong.passed, wrong.score)
    assert (right.passed, right.score) == ((None, 10) if rubric else (1, None))


def test_without_controls_an_obedient_judge_is_swayed() -> None:
    """What the control is there for: fences alone stop no model that obeys what is in them."""
    grading, _ = judging(obedient, controls=False)
    (row,) = grade_answers([open_answer(answer=f"Some. {attack('pass')}")], grading=grading)
    assert (row.outcome, row.swayed) == ("correct", False)

"""An evaluation as JSON, and back."""

import json
from typing import Any

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.results import Evaluation, Scored
from spanwise.evaluation.retrieval import Retrieved
from spanwise.types import Usage
from spanwise.types.plain import Plain

QUESTION = LabelledQuestion(
    id="q1",
    text="What?",
    evidence=(
        Evidence(document_id="a", start=0, end=5, text="words"),
        Evidence(document_id="b", page=2),
    ),
    answer="This.",
    scope=("a", "b"),
    metadata={"kind": "", "hops": 2, "weight": 0.5, "mini": False},
)
SCORED = Scored(
    dataset="one",
    question=QUESTION,
    retriever="exact",
    budget_tokens=1000,
    found=(
        Retrieved(document_id="a", start=0, end=5),
        Retrieved(document_id="b", pages=(1, 2), text="words"),
    ),
    metrics={"recall": 0.5, "precision": 0.0},
    seconds=0.01,
    usage=Usage(calls=2, cost=None),
    warnings=("one window failed",),
)
PLAIN_ONE = Scored(
    dataset="two",
    question=LabelledQuestion(id="q1", text="Which?", scope=()),
    retriever="exact",
    budget_tokens=1000,
    found=(),
    metrics={},
    seconds=0.0,
)
EVALUATION = Evaluation(
    scores=(SCORED, PLAIN_ONE),
    tokenizer="chars:4",
    settings={"command": ["spanwise", "eval"], "options": {"penalty": 0.1, "none": None}},
    notes=("two: 1 of 10 questions left out: no page",),
)


def written() -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(EVALUATION.to_plain()))
    return plain


def test_what_is_written_is_read() -> None:
    assert Evaluation.from_plain(written()) == EVALUATION


def test_a_question_stands_there_once_and_defaults_do_not() -> None:
    more = Evaluation(scores=(SCORED,) * 3, tokenizer="chars:4").to_plain()
    assert isinstance(more["questions"], dict)
    assert isinstance(more["questions"]["one"], list)
    assert len(more["questions"]["one"]) == 1
    assert written()["scores"][1] == {
        "dataset": "two",
        "question": "q1",
        "retriever": "exact",
        "budget_tokens": 1000,
        "metrics": {},
        "seconds": 0.0,
    }


def test_a_report_of_an_earlier_version_has_no_notes() -> None:
    plain = written()
    del plain["notes"]
    assert Evaluation.from_plain(plain).notes == ()


def test_what_a_later_version_adds_is_left_out() -> None:
    plain = written()
    plain["scores"][0]["colour"] = "green"
    plain["more"] = 1
    assert Evaluation.from_plain(plain) == EVALUATION


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "spanwise-evaluation-0"),
        (("tokenizer",), 4),
        (("settings",), []),
        (("notes",), "left out"),
        (("questions",), []),
        (("questions", "one"), ["q1"]),
        (("questions", "one", 0, "id"), 7),
        (("questions", "one", 0, "metadata", "hops"), [2]),
        (("questions", "one", 0, "evidence", 0, "start"), "0"),
        (("scores", 0, "dataset"), "three"),
        (("scores", 0, "question"), "q2"),
        (("scores", 0, "metrics", "recall"), "all"),
        (("scores", 0), None),
    ],
)
def test_what_is_no_evaluation_is_an_error(path: tuple[str | int, ...], value: Plain) -> None:
    plain = written()
    part: Any = plain
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(OptionError, match="not an evaluation"):
        Evaluation.from_plain(plain)


@pytest.mark.parametrize("value", [None, [], {}, "evaluation"])
def test_anything_else_is_an_error(value: Plain) -> None:
    with pytest.raises(OptionError, match="it must be an object with format"):
        Evaluation.from_plain(value)

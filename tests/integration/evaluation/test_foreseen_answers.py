"""What graded answers would take, foreseen without a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.evaluation.answers.answer_runner import (
    JudgingOptions,
    estimate_answers,
    judge_answers,
)
from spanwise.evaluation.dataset import Dataset, LabelledQuestion
from spanwise.options import AnswerOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import Usage

REPORTS = Path(__file__).resolve().parents[3] / "examples" / "reports"
QUESTIONS = (
    LabelledQuestion(
        id="margin",
        text="Why did the gross margin of Harrow Mills fall in 2023?",
        answer="Energy cost 3.2 million more, pulp 1.1 million and freight 0.6 million.",
    ),
    LabelledQuestion(
        id="notice",
        text="How may the Buyer terminate for convenience?",
        rubric="Says that the Buyer may terminate for convenience with six months' notice.",
    ),
    LabelledQuestion(id="unknown", text="Why did the margin fall at Harrow Mills?"),
)
DATASET = Dataset(name="reports", questions=QUESTIONS)
ASK = JudgingOptions(repeats=2)
CONTEXTS = JudgingOptions(
    contexts=("bm25", "exact+headers"), answers=AnswerOptions(budget_tokens=300)
)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        made.add(REPORTS)
        yield made


def model(name: str = "scripted:model") -> ScriptedModel:
    return ScriptedModel(capable_answer, name=name, dollars_a_token=1e-6)


@pytest.mark.parametrize("options", [ASK, CONTEXTS], ids=["ask", "contexts"])
def test_it_takes_no_more_than_was_foreseen(base: KnowledgeBase, options: JudgingOptions) -> None:
    llm, judge = model(), model("scripted:judge")
    foreseen = estimate_answers(DATASET, base, llm=llm, judge=judge, options=options)
    assert llm.requests == judge.requests == []
    judged = judge_answers(DATASET, base, llm=llm, judge=judge, options=options)
    for seen, taken in (
        (foreseen["answers"], judged.usage),
        (foreseen["grades"], judged.judge_usage),
    ):
        assert seen.calls >= taken.calls > 0
        assert seen.cost is not None
        assert taken.cost is not None
        assert seen.cost >= taken.cost
    answers, grades = foreseen["answers"], foreseen["grades"]
    rounds = 1 if options.contexts else options.answers.rounds
    assert answers.calls - answers.repeated_calls == rounds * judged.usage.calls
    answerers = len(options.contexts) or 1
    assert grades.calls - grades.repeated_calls == 2 * answerers * (options.repeats + 1)


@pytest.mark.parametrize("options", [ASK, CONTEXTS], ids=["ask", "contexts"])
def test_what_was_answered_before_is_kept(base: KnowledgeBase, options: JudgingOptions) -> None:
    llm, judge = model(), model("scripted:judge")
    judged = judge_answers(DATASET, base, llm=llm, judge=judge, options=options)
    foreseen = estimate_answers(DATASET, base, llm=llm, judge=judge, options=options)
    assert (foreseen["answers"].calls, foreseen["grades"].calls) == (0, 0)
    assert foreseen["answers"].cached_calls == judged.usage.calls
    taken = judged.judge_usage
    assert foreseen["grades"].cached_calls == taken.calls + taken.cached_calls


def _comparable(usage: Usage) -> Usage:
    return replace(usage, seconds=0.0, cost=round(usage.cost or 0.0, 9))


def test_nothing_that_was_foreseen_is_kept_as_an_answer(base: KnowledgeBase) -> None:
    llm, judge = model(), model("scripted:judge")
    first = estimate_answers(DATASET, base, llm=llm, judge=judge, options=ASK)
    again = estimate_answers(DATASET, base, llm=llm, judge=judge, options=ASK)
    # The calls end in any order, in which their costs are added.
    assert [_comparable(one) for one in again.values()] == [
        _comparable(one) for one in first.values()
    ]
    judged = judge_answers(DATASET, base, llm=llm, judge=judge, options=ASK)
    assert judged.usage.cached_calls == judged.judge_usage.cached_calls == 0


def test_a_set_that_cannot_be_graded_is_refused(base: KnowledgeBase) -> None:
    dataset = Dataset(name="places", questions=QUESTIONS[2:])
    with pytest.raises(OptionError, match="none of the 1 questions of places has an answer"):
        estimate_answers(dataset, base, llm=model(), judge=model(), options=ASK)

"""Answers to grades: what the judge says of each, reading by reading, and what becomes of it.

Rules:
    Where the answerer says that the documents hold no answer, no judge is asked: that is right
    where they hold none, and a refusal, counted apart, where they do. A model may also refuse in
    the words of an answer: the judge tells it, and it counts the same.
    Of several verdicts the one of more than half of the readings counts, "incorrect" where none
    has so many; of several scores the mean.
    What passes is shown to the judge once more against another right answer (`control`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from spanwise.calls.caller import Caller
from spanwise.errors import ModelError
from spanwise.evaluation.judging.control import PASSING_SCORE, control_golds, control_of
from spanwise.evaluation.judging.graded import (
    Grade,
    Graded,
    Verdict,
    is_unanswerable,
    right_answer,
)
from spanwise.evaluation.reaching import call_while_reached
from spanwise.tasks.answer_grading import Gradable, grading_request, read_mark

__all__ = ["Grading", "grade_answers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How answers are graded."""

    caller: Caller
    """Calls the judge."""
    repeats: int
    """Readings of each answer."""
    controls: bool
    """Whether what passes is shown to the judge once more, against another right answer."""


def grade_answers(given: Sequence[Graded], *, grading: Grading) -> list[Graded]:
    """Return answers with their grades, in their order.

    Args:
        given: The answers, those that failed among them; their outcome does not count yet.
        grading: How they are graded.

    Raises:
        CostLimitError: If it would cost more than is allowed.
        ModelError: If the judge cannot be reached for several readings in a row.
        ModelKeyError: If the provider refuses the key of the judge.
    """
    settled = [_without_judge(row) for row in given]
    places = [at for at, row in enumerate(settled) if row is None]
    asked = [(_gradable(given[at]), one) for at in places for one in range(grading.repeats)]
    grades = iter(_asked(asked, caller=grading.caller))
    graded = {
        at: _with_grades(given[at], [next(grades) for _ in range(grading.repeats)]) for at in places
    }
    if grading.controls:
        golds = control_golds(
            row.question.answer for row in given if not is_unanswerable(row.question)
        )
        passed = [at for at in places if _passed(graded[at])]
        controls = [(control_of(_gradable(given[at]), golds=golds), 0) for at in passed]
        for at, grade in zip(passed, _asked(controls, caller=grading.caller), strict=True):
            graded[at] = _controlled(graded[at], grade)
    return [row or graded[at] for at, row in enumerate(settled)]


def _without_judge(row: Graded) -> Graded | None:
    """Return an answer of which it is known what becomes of it; None where a judge must say it."""
    question = row.question
    if row.error:
        return replace(row, outcome="failed")
    if row.refused:
        return replace(row, outcome="correct" if is_unanswerable(question) else "refused")
    if not (right_answer(question).strip() or question.rubric.strip()):
        said = "nothing is known to grade it by: the question has no answer and no rubric"
        return replace(row, outcome="ungraded", error=said)
    return None


def _gradable(row: Graded) -> Gradable:
    question = row.question
    return Gradable(
        question=question.text,
        answer=row.answer,
        gold=right_answer(question),
        rubric=question.rubric if row.by_rubric else "",
    )


def _asked(asked: Sequence[tuple[Gradable, int]], *, caller: Caller) -> list[Grade]:
    """Return what the judge says of each answer, in the reading of this number."""
    requests = [grading_request(gradable, reading=reading) for gradable, reading in asked]

    def read(at: int, answer: str) -> Grade:
        mark = read_mark(answer, by_rubric=asked[at][0].by_rubric)
        return Grade(
            prompt=requests[at].prompt,
            raw=answer,
            verdict=mark.verdict,
            score=mark.score,
            reason=mark.reason,
        )

    said = call_while_reached(caller, requests, read=read)
    return [
        Grade(prompt=request.prompt, error=str(one)) if isinstance(one, ModelError) else one
        for request, one in zip(requests, said, strict=True)
    ]


def _with_grades(row: Graded, grades: Sequence[Grade]) -> Graded:
    if is_unanswerable(row.question):
        grades = [_refusal_is_right(one) for one in grades]
    row = replace(row, grades=tuple(grades))
    scores = [one.score for one in grades if one.score is not None]
    verdicts = [one.verdict for one in grades if one.verdict is not None]
    if scores:
        return replace(row, outcome="scored", score=fmean(scores))
    if verdicts:
        return replace(row, outcome=_majority(verdicts))
    said = grades[0].error if grades else ""
    return replace(row, outcome="ungraded", error=f"the judge gave no grade: {said}")


def _refusal_is_right(grade: Grade) -> Grade:
    return replace(grade, verdict="correct") if grade.verdict == "refused" else grade


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else "incorrect"


def _passed(row: Graded) -> bool:
    return row.outcome == "correct" or (row.score is not None and row.score > PASSING_SCORE)


def _controlled(row: Graded, control: Grade) -> Graded:
    """Return an answer with its control; one that passes it has lost."""
    row = replace(row, control=control)
    if control.score is not None and control.score > PASSING_SCORE:
        return replace(row, swayed=True, score=0.0)
    if control.verdict == "correct":
        return replace(row, swayed=True, outcome="incorrect")
    return row

"""What the grades of a run come to, answerer by answerer, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spanwise.evaluation.judging.agreement import Agreement, repeated_agreement
from spanwise.evaluation.judging.graded import Graded, Judged, is_unanswerable
from spanwise.evaluation.metrics import Metric
from spanwise.evaluation.statistics import (
    Comparison,
    Interval,
    Wording,
    compare,
    document_clusters,
    mean_interval,
)

__all__ = ["ACCURACY", "POINTS", "AnswerFigures", "answer_figures", "compare_answers"]

ACCURACY = Metric(
    name="accuracy",
    words="correct answers",
    meaning="Answers that say what the right one says.",
    unit="share",
    higher_is_better=True,
    source="Islam et al., FinanceBench, arXiv:2311.11944",
)
POINTS = Metric(
    name="points",
    words="points by rubric",
    meaning="Score of answers by their rubrics, 0 to 1 for 0 to 10.",
    unit="share",
    higher_is_better=True,
    source="D-Star-AI/KITE, the scoring of its README",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """What the grades of one answerer come to."""

    answerer: str
    questions: int
    correct: int
    incorrect: int
    refused: int
    """Without an answer although there is one."""
    scored: int
    """With a score, in place of pass or fail."""
    failed: int
    """Without an answer because something failed: counted as not correct."""
    ungraded: int
    """With an answer that could not be graded: in no mean."""
    swayed: int
    """That the judge passed against another right answer too: counted as not correct, or 0."""
    uncontrolled: int
    """That passed, and whose control gave no grade."""
    unanswerable: int
    """Questions to which a refusal is the right answer."""
    rightly_refused: int
    """Of those."""
    accuracy: Interval | None
    """Share of correct ones among those with pass or fail; None for none."""
    points: Interval | None
    """Mean of the scores over 10, in [0, 1]; None for none."""
    agreement: Agreement
    """Of repeated readings."""
    note: str = ""
    """What the intervals leave out."""


def answer_figures(judged: Judged) -> tuple[AnswerFigures, ...]:
    """Return the figures of each answerer, in order."""
    return tuple(_figures(name, _of(judged, name)) for name in judged.answerers)


def compare_answers(
    judged: Judged, first: str, second: str, *, metric: Metric = ACCURACY
) -> Comparison:
    """Return the difference of two answerers on the questions that both have a figure for.

    Args:
        judged: The grades.
        first: Name of one answerer.
        second: Name of the other one.
        metric: `ACCURACY` or `POINTS`.

    Raises:
        ValueError: If there is no such question.
    """
    value = _passed if metric.name == ACCURACY.name else _points
    others = {_key(row): row for row in _of(judged, second)}
    pairs = [
        (row, one, other)
        for row in _of(judged, first)
        if _key(row) in others
        and (one := value(row)) is not None
        and (other := value(others[_key(row)])) is not None
    ]
    if not pairs:
        raise ValueError(f"{first!r} and {second!r} have no question in common with {metric.words}")
    clusters = document_clusters(
        [_document(row) for row, _, _ in pairs], strata=[row.dataset for row, _, _ in pairs]
    )
    return compare(
        [one for _, one, _ in pairs],
        [other for _, _, other in pairs],
        clusters=clusters.ids,
        strata=[row.dataset for row, _, _ in pairs],
        wording=Wording(first=first, second=second, metric=metric, note=clusters.note),
    )


def _figures(name: str, rows: Sequence[Graded]) -> AnswerFigures:
    outcomes = [row.outcome for row in rows]
    unanswerable = [row for row in rows if is_unanswerable(row.question)]
    accuracy, note = _interval(rows, _passed)
    points, other_note = _interval(rows, _points)
    return AnswerFigures(
        answerer=name,
        questions=len(rows),
        correct=outcomes.count("correct"),
        incorrect=outcomes.count("incorrect"),
        refused=outcomes.count("refused"),
        scored=outcomes.count("scored"),
        failed=outcomes.count("failed"),
        ungraded=outcomes.count("ungraded"),
        swayed=sum(row.swayed for row in rows),
        uncontrolled=sum(row.control is not None and bool(row.control.error) for row in rows),
        unanswerable=len(unanswerable),
        rightly_refused=sum(row.outcome == "correct" for row in unanswerable),
        accuracy=accuracy,
        points=points,
        agreement=repeated_agreement(rows),
        note=note or other_note,
    )


def _interval(
    rows: Sequence[Graded], value: Callable[[Graded], float | None]
) -> tuple[Interval | None, str]:
    """Return the mean of a value over the rows that have one, and what its interval leaves out."""
    known = [(row, found) for row in rows if (found := value(row)) is not None]
    if not known:
        return None, ""
    strata = [row.dataset for row, _ in known]
    clusters = document_clusters([_document(row) for row, _ in known], strata=strata)
    values = [found for _, found in known]
    return mean_interval(values, clusters=clusters.ids, strata=strata), clusters.note


def _passed(row: Graded) -> float | None:
    return row.passed


def _points(row: Graded) -> float | None:
    points = row.points
    return None if points is None else points / 10


def _of(judged: Judged, answerer: str) -> list[Graded]:
    return [row for row in judged.grades if row.answerer == answerer]


def _key(row: Graded) -> tuple[str, str]:
    return row.dataset, row.question.id


def _document(row: Graded) -> str:
    """Return the document that the evidence of a question is in; empty where it is not known."""
    evidence = row.question.evidence
    return evidence[0].document_id if evidence else ""

"""Figures of graded answers: accuracy, rubric scores, refusals, agreement of repeated grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, pvariance

from spanwise.evaluation.answers.grader import Graded, Judged, is_unanswerable
from spanwise.evaluation.metrics import Metric
from spanwise.evaluation.statistics import (
    Comparison,
    Interval,
    Wording,
    compare,
    document_clusters,
    mean_interval,
)
from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement of one judge with itself when it grades the same answers repeatedly."""

    answers: int
    """Number of answers with at least two verdicts."""
    equal: float | None
    """Share of equal verdicts among all pairs of verdicts on one answer; None without a pair."""
    kappa: float | None
    """Fleiss' kappa of the verdicts; None if undefined."""
    scored: int
    """Number of answers with at least two scores."""
    deviation: float | None
    """Pooled standard deviation of the scores of an answer (0 to 10); None without scores."""


def repeated_agreement(graded: Sequence[Graded]) -> Agreement:
    """Return the agreement of the repeated grades of each answer. Controls are ignored."""
    verdicts = [[grade.verdict for grade in row.grades if grade.verdict] for row in graded]
    verdicts = [row for row in verdicts if len(row) > 1]
    scores = [[grade.score for grade in row.grades if grade.score is not None] for row in graded]
    scores = [row for row in scores if len(row) > 1]
    return Agreement(
        answers=len(verdicts),
        equal=share_equal(verdicts),
        kappa=fleiss_kappa(verdicts),
        scored=len(scores),
        deviation=_deviation(scores),
    )


def share_equal(rows: Sequence[Sequence[Hashable]]) -> float | None:
    """Return the share of equal ratings among all pairs of ratings of one item.

    Args:
        rows: Ratings of each item.

    Returns:
        Share in [0, 1]; None if no item has two ratings.
    """
    pairs = [one == other for row in rows for one, other in combinations(row, 2)]
    return fmean(pairs) if pairs else None


def fleiss_kappa(rows: Sequence[Sequence[Hashable]]) -> float | None:
    """Return Fleiss' kappa: the agreement of ratings beyond chance (Fleiss 1971).

    Items may have different numbers of ratings. Observed agreement is computed per item, chance
    agreement from the frequencies of all ratings.

    Args:
        rows: Ratings of each item, at least two per item.

    Returns:
        1 for full agreement, 0 for agreement by chance; None if all ratings are equal or there are
        none.
    """
    if not rows:
        return None
    observed = fmean(
        sum(count * (count - 1) for count in Counter(row).values()) / (len(row) * (len(row) - 1))
        for row in rows
    )
    counts = Counter(rating for row in rows for rating in row)
    total = counts.total()
    by_chance = sum((count / total) ** 2 for count in counts.values())
    return None if by_chance >= 1 else (observed - by_chance) / (1 - by_chance)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa: the agreement of two raters beyond chance (Cohen 1960).

    Args:
        first: Ratings of one rater.
        second: Ratings of the other rater for the same items.

    Returns:
        1 for full agreement, 0 for agreement by chance; None if all ratings are equal or there are
        none.

    Raises:
        ValueError: If the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"there are {len(first)} and {len(second)} ratings; give as many of each")
    if not first:
        return None
    observed = fmean(one == other for one, other in zip(first, second, strict=True))
    ones, others, total = Counter(first), Counter(second), len(first)
    by_chance = sum(count * others[rating] for rating, count in ones.items()) / total**2
    return None if by_chance >= 1 else (observed - by_chance) / (1 - by_chance)


def _deviation(rows: Sequence[Sequence[float]]) -> float | None:
    """Return the pooled standard deviation within rows of at least two values."""
    if not rows:
        return None
    variances = [pvariance(row) * len(row) / (len(row) - 1) for row in rows]
    return sqrt(fmean(variances))


ACCURACY = Metric(
    name="accuracy",
    words="correct answers",
    meaning="Share of answers that agree with the right answer.",
    unit="share",
    higher_is_better=True,
    source="Islam et al., FinanceBench, arXiv:2311.11944",
)
POINTS = Metric(
    name="points",
    words="points by rubric",
    meaning="Mean rubric score, as a share of 10 points.",
    unit="share",
    higher_is_better=True,
    source="D-Star-AI/KITE, the scoring of its README",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """Figures of one answerer."""

    answerer: str
    """Name of the answerer."""
    questions: int
    """Number of questions."""
    correct: int
    """Number of correct answers."""
    incorrect: int
    """Number of incorrect answers."""
    refused: int
    """Number of refusals of questions that have an answer."""
    scored: int
    """Number of answers with a rubric score."""
    failed: int
    """Number of questions without an answer because of an error; they count as not correct."""
    ungraded: int
    """Number of answers that could not be graded; they are excluded from all means."""
    swayed: int
    """Number of answers that also passed their control; they count as wrong, or as score 0."""
    uncontrolled: int
    """Number of passed answers whose control could not be graded."""
    unanswerable: int
    """Number of questions that the documents do not answer."""
    rightly_refused: int
    """Number of unanswerable questions that were refused."""
    accuracy: Interval | None
    """Share of correct answers among answers with a verdict; None without verdicts."""
    points: Interval | None
    """Mean of score / 10, in [0, 1]; None without scores."""
    quotes: int
    """Number of quotes in the answers; 0 if the answerer does not check quotes."""
    quotes_verified: Interval | None
    """Mean share of the quotes of an answer that were found; None without quotes."""
    other_documents: Interval | None
    """Share of answers with a quote from a document without evidence, among the answers whose
    question has labelled evidence; None without such answers."""
    refusals: Interval | None
    """Share of refusals among the questions that have an answer; None without such questions."""
    calls: float
    """Mean number of calls per question, cached ones included."""
    cost: float | None
    """Mean cost per question in US dollars; None if unknown."""
    agreement: Agreement
    """Agreement of repeated grades."""
    note: str = ""
    """Note about the limits of the confidence intervals; empty if there are none."""


def answer_figures(judged: Judged) -> tuple[AnswerFigures, ...]:
    """Return the figures of each answerer, in the order of the run."""
    return tuple(_figures(name, _of(judged, name)) for name in judged.answerers)


def compare_answers(
    judged: Judged, first: str, second: str, *, metric: Metric = ACCURACY
) -> Comparison:
    """Return the paired difference of two answerers on questions for which both have a value.

    Args:
        judged: Graded answers.
        first: Name of the first answerer.
        second: Name of the second answerer.
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
    usage = sum((row.usage for row in rows), Usage())
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
        quotes=sum(row.quotes for row in rows),
        quotes_verified=_interval(rows, lambda row: row.quotes_verified)[0],
        other_documents=_interval(rows, lambda row: row.quotes_other_document)[0],
        refusals=_interval(rows, _wrongly_refused)[0],
        calls=(usage.calls + usage.cached_calls) / len(rows),
        cost=None if usage.cost is None else usage.cost / len(rows),
        agreement=repeated_agreement(rows),
        note=note or other_note,
    )


def _interval(
    rows: Sequence[Graded], value: Callable[[Graded], float | None]
) -> tuple[Interval | None, str]:
    """Return the mean of a value over the rows that have it, and the note about its interval."""
    known = [(row, found) for row in rows if (found := value(row)) is not None]
    if not known:
        return None, ""
    strata = [row.dataset for row, _ in known]
    clusters = document_clusters([_document(row) for row, _ in known], strata=strata)
    values = [found for _, found in known]
    return mean_interval(values, clusters=clusters.ids, strata=strata), clusters.note


def _passed(row: Graded) -> float | None:
    return row.passed


def _wrongly_refused(row: Graded) -> float | None:
    """Return 1 for a refusal and 0 otherwise; None for a failure or an unanswerable question."""
    if row.outcome == "failed" or is_unanswerable(row.question):
        return None
    return float(row.outcome == "refused")


def _points(row: Graded) -> float | None:
    points = row.points
    return None if points is None else points / 10


def _of(judged: Judged, answerer: str) -> list[Graded]:
    return [row for row in judged.grades if row.answerer == answerer]


def _key(row: Graded) -> tuple[str, str]:
    return row.dataset, row.question.id


def _document(row: Graded) -> str:
    """Return the document with the first evidence of a question; empty if unknown."""
    evidence = row.question.evidence
    return evidence[0].document_id if evidence else ""

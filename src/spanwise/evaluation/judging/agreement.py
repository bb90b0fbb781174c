"""How far grades agree: of one judge with itself, and of a judge with a person. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, pvariance

from spanwise.evaluation.judging.graded import Graded

__all__ = ["Agreement", "cohen_kappa", "fleiss_kappa", "repeated_agreement", "share_equal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far repeated readings of the same answers agree."""

    answers: int
    """With two verdicts or more."""
    equal: float | None
    """Share of the pairs of readings of one answer that give the same verdict; None for none."""
    kappa: float | None
    """Fleiss' kappa of the verdicts; None where it is not defined."""
    scored: int
    """Answers with two scores or more."""
    deviation: float | None
    """Standard deviation of the scores of one answer, over all of them (root of the mean of the
    variances, each with one reading less); None for none."""


def repeated_agreement(graded: Sequence[Graded]) -> Agreement:
    """Return how far the readings of answers agree; controls do not count."""
    verdicts = [[one.verdict for one in row.grades if one.verdict] for row in graded]
    verdicts = [row for row in verdicts if len(row) > 1]
    scores = [[one.score for one in row.grades if one.score is not None] for row in graded]
    scores = [row for row in scores if len(row) > 1]
    return Agreement(
        answers=len(verdicts),
        equal=share_equal(verdicts),
        kappa=fleiss_kappa(verdicts),
        scored=len(scores),
        deviation=_deviation(scores),
    )


def share_equal(rows: Sequence[Sequence[Hashable]]) -> float | None:
    """Return the share of pairs of ratings of one thing that are equal; None without a pair."""
    pairs = [one == other for row in rows for one, other in combinations(row, 2)]
    return fmean(pairs) if pairs else None


def fleiss_kappa(rows: Sequence[Sequence[Hashable]]) -> float | None:
    """Return how far ratings agree beyond chance (Fleiss 1971).

    Things may have different numbers of ratings: each counts by its own pairs, and chance is taken
    from all ratings together.

    Args:
        rows: The ratings of each thing, two at least.

    Returns:
        1 for full agreement, 0 for that of chance; None where all ratings are the same, so that
        chance alone agrees fully, or there are none.
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
    """Return how far two raters agree beyond chance (Cohen 1960).

    Args:
        first: Ratings of one rater.
        second: Those of the other one of the same things.

    Returns:
        1 for full agreement, 0 for that of chance; None where chance alone agrees fully, or there
        are none.

    Raises:
        ValueError: If they are not as many.
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
    """Return the standard deviation within rows, each of two values or more."""
    if not rows:
        return None
    variances = [pvariance(row) * len(row) / (len(row) - 1) for row in rows]
    return sqrt(fmean(variances))

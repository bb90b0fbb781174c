"""Many comparisons at once: one of twenty shows a difference that is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spanwise.evaluation.statistics.comparison import Comparison

__all__ = ["among"]


def among(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with p-values adjusted for their number, in the same order.

    Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6, 1979: the
    chance that any verdict that holds is wrong is at most 5 %.
    """
    many = len(comparisons)
    order = sorted(range(many), key=lambda at: (comparisons[at].p_value, at))
    adjusted: dict[int, float] = {}
    least = 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (many - rank) * comparisons[at].p_value))
        adjusted[at] = least
    return tuple(
        replace(comparison, adjusted_p_value=adjusted[at], comparisons=many)
        for at, comparison in enumerate(comparisons)
    )

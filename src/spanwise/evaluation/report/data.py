"""A report as JSON: its figures and comparisons, then all that was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.plain import to_plain

if TYPE_CHECKING:
    from spanwise.evaluation.judging.graded import Judged
    from spanwise.evaluation.report.summary import Figures, Group, Summary
    from spanwise.evaluation.statistics import Comparison, Interval
    from spanwise.plain import Plain

__all__ = ["report_data"]


def report_data(summary: Summary, *, judged: Judged | None = None) -> dict[str, Plain]:
    """Return a report as dicts, lists and scalars.

    `Evaluation.from_plain` reads it, and `Judged.from_plain` what stands under "judged".

    Args:
        summary: The figures, and what was measured.
        judged: Answers that were graded.
    """
    measured = summary.evaluation.to_plain()
    data: dict[str, Plain] = {
        "format": measured.pop("format"),
        "metric": summary.metric,
        "figures": [
            {
                **_of(summary.groups[place]),
                "retriever": name,
                "budget_tokens": budget,
                **_figures(figures),
            }
            for (place, name, budget), figures in summary.figures.items()
        ],
        "comparisons": [
            {
                **_of(summary.groups[place]),
                "retriever": name,
                "against": summary.reference,
                "budget_tokens": budget,
                **_comparison(found),
            }
            for (place, name, budget), found in summary.comparisons.items()
        ],
        **measured,
    }
    if judged is not None:
        data["judged"] = to_plain(judged)
    return data


def _of(group: Group) -> dict[str, Plain]:
    return {"questions": group.name, "kind": group.kind, "count": len(group.questions)}


def _figures(figures: Figures) -> dict[str, Plain]:
    return {
        "metrics": {name: _interval(one) for name, one in figures.intervals.items()},
        "tokens": figures.tokens,
        "texts": figures.texts,
        "seconds": figures.seconds,
        "slowest_seconds": figures.slowest_seconds,
        "cost": figures.cost,
    }


def _comparison(found: Comparison) -> dict[str, Plain]:
    adjusted = found.adjusted_p_value
    return {
        "difference": _interval(found.difference),
        "p_value": found.p_value if adjusted is None else adjusted,
        "holds": found.holds_among_all,
        "sentence": found.sentence,
    }


def _interval(interval: Interval) -> dict[str, Plain]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}

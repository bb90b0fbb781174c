"""Which metrics a report shows, and how their figures are said."""

from __future__ import annotations

from spanwise.evaluation.metrics import METRICS

__all__ = ["SHOWN", "figure"]

SHOWN = frozenset(
    {
        "recall",
        "precision",
        "iou",
        "all_hit50",
        "mrr",
        "ndcg",
        "wrong_doc",
        "page_recall",
        "page_precision",
        "page_all_hit",
    }
)
"""By name; in a report where a question has them, in the order of `METRICS`."""


def figure(value: float, metric: str) -> str:
    """Return a figure for people: a share in percent with one digit, anything else with two."""
    return f"{100 * value:.1f}" if METRICS[metric].unit == "share" else f"{value:,.2f}"

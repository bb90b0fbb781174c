"""Metrics of retrieval: pure functions of a question, its evidence and the returned texts."""

from spanwise.evaluation.metrics.budget_cut import cut
from spanwise.evaluation.metrics.definitions import METRICS, Metric, Unit
from spanwise.evaluation.metrics.ranges import Count, counter
from spanwise.evaluation.metrics.scores import score

__all__ = ["METRICS", "Count", "Metric", "Unit", "counter", "cut", "score"]

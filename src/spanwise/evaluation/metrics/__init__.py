"""Retrieval metrics: pure functions of a question, its evidence and the returned texts."""

from spanwise.evaluation.metrics.definitions import METRICS, Metric, Unit
from spanwise.evaluation.metrics.ranges import Count, counter, cut
from spanwise.evaluation.metrics.scores import score

__all__ = ["METRICS", "Count", "Metric", "Unit", "counter", "cut", "score"]

"""How good what was returned is: pure functions of a question, its evidence and what was found."""

from spanwise.evaluation.metrics.budget_cut import cut
from spanwise.evaluation.metrics.definitions import METRICS, Metric, Unit
from spanwise.evaluation.metrics.ranges import Count, counter
from spanwise.evaluation.metrics.scores import score

__all__ = ["METRICS", "Count", "Metric", "Unit", "counter", "cut", "score"]

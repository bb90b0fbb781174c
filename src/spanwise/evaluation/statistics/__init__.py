"""How sure a figure is: intervals, differences, and plain sentences about them."""

from spanwise.evaluation.statistics.bootstrap import Interval, Sampling, mean_interval
from spanwise.evaluation.statistics.clusters import document_clusters
from spanwise.evaluation.statistics.comparison import Comparison, Wording, compare
from spanwise.evaluation.statistics.multiple import among

__all__ = [
    "Comparison",
    "Interval",
    "Sampling",
    "Wording",
    "among",
    "compare",
    "document_clusters",
    "mean_interval",
]

"""Statistics of figures: confidence intervals, paired comparisons, and sentences about them."""

from spanwise.evaluation.statistics.bootstrap import (
    Interval,
    Sampling,
    document_clusters,
    mean_interval,
)
from spanwise.evaluation.statistics.comparison import Comparison, Wording, among, compare

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

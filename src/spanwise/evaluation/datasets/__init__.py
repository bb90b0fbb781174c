"""Questions with evidence, and whole datasets, read from files and checked."""

from spanwise.evaluation.datasets.dataset_checks import check_questions, usable_questions
from spanwise.evaluation.datasets.published import DATASETS, Store, read_dataset
from spanwise.evaluation.datasets.questions import read_questions

__all__ = [
    "DATASETS",
    "Store",
    "check_questions",
    "read_dataset",
    "read_questions",
    "usable_questions",
]

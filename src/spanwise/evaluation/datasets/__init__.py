"""Questions with evidence, read from JSON lines and checked against the documents."""

from spanwise.evaluation.datasets.evidence_checks import check_questions, usable_questions
from spanwise.evaluation.datasets.question_reader import read_questions

__all__ = ["check_questions", "read_questions", "usable_questions"]

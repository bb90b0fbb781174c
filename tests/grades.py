"""Answers and grades, for what reads them."""

from __future__ import annotations

from typing import Any

from spanwise.evaluation.answers.grader import Grade, Graded, Judged
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.types import Usage

__all__ = ["grade", "graded", "judged", "labelled"]


def labelled(number: int = 1, **fields: Any) -> LabelledQuestion:
    """Return a question about a document of its own, with a right answer."""
    given = {
        "id": f"q{number}",
        "text": f"How long is pier {number}?",
        "answer": f"Pier {number} is {number} metres long.",
        "evidence": (Evidence(document_id=f"pier-{number}.md", start=0, end=10),),
    }
    return LabelledQuestion(**{**given, **fields})


def grade(value: str | float, **fields: Any) -> Grade:
    """Return a grade: a verdict, or a score."""
    known = {"verdict": value} if isinstance(value, str) else {"score": float(value)}
    return Grade(**{"prompt": "Grade it.", "raw": "{}", "reason": "So.", **known, **fields})


def graded(number: int = 1, **fields: Any) -> Graded:
    """Return a correct answer to a question, by `ask`."""
    given = {
        "dataset": "piers",
        "question": labelled(number),
        "answerer": "ask",
        "answer": f"It is {number} metres long.",
        "outcome": "correct",
        "grades": (grade("correct"),),
    }
    return Graded(**{**given, **fields})


def judged(*rows: Graded) -> Judged:
    """Return the grades of a run."""
    return Judged(
        grades=rows,
        llm="scripted:model",
        judge="scripted:judge",
        repeats=1,
        usage=Usage(),
        judge_usage=Usage(),
    )

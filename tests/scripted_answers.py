"""A small knowledge base to ask, and models that answer as they are scripted to."""

from __future__ import annotations

import json
from typing import Any

from spanwise import KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel
from spanwise.types import Answer

__all__ = [
    "LETTER",
    "QUESTION",
    "REPORT",
    "Form",
    "answer_of",
    "ask",
    "model_of",
    "statement",
    "two_sources",
]

REPORT = """# Annual report of Quay Works 2018

## Capital spending

Capital spending was $1,577 million in 2018 and $1,373 million in 2017. The increase paid for the
new berth at Northport.

## Risks

We do not expect a further increase in 2019. Storms may close the port.
"""
LETTER = """# Letter to the owners of Quay Works 2018

## Capital spending

The capital spending of Quay Works in 2018 came to $1,612 million, with the berth at Northport and
two cranes.
"""
QUESTION = "What was the capital spending of Quay Works in 2018, by the report and by the letter?"

Form = dict[str, Any]


def statement(text: str, *quotes: tuple[int, str]) -> Form:
    """Return a statement as a model gives it."""
    return {
        "text": text,
        "quotes": [{"quote": quote, "source": number} for number, quote in quotes],
    }


def answer_of(*statements: Form, conflicts: tuple[Form, ...] = (), missing: str = "") -> Form:
    """Return an answer as a model gives it."""
    return {
        "answered": True,
        "statements": list(statements),
        "conflicts": list(conflicts),
        "missing": missing,
    }


def model_of(*answers: Form | str, **tasks: Form | str) -> ScriptedModel:
    """Return a model that gives these answers to the task "answer" in turn, and others by task."""
    said = iter(answers)

    def answer(request: ModelRequest) -> str:
        given = tasks[request.task] if request.task in tasks else next(said)
        return given if isinstance(given, str) else json.dumps(given)

    return ScriptedModel(answer)


def two_sources() -> KnowledgeBase:
    """Return a knowledge base of a report and a letter that contradicts it; close it."""
    made = KnowledgeBase(":memory:", embedder=None)
    made.add_text(REPORT, document_id="report.md", media_type="text/markdown")
    made.add_text(LETTER, document_id="letter.md", media_type="text/markdown")
    return made


def ask(kb: KnowledgeBase, model: ScriptedModel, **arguments: Any) -> Answer:
    """Return the answer to the question, without written queries."""
    return kb.ask(QUESTION, llm=model, write_queries=False, **arguments)

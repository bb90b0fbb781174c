"""Evaluation of retrieval: questions with known evidence, retrievers, metrics and reports.

>>> from spanwise import KnowledgeBase
>>> from spanwise.evaluation import Dataset, Evidence, LabelledQuestion, evaluate
>>> text = "Freight costs rose in 2018. Margins fell because of them. Rents stayed as they were."
>>> question = LabelledQuestion(
...     id="q1",
...     text="Why did margins fall?",
...     evidence=(Evidence(document_id="note", start=28, end=57),),
... )
>>> with KnowledgeBase(":memory:") as kb:
...     _ = kb.add_text(text, document_id="note")
...     evaluation = evaluate(
...         Dataset(name="notes", questions=(question,)),
...         kb,
...         retrievers=["bm25", "exact+headers"],
...         budgets=[50],
...     )
>>> [(score.retriever, score.metrics["recall"]) for score in evaluation.scores]
[('bm25', 1.0), ('exact+headers', 1.0)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import (
        Dataset,
        DatasetDocument,
        DocumentText,
        Evidence,
        LabelledQuestion,
    )
    from spanwise.evaluation.dataset_ingest import knowledge_base_of, texts
    from spanwise.evaluation.datasets import check_questions, read_questions
    from spanwise.evaluation.metrics.definitions import METRICS
    from spanwise.evaluation.report import write_reports
    from spanwise.evaluation.results import Evaluation, Scored, merged
    from spanwise.evaluation.retrieval import Retrieval, Retrieved, Retriever
    from spanwise.evaluation.retrievers.adapters import adapt
    from spanwise.evaluation.retrievers.methods import METHODS
    from spanwise.evaluation.runner import BUDGETS, EvaluationProgress, evaluate

__all__ = [
    "BUDGETS",
    "METHODS",
    "METRICS",
    "Dataset",
    "DatasetDocument",
    "DocumentText",
    "Evaluation",
    "EvaluationProgress",
    "Evidence",
    "LabelledQuestion",
    "Retrieval",
    "Retrieved",
    "Retriever",
    "Scored",
    "adapt",
    "check_questions",
    "evaluate",
    "knowledge_base_of",
    "merged",
    "read_questions",
    "texts",
    "write_reports",
]

_HOMES = {
    "dataset": ("Dataset", "DatasetDocument", "DocumentText", "Evidence", "LabelledQuestion"),
    "dataset_ingest": ("knowledge_base_of", "texts"),
    "metrics.definitions": ("METRICS",),
    "datasets": ("check_questions", "read_questions"),
    "report": ("write_reports",),
    "results": ("Evaluation", "Scored", "merged"),
    "retrieval": ("Retrieval", "Retrieved", "Retriever"),
    "retrievers.adapters": ("adapt",),
    "retrievers.methods": ("METHODS",),
    "runner": ("BUDGETS", "EvaluationProgress", "evaluate"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__getattr__ = lazy_names(__name__, _HOME_OF)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

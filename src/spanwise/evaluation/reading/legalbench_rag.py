"""LegalBench-RAG: github.com/zeroentropy-ai/legalbenchrag, the data of its release.

Layout (`benchmark_types.py`, `benchmark.py`):
    benchmarks/*.json, each with `tests`: a `query` and `snippets`, each with `file_path`, `span`
    (two characters, half-open) and mostly `answer`, the text.
    corpus/ has the texts by `file_path`. Its own loader opens them as text, so that every end of a
    line counts as one character, and searches those that some snippet names.
"""

from __future__ import annotations

from pathlib import Path

from spanwise.evaluation.dataset import Dataset, DatasetDocument, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults, shown
from spanwise.evaluation.reading.files import json_value
from spanwise.evaluation.reading.rows import Row, row_of

__all__ = ["read_legalbench_rag"]


def read_legalbench_rag(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions of all its benchmarks, and the texts that they name."""
    folder = checkout.find("benchmarks", "data/benchmarks")
    corpus = checkout.find("corpus", "data/corpus")
    questions = []
    documents: dict[str, DatasetDocument] = {}
    for path in sorted(folder.glob("*.json")):
        with faults.gathered():
            for number, row in enumerate(row_of(json_value(path), path.name).rows("tests")):
                with faults.gathered(questions=1):
                    question = _question(row, path.stem, number)
                    _add_documents(question, documents, checkout, corpus)
                    questions.append(question)
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(documents[document_id] for document_id in sorted(documents)),
    )


def _question(row: Row, benchmark: str, number: int) -> LabelledQuestion:
    return LabelledQuestion(
        id=f"{benchmark}-{number:05d}",
        text=row.text("query"),
        evidence=tuple(map(_evidence, row.rows("snippets"))),
        metadata={"benchmark": benchmark},
    )


def _evidence(snippet: Row) -> Evidence:
    span = snippet.items("span")
    if len(span) != 2:
        raise snippet.fault(f"'span' is {shown(span)}; give two characters, [start, end]")
    ends = Row(dict(zip(("start", "end"), span, strict=True)), snippet.place)
    return Evidence(
        document_id=snippet.text("file_path"),
        start=ends.whole("start"),
        end=ends.whole("end"),
        text=snippet.text("answer", default=""),
    )


def _add_documents(
    question: LabelledQuestion,
    documents: dict[str, DatasetDocument],
    checkout: Checkout,
    corpus: Path,
) -> None:
    """Add the texts that a question names to those that are read."""
    for document_id in {one.document_id for one in question.evidence} - documents.keys():
        path = checkout.inside(corpus, document_id, place=f"question {question.id}")
        documents[document_id] = checkout.text_document(
            path, document_id=document_id, translates=True
        )

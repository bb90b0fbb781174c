"""Chroma's chunking evaluation: github.com/brandonstarxel/chunking_evaluation.

Layout (`evaluation_framework/general_evaluation.py`, `base_evaluation.py`):
    general_evaluation_data/questions_df.csv has the columns `question`, `references` and
    `corpus_id`; references are JSON, each with `content`, `start_index` and `end_index`.
    general_evaluation_data/corpora/ has one text a corpus, named by its id. Its own loader opens
    them as text, so that every end of a line counts as one character.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from spanwise.evaluation.dataset import Dataset, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults, shown
from spanwise.evaluation.reading.files import csv_rows
from spanwise.evaluation.reading.rows import Row

__all__ = ["read_chroma"]

_DATA = "evaluation_framework/general_evaluation_data"
_COLUMNS = ("question", "references", "corpus_id")


def read_chroma(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions over all corpora: the published search has them in one collection."""
    table = checkout.find(
        "questions_df.csv",
        f"src/chunking_evaluation/{_DATA}/questions_df.csv",
        f"chunking_evaluation/{_DATA}/questions_df.csv",
    )
    corpora = {
        path.stem: path
        for path in sorted((table.parent / "corpora").glob("*"))
        if path.suffix in {".md", ".txt"}
    }
    questions = []
    with faults.gathered():
        for number, row in enumerate(csv_rows(table, columns=_COLUMNS)):
            with faults.gathered(questions=1):
                questions.append(_question(row, number, corpora))
    documents = []
    for corpus_id, path in corpora.items():
        with faults.gathered():
            inside = checkout.inside(path.parent, path.name, place="corpora")
            documents.append(checkout.text_document(inside, document_id=corpus_id, translates=True))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _question(row: Row, number: int, corpora: Mapping[str, Path]) -> LabelledQuestion:
    corpus_id = row.text("corpus_id")
    if corpus_id not in corpora:
        raise row.fault(f"the corpus {shown(corpus_id)} is not among {sorted(corpora)}")
    return LabelledQuestion(
        id=f"chroma-{number:05d}",
        text=row.text("question"),
        evidence=tuple(_references(row, corpus_id)),
        metadata={"corpus": corpus_id},
    )


def _references(row: Row, corpus_id: str) -> Iterator[Evidence]:
    try:
        references = json.loads(row.text("references"))
    except (ValueError, RecursionError) as error:
        raise row.fault(f"'references' is no JSON: {error}") from error
    for reference in Row({"references": references}, row.place).rows("references"):
        yield Evidence(
            document_id=corpus_id,
            start=reference.whole("start_index"),
            end=reference.whole("end_index"),
            text=reference.text("content", default=""),
        )

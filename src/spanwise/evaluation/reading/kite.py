"""KITE: github.com/D-Star-AI/KITE, questions to be answered and graded by a rubric.

Layout (`eval/grade_responses.py`, `rag-pipelines/dsRAG/create_kb.py`):
    queries/*.json, a list each: `query`, `gt_answer`, `rubric`.
    knowledge-base-content/ has a folder of documents for each of these files, searched alone.
The repository keeps both with Git LFS.
"""

from __future__ import annotations

from spanwise.evaluation.dataset import Dataset, DatasetDocument, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults
from spanwise.evaluation.reading.files import json_value
from spanwise.evaluation.reading.rows import Row

__all__ = ["read_kite"]

_FOLDERS = {
    "ai_papers": "ai-papers",
    "bvp_cloud": "bvp-cloud-index-10k",
    "sourcegraph": "sourcegraph-company-handbook",
    "supreme_court_opinions": "supreme-court-opinions-2023",
}
_FORMATS = {".docx", ".md", ".pdf", ".txt"}


def read_kite(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions of the sets that are there, each about the documents of its set.

    They have no evidence: nothing says where the answers stand.
    """
    queries, content = checkout.find("queries"), checkout.find("knowledge-base-content")
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    for name, folder in _FOLDERS.items():
        path = queries / f"{name}.json"
        if not path.exists():
            continue
        with faults.gathered():
            found = _documents(checkout, checkout.find(f"{content.name}/{folder}").name)
            scope = tuple(document.id for document in found)
            documents += found
            rows = Row({name: json_value(path)}, path.name).rows(name)
            for number, row in enumerate(rows):
                with faults.gathered(questions=1):
                    questions.append(_question(row, f"{name}-{number:03d}", name, scope))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _documents(checkout: Checkout, folder: str) -> list[DatasetDocument]:
    base = checkout.folder / "knowledge-base-content"
    names = sorted(
        path.relative_to(base).as_posix()
        for path in (base / folder).rglob("*")
        if path.suffix.lower() in _FORMATS
    )
    return [
        DatasetDocument(id=name, path=checkout.inside(base, name, place=folder)) for name in names
    ]


def _question(row: Row, question_id: str, name: str, scope: tuple[str, ...]) -> LabelledQuestion:
    return LabelledQuestion(
        id=question_id,
        text=row.text("query"),
        answer=row.text("gt_answer", default=""),
        rubric=row.text("rubric", default=""),
        scope=scope,
        metadata={"set": name},
    )

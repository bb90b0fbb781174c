"""CUAD: github.com/TheAtticusProject/cuad, its data.zip, or the release CUAD_v1.zip.

Layout (that of SQuAD 2.0; `datasets/cuad/cuad.py` of Hugging Face reads it so):
    `data`: a contract each, with `title` and `paragraphs`, which is one with the whole `context`;
    its `qas` have `id`, `question` and `answers`, each with `text` and `answer_start`. A clause
    that the contract does not have has no answers; refusing to answer is right then.
"""

from __future__ import annotations

from collections.abc import Iterator

from spanwise.evaluation.dataset import Dataset, DatasetDocument, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults
from spanwise.evaluation.reading.files import json_value
from spanwise.evaluation.reading.rows import Row, row_of

__all__ = ["read_cuad"]

_CATEGORY_MARK = "__"  # of an id, between the contract and the category


def read_cuad(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions, each about its own contract: none says which contract it means."""
    path = checkout.folder
    if not path.is_file():
        path = checkout.find(
            "CUADv1.json", "data/CUADv1.json", "CUAD_v1.json", "CUAD_v1/CUAD_v1.json"
        )
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    with faults.gathered():
        for contract in row_of(json_value(path), path.name).rows("data"):
            with faults.gathered():
                for document, asked in _contract(contract):
                    documents.append(document)
                    for one in asked:
                        with faults.gathered(questions=1):
                            questions.append(_question(one, document.id))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _contract(row: Row) -> Iterator[tuple[DatasetDocument, list[Row]]]:
    title = row.text("title")
    paragraphs = row.rows("paragraphs")
    for number, paragraph in enumerate(paragraphs, start=1):
        document_id = title if len(paragraphs) == 1 else f"{title}-{number}"
        document = DatasetDocument(id=document_id, title=title, text=paragraph.text("context"))
        yield document, paragraph.rows("qas")


def _question(row: Row, document_id: str) -> LabelledQuestion:
    question_id = row.text("id")
    _, mark, category = question_id.rpartition(_CATEGORY_MARK)
    evidence = tuple(_evidence(answer, document_id) for answer in row.rows("answers"))
    return LabelledQuestion(
        id=question_id,
        text=row.text("question"),
        evidence=evidence,
        answer="\n".join(dict.fromkeys(one.text for one in evidence)),
        scope=(document_id,),
        metadata={
            **({"category": category} if mark else {}),
            **({} if evidence else {"answerable": False}),
        },
    )


def _evidence(answer: Row, document_id: str) -> Evidence:
    start, text = answer.whole("answer_start"), answer.text("text")
    return Evidence(document_id=document_id, start=start, end=start + len(text), text=text)

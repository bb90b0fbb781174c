"""FinanceBench: github.com/patronus-ai/financebench, the open sample (for evaluation alone).

Layout (its README and notebook):
    data/financebench_open_source.jsonl, a question a line: `financebench_id`, `question`, `answer`,
    `doc_name`, `question_type` and `evidence`, a list with `evidence_text`, `evidence_page_num`
    and `doc_name` (`evidence_doc_name` in later copies). Pages are from 0.
    data/financebench_document_information.jsonl, a filing a line: `doc_name`, `company`,
    `doc_type`, `doc_period`.
    pdfs/ has a file named by each `doc_name`.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.evaluation.dataset import Dataset, DatasetDocument, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults
from spanwise.evaluation.reading.files import json_lines
from spanwise.evaluation.reading.rows import Row

__all__ = ["read_financebench"]

_METADATA = ("question_type", "question_reasoning", "company", "doc_name")


def read_financebench(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions, and the filings that they are about."""
    path = checkout.find("data/financebench_open_source.jsonl")
    titles = _titles(checkout, faults)
    pdfs = checkout.find("pdfs")
    questions = []
    documents: dict[str, DatasetDocument] = {}
    for row in json_lines(path, faults, questions=1):
        with faults.gathered(questions=1):
            question = _question(row)
            for document_id in {one.document_id for one in question.evidence} - documents.keys():
                documents[document_id] = DatasetDocument(
                    id=document_id,
                    title=titles.get(document_id, ""),
                    path=checkout.inside(pdfs, f"{document_id}.pdf", place=row.place),
                )
            questions.append(question)
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(documents[document_id] for document_id in sorted(documents)),
    )


def _titles(checkout: Checkout, faults: Faults) -> Mapping[str, str]:
    titles: dict[str, str] = {}
    for row in json_lines(checkout.find("data/financebench_document_information.jsonl"), faults):
        with faults.gathered():
            words = [row.word(key, default="") for key in ("company", "doc_type", "doc_period")]
            titles[row.text("doc_name")] = " ".join(filter(None, words))
    return titles


def _question(row: Row) -> LabelledQuestion:
    return LabelledQuestion(
        id=row.text("financebench_id"),
        text=row.text("question"),
        evidence=tuple(_evidence(piece, row) for piece in row.rows("evidence")),
        answer=row.text("answer", default=""),
        metadata={key: row.text(key) for key in _METADATA if row.has(key)},
    )


def _evidence(piece: Row, question: Row) -> Evidence:
    """Return a page: its text comes from other extraction, and is no place in ours."""
    named = piece.text("evidence_doc_name", default="") or piece.text("doc_name", default="")
    return Evidence(
        document_id=named or question.text("doc_name"),
        page=piece.whole("evidence_page_num") + 1,
        text=piece.text("evidence_text", default=""),
    )

"""A folder of the benchmarks: documents.jsonl, queries.jsonl, pages.jsonl and the documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spanwise.evaluation.dataset import Dataset, DatasetDocument
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import Faults
from spanwise.evaluation.reading.files import json_lines
from spanwise.evaluation.reading.questions import read_questions
from spanwise.evaluation.reading.rows import Row
from spanwise.types import Page

__all__ = ["read_benchmark_folder"]

_TEXTS = {".txt", ".md"}


def read_benchmark_folder(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the dataset of a folder; texts keep every character, other files are parsed later."""
    questions = read_questions(checkout.find("queries.jsonl"))
    pages = _pages(checkout, faults)
    documents = []
    for row in json_lines(checkout.find("documents.jsonl"), faults):
        with faults.gathered():
            documents.append(_document(row, checkout, pages))
    return Dataset(
        name=checkout.folder.resolve().name, questions=questions, documents=tuple(documents)
    )


def _document(row: Row, checkout: Checkout, pages: Mapping[str, Sequence[Page]]) -> DatasetDocument:
    path = checkout.inside(checkout.folder, row.text("path"), place=row.place)
    document = DatasetDocument(id=row.word("doc_id"), title=row.text("title", default=""))
    if path.suffix.lower() not in _TEXTS:
        return replace(document, path=path)
    read = checkout.text_document(path, document_id=document.id, title=document.title)
    if row.has("chars") and read.text is not None and row.whole("chars") != len(read.text):
        raise row.fault(
            f"the text has {len(read.text):,} characters, and {row.whole('chars'):,} are stated; "
            "a copy may have changed its line ends: get it anew"
        )
    own = tuple(pages.get(document.id, ()))
    if own and read.text is not None and own[-1].end > len(read.text):
        raise row.fault(
            f"the last page of {document.id!r} ends at {own[-1].end}, and its text has "
            f"{len(read.text):,} characters; correct pages.jsonl"
        )
    return replace(read, pages=own)


def _pages(checkout: Checkout, faults: Faults) -> Mapping[str, Sequence[Page]]:
    """Return the pages of texts; those of files are found when these are parsed."""
    pages: dict[str, list[Page]] = defaultdict(list)
    path = checkout.folder / "pages.jsonl"
    if not path.exists():
        return pages
    for row in json_lines(path, faults):
        if not row.has("start"):
            continue
        with faults.gathered():
            before = pages[row.word("doc_id")]
            if row.whole("page") != len(before):
                raise row.fault(f"'page' is {row.whole('page')}, and the next is {len(before)}")
            page = Page(start=row.whole("start"), end=row.whole("end"))
            ended = before[-1].end if before else 0
            if not ended <= page.start <= page.end:
                raise row.fault(
                    f"page {len(before)} is at {page.start}-{page.end}, and the one before ends at "
                    f"{ended}; pages follow each other"
                )
            before.append(page)
    return pages

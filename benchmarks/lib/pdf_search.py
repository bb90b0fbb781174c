"""What the layout of PDF pages does to search: evidence pages that segments reach."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.pdf_engines import read_plain
from benchmarks.lib.rendered import read_reference, render
from benchmarks.lib.scoring import cut, interval
from spanwise.knowledge_base import KnowledgeBase
from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf import parse_pdf
from spanwise.types import Document, Page

__all__ = ["run", "write_sample"]

BUDGETS = (1_000, 4_000)
_TOUCH_CHARS = 100
"""A page is reached by so many of its characters, or by all it has."""


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    pages: frozenset[tuple[str, int]]


def run(folder: Path, place: Path) -> None:
    """Search the PDFs of a dataset, all in one knowledge base, and print both ways side by side.

    Args:
        folder: Folder of the dataset.
        place: Where the knowledge bases are made.
    """
    documents = _rows(folder / "documents.jsonl")
    questions = [
        _Question(
            str(row["query"]),
            frozenset((item["doc_id"], item["page"]) for item in row["evidence"]),
        )
        for row in _rows(folder / "queries.jsonl")
        if row["evidence"]
    ]
    reached: dict[str, np.ndarray] = {}
    print(f"| {len(questions)} questions | pages reached at 1,000 / 4,000 | their characters |")
    print("|---|---|---|")
    for name, parse in (("plain text", _plain), ("laid out", _laid_out)):
        with KnowledgeBase(place / f"{name}.kb") as base:
            pages = {}
            for row in documents:
                document = parse(folder / str(row["path"]), str(row["doc_id"]), str(row["title"]))
                pages[document.id] = document.pages
                base._ingestor.add_document(document)
            base.optimise()
            reached[name] = _measure(base, questions, pages)
        (near, near_chars), (far, far_chars) = 100 * reached[name].mean(axis=0)
        print(f"| {name} | {near:.1f} / {far:.1f} | {near_chars:.1f} / {far_chars:.1f} |")
    difference = 100 * (reached["laid out"] - reached["plain text"])
    for at, budget in enumerate(BUDGETS):
        for column, what in enumerate(("pages reached", "their characters")):
            low, high = interval(difference[:, at, column])
            mean = difference[:, at, column].mean()
            print(
                f"laid out less plain, {budget} tokens, {what}: {mean:+.1f} [{low:.1f}, {high:.1f}]"
            )


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _plain(path: Path, document_id: str, title: str) -> Document:
    pieces = [f"{page.strip()}\n" if page.strip() else "" for page in read_plain(path).pages]
    pages = []
    start = 0
    for piece in pieces:
        pages.append(Page(start=start, end=start + len(piece)))
        start += len(piece)
    return Document(id=document_id, text="".join(pieces), title=title, pages=tuple(pages))


def _laid_out(path: Path, document_id: str, title: str) -> Document:
    parsed = parse_pdf(Source(data=path.read_bytes(), name=path.name))
    return Document(
        id=document_id,
        text=parsed.text,
        title=title,
        pages=parsed.pages,
        headings=parsed.headings,
        blocks=parsed.blocks,
    )


def _measure(
    base: KnowledgeBase, questions: Sequence[_Question], pages: dict[str, tuple[Page, ...]]
) -> np.ndarray:
    """Return, for each question and budget, the shares of pages reached and of their characters."""
    found = np.zeros((len(questions), len(BUDGETS), 2))
    for row, question in enumerate(questions):
        for column, budget in enumerate(BUDGETS):
            result = base.search(
                question.text, budget_tokens=budget, headers=False, tokenizer="chars:4"
            )
            by_rank = sorted(result.segments, key=lambda segment: segment.rank)
            ranges = cut([(s.document_id, s.start, s.end) for s in by_rank], budget)
            for document, number in sorted(question.pages):
                page = pages[document][number]
                length = max(1, page.end - page.start)
                held = sum(
                    max(0, min(page.end, end) - max(page.start, start))
                    for at, start, end in ranges
                    if at == document
                )
                found[row, column] += (held >= min(_TOUCH_CHARS, length), held / length)
            found[row, column] /= len(question.pages)
    return found


def write_sample(folder: Path) -> Path:
    """Write a dataset of two rendered files with a question each; return its folder."""
    set_folder = folder / "sample"
    (set_folder / "documents").mkdir(parents=True)
    documents, questions = [], []
    for source in read_reference(files=12)[:2]:
        path = set_folder / "documents" / f"{source.name}.pdf"
        render(source, path, style="larger fonts")
        documents.append(
            {"doc_id": source.name, "path": f"documents/{path.name}", "title": source.name}
        )
        questions.append(
            {
                "query_id": source.name,
                "query": source.paragraphs[0][:200],
                "evidence": [{"doc_id": source.name, "page": 0, "text": source.paragraphs[0]}],
            }
        )
    _write(set_folder / "documents.jsonl", documents)
    _write(set_folder / "queries.jsonl", questions)
    return set_folder


def _write(path: Path, rows: Sequence[object]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

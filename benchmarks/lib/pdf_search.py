"""Effect of the PDF layout analysis on search: the evidence in returned segments.

For each way to read the files, all documents are added to a separate knowledge base, which answers
the same questions. Measured at the same budget (four characters per token; cell separators
count): the pages with evidence that segments reach, the words of the evidence on these pages, and
the characters of these pages.
"""

from __future__ import annotations

import json
import re
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.filings import evidence_words
from benchmarks.lib.pdf_engines import read_plain
from benchmarks.lib.rendered import read_reference, render
from benchmarks.lib.scoring import Range, cut, interval
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import add_parsed
from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf.layout.compose import Composition
from spanwise.parsers.pdf.reader import read_pdf
from spanwise.types import Document, Page

__all__ = ["run", "write_sample"]

BUDGETS = (1_000, 4_000)
MEASURES = ("pages", "words", "characters")
_TOUCH_CHARS = 100
"""Minimum number of returned characters of a page that counts as reached."""
_BAR = re.compile(re.escape(" | "))


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    pages: Mapping[tuple[str, int], Counter[str]]
    """Words of the evidence, by document and page."""


def run(folder: Path, place: Path) -> None:
    """Search the PDFs of a dataset in one knowledge base per way, and print a table of all ways.

    Args:
        folder: Folder of the dataset.
        place: Folder for the knowledge bases.
    """
    questions = _questions(folder)
    plain, laid_out = [], []
    for row in _rows(folder / "documents.jsonl"):
        path, made = folder / str(row["path"]), (str(row["doc_id"]), str(row["title"]))
        plain.append(_plain(path, *made))
        laid_out.append(_laid_out(path, *made))
    ways = list(_ways(plain, laid_out))
    for title, packs in (("without packs", ()), ("with the packs that are shipped", None)):
        found: dict[str, NDArray[np.float64]] = {}
        print(f"{len(questions)} questions at 1,000 / 4,000 tokens, {title}")
        print(f"| | {' | '.join(MEASURES)} |")
        print("|---" * (len(MEASURES) + 1) + "|")
        for name, documents in ways:
            with tempfile.TemporaryDirectory(dir=place) as own:
                found[name] = _measure(documents, questions, Path(own) / "a.kb", packs=packs)
            near, far = 100 * found[name].mean(axis=0)
            cells = [f"{a:.1f} / {b:.1f}" for a, b in zip(near, far, strict=True)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        _print_differences(found)


def _print_differences(found: Mapping[str, NDArray[np.float64]]) -> None:
    """Print the difference of each way to the first one, with intervals."""
    first, *others = found
    for name in others:
        difference = 100 * (found[name] - found[first])
        for at, budget in enumerate(BUDGETS):
            told = []
            for column, measure in enumerate(MEASURES):
                values = difference[:, at, column]
                low, high = interval(values)
                told.append(f"{measure} {values.mean():+.1f} [{low:.1f}, {high:.1f}]")
            print(f"{name} less {first}, {budget} tokens: {', '.join(told)}")


def _ways(
    plain: Sequence[Document], laid_out: Sequence[tuple[Document, Composition]]
) -> Iterator[tuple[str, list[Document]]]:
    """Yield the name and the documents of each way to read the files, baseline first."""
    whole = [document for document, _ in laid_out]
    yield "plain text", list(plain)
    yield "laid out", whole
    ablations: dict[str, Callable[[Document], Document]] = {
        "without heads of tables in what is searched": _without_table_heads,
        "without tables": lambda document: replace(_without_bars(document), blocks=()),
        "without bars between cells": _without_bars,
        "without headings": lambda document: replace(document, headings=()),
    }
    for name, change in ablations.items():
        yield f"laid out, {name}", list(map(change, whole))
    running = [_with_running(document, composed) for document, composed in laid_out]
    yield "laid out, with running heads", running


def _questions(folder: Path) -> list[_Question]:
    questions = []
    for row in _rows(folder / "queries.jsonl"):
        texts: dict[tuple[str, int], dict[str, None]] = {}
        for item in row["evidence"]:
            texts.setdefault((item["doc_id"], item["page"]), {})[item["text"]] = None
        pages = {page: evidence_words("\n".join(each)) for page, each in sorted(texts.items())}
        if pages:
            questions.append(_Question(str(row["query"]), pages))
    return questions


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _plain(path: Path, document_id: str, title: str) -> Document:
    pieces = [f"{page.strip()}\n" if page.strip() else "" for page in read_plain(path).pages]
    return _of_pages(pieces, document_id, title)


def _of_pages(pieces: Sequence[str], document_id: str, title: str) -> Document:
    pages = []
    start = 0
    for piece in pieces:
        pages.append(Page(start=start, end=start + len(piece)))
        start += len(piece)
    return Document(id=document_id, text="".join(pieces), title=title, pages=tuple(pages))


def _laid_out(path: Path, document_id: str, title: str) -> tuple[Document, Composition]:
    parsed, composed = read_pdf(Source(data=path.read_bytes(), name=path.name))
    document = Document(
        id=document_id,
        text=parsed.text,
        title=title,
        pages=parsed.pages,
        headings=parsed.headings,
        blocks=parsed.blocks,
    )
    return document, composed


def _without_table_heads(document: Document) -> Document:
    """Return a document with tables marked as code, which has no table heads."""
    blocks = tuple(replace(block, kind="code") for block in document.blocks)
    return replace(document, blocks=blocks)


def _without_bars(document: Document) -> Document:
    """Return a document with a space instead of a bar between the cells of a row."""
    return _edited(
        document, [(match.start(), match.end(), " ") for match in _BAR.finditer(document.text)]
    )


def _with_running(document: Document, composed: Composition) -> Document:
    """Return a document with running heads and feet inserted at the start of each page."""
    edits = [
        (page.start, page.start, "\n".join([*lines, ""]))
        for page, lines in zip(document.pages, composed.running, strict=True)
        if lines and page.end > page.start
    ]
    return _edited(document, edits)


def _edited(document: Document, edits: Sequence[tuple[int, int, str]]) -> Document:
    """Return a document with ranges of its text replaced, and all positions adjusted.

    Ranges that start at an insertion begin before it, except headings and blocks.
    """
    parts: list[str] = []
    ends, shifts = [0], [0]
    done = 0
    for start, end, text in edits:
        parts += (document.text[done:start], text)
        done = end
        ends.append(end)
        shifts.append(shifts[-1] + len(text) - (end - start))
    parts.append(document.text[done:])

    def moved(place: int) -> int:
        return place + shifts[bisect_right(ends, place) - 1]

    starts = [moved(page.start - 1) + 1 if page.start else 0 for page in document.pages]
    text = "".join(parts)
    pages = tuple(
        replace(page, start=start, end=end)
        for page, start, end in zip(document.pages, starts, [*starts[1:], len(text)], strict=True)
    )
    return replace(
        document,
        text=text,
        pages=pages,
        headings=tuple(
            replace(h, start=moved(h.start), end=moved(h.end - 1) + 1) for h in document.headings
        ),
        blocks=tuple(
            replace(b, start=moved(b.start), end=moved(b.end - 1) + 1) for b in document.blocks
        ),
    )


def _measure(
    documents: Sequence[Document],
    questions: Sequence[_Question],
    path: Path,
    *,
    packs: Sequence[str] | None,
) -> NDArray[np.float64]:
    """Return the figures of each question at each budget: shares in the order of `MEASURES`."""
    by_id = {document.id: document for document in documents}
    found = np.zeros((len(questions), len(BUDGETS), len(MEASURES)))
    with KnowledgeBase(path, packs=packs) as base:
        for document in documents:
            add_parsed(base, document)
        base.compact()
        for row, question in enumerate(questions):
            for column, budget in enumerate(BUDGETS):
                result = base.search(
                    question.text, budget_tokens=budget, headers=False, tokenizer="chars:4"
                )
                by_rank = sorted(result.segments, key=lambda segment: segment.rank)
                ranges = cut([(s.document_id, s.start, s.end) for s in by_rank], budget)
                for (name, number), wanted in question.pages.items():
                    found[row, column] += _reached(by_id[name], number, wanted, ranges)
                found[row, column] /= len(question.pages)
    return found


def _reached(
    document: Document, number: int, wanted: Counter[str], ranges: Sequence[Range]
) -> tuple[float, float, float]:
    """Return whether a page is reached, and the shares of its evidence words and characters."""
    page = document.pages[number]
    held = [
        document.text[max(page.start, start) : min(page.end, end)]
        for name, start, end in ranges
        if name == document.id and start < page.end and end > page.start
    ]
    chars = sum(map(len, held))
    length = max(1, page.end - page.start)
    words = (evidence_words("\n".join(held)) & wanted).total()
    touched = chars >= min(_TOUCH_CHARS, length)
    return float(touched), words / max(1, wanted.total()), chars / length


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

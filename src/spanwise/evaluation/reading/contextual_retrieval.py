"""Anthropic's contextual retrieval set: github.com/anthropics/anthropic-cookbook.

Layout (its guide.ipynb, folder contextual-embeddings, and programs that load the same files):
    data/codebase_chunks.json, a list of files: `doc_id`, `original_uuid`, `content`, and `chunks`
    with `original_index` and `content`.
    data/evaluation_set.jsonl, a question a line: `query`, mostly `answer`, and
    `golden_chunk_uuids`, pairs of the uuid of a file and the index of a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.evaluation.dataset import Dataset, DatasetDocument, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import FaultError, Faults, shown
from spanwise.evaluation.reading.files import json_lines, json_value
from spanwise.evaluation.reading.rows import Row

__all__ = ["read_contextual_retrieval"]

_FOLDERS = (
    "",
    "data/",
    "skills/contextual-embeddings/data/",
    "capabilities/contextual-embeddings/data/",
)


@dataclass(frozen=True, slots=True)
class _File:
    """A file, with the place of each chunk in its text; None where it does not stand there."""

    id: str
    text: str
    chunks: Mapping[int, tuple[int, int] | None]


def read_contextual_retrieval(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions over all files; evidence is where their golden chunks stand."""
    chunks = checkout.find(*(f"{folder}codebase_chunks.json" for folder in _FOLDERS))
    questions_path = checkout.find(*(f"{folder}evaluation_set.jsonl" for folder in _FOLDERS))
    files: dict[str, _File] = {}
    with faults.gathered():
        for row in Row({"files": json_value(chunks)}, chunks.name).rows("files"):
            with faults.gathered():
                files[row.text("original_uuid")] = _file(row)
    questions = []
    for number, row in enumerate(json_lines(questions_path, faults, questions=1)):
        with faults.gathered(questions=1):
            questions.append(_question(row, number, files))
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(DatasetDocument(id=file.id, text=file.text) for file in files.values()),
    )


def _file(row: Row) -> _File:
    text = row.text("content")
    places: dict[int, tuple[int, int] | None] = {}
    after = 0
    for chunk in sorted(row.rows("chunks"), key=lambda one: one.whole("original_index")):
        content = chunk.text("content")
        # Of chunks with one text, the later one stands behind the earlier one.
        start = text.find(content, after)
        places[chunk.whole("original_index")] = None if start < 0 else (start, start + len(content))
        after = max(after, start + 1)
    return _File(row.word("doc_id"), text, places)


def _question(row: Row, number: int, files: Mapping[str, _File]) -> LabelledQuestion:
    return LabelledQuestion(
        id=f"contextual-retrieval-{number:05d}",
        text=row.text("query"),
        evidence=tuple(_evidence(pair, files, row) for pair in row.items("golden_chunk_uuids")),
        answer=row.text("answer", default=""),
    )


def _evidence(pair: object, files: Mapping[str, _File], row: Row) -> Evidence:
    match pair:
        case [str(uuid), int(index)] if uuid in files:
            file = files[uuid]
        case _:
            raise row.fault(f"a golden chunk is {shown(pair)}; there is no file of that uuid")
    place = file.chunks.get(index)
    if place is None:
        raise FaultError(
            f"{row.place}: chunk {index} of {shown(file.id)} is golden, and is not a part of its "
            "content"
        )
    return Evidence(
        document_id=file.id, start=place[0], end=place[1], text=file.text[slice(*place)]
    )

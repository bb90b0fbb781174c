"""Read a benchmark dataset: a folder with documents.jsonl, queries.jsonl and documents/.

The scripts here want evidence as disjoint ranges; `spanwise.evaluation.datasets` reads the rest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.datasets import read_questions
from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool

TEXT_SETS = (
    "chroma",
    "cuad",
    "lbr_contractnli",
    "qmsum",
    "anthropic_code",
    "lihua_world",
    "financebench_txt",
    "covidqa",
    "fairytaleqa",
    "squad_articles",
)
"""Sets with evidence in characters, in the order of the tables."""
REWORDED_SETS = (
    "lbr_contractnli",
    "squad_articles",
    "covidqa",
    "chroma",
    "qmsum",
    "fairytaleqa",
    "lihua_world",
    "anthropic_code",
)
"""Sets with reworded questions."""
LANGUAGE_SETS = ("xquad_multi",)
"""Sets in several languages, reported language by language; none is trained on."""
DOCUMENT_SETS = ("kgrag_sec10q",)
"""Sets of PDFs that name the documents of the evidence, not the place."""
NEVER_TRAINED = ("financebench_txt", "facts_filings")
"""Sets whose licence allows evaluation alone."""
FACTS = "facts_filings"
"""Set of questions about one-line facts in filings, in the words of the text and in others."""
_DOCUMENTS_OF = {FACTS: "financebench_txt"}
"""Set whose documents are used, by the name of the set of questions."""
ORIGINAL, REWORDED = "original", "reworded"
"""Kinds of questions: as published, and with the same meaning in other words than the evidence."""
_REWORDED_FILE = "queries.reworded.jsonl"


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its evidence."""

    id: str
    text: str
    evidence: dict[str, list[tuple[int, int]]]
    """Disjoint ranges of each document, in order."""
    scope: tuple[str, ...] | None
    language: str = ""
    """Where a set has several."""
    kind: str = ORIGINAL
    """`ORIGINAL` or `REWORDED`; for a fact, "own" (words of the text) or "other" (other words)."""

    @property
    def asks_fact(self) -> bool:
        """Whether each piece of evidence states the whole answer, so that one of them suffices."""
        return self.kind not in (ORIGINAL, REWORDED)

    @property
    def evidence_chars(self) -> int:
        """Characters of all evidence."""
        return sum(end - start for ranges in self.evidence.values() for start, end in ranges)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document of a dataset."""

    id: str
    title: str
    path: Path

    def text(self) -> str:
        """Return the text, character for character; of a PDF, as it is parsed."""
        if self.path.suffix == ".pdf":
            with ParserPool(options=ParseOptions()) as pool:
                parsed = pool.parse(self.path, document_id=self.id, source="", source_root="")
            return parsed.text
        with self.path.open(encoding="utf-8", newline="") as stream:
            return stream.read()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents and queries of one folder."""

    name: str
    documents: tuple[SourceDocument, ...]
    queries: tuple[Query, ...]
    source: str = ""
    """Name of the set that the documents belong to; "" for this set."""


def read_dataset(folder: Path, *, limit: int | None = None, reworded: bool = False) -> Dataset:
    """Return a dataset without the queries that have no evidence.

    Args:
        folder: Folder of the dataset.
        limit: Maximum number of original questions, evenly spaced; None for all. Facts are not
            limited.
        reworded: Whether to add all reworded questions of the set, if it has any.
    """
    source = folder.with_name(_DOCUMENTS_OF.get(folder.name, folder.name))
    documents = tuple(
        SourceDocument(str(row["doc_id"]), str(row["title"]), source / str(row["path"]))
        for row in _rows(source / "documents.jsonl")
    )
    queries = [query for query in _queries(folder) if query.evidence]
    if limit is not None and len(queries) > limit and not queries[0].asks_fact:
        queries = [queries[at * len(queries) // limit] for at in range(limit)]
    if reworded and (folder / _REWORDED_FILE).exists():
        queries += [replace(query, kind=REWORDED) for query in _queries(folder, _REWORDED_FILE)]
    return Dataset(folder.name, documents, tuple(queries), _DOCUMENTS_OF.get(folder.name, ""))


def first_documents(dataset: Dataset, count: int | None) -> Dataset:
    """Return a dataset with its first documents, and the queries with all evidence in them.

    Documents with evidence come first.
    """
    if count is None or len(dataset.documents) <= count:
        return dataset
    used = {document for query in dataset.queries for document in query.evidence}
    documents = sorted(dataset.documents, key=lambda document: document.id not in used)[:count]
    kept = {document.id for document in documents}
    queries = [query for query in dataset.queries if query.evidence.keys() <= kept]
    scopes = [None if q.scope is None else tuple(d for d in q.scope if d in kept) for q in queries]
    scoped = [replace(q, scope=scope) for q, scope in zip(queries, scopes, strict=True)]
    return replace(dataset, documents=tuple(documents), queries=tuple(scoped))


def read_unanswerable(folder: Path) -> tuple[Query, ...]:
    """Return the queries of a dataset that its documents do not answer: those without evidence."""
    return tuple(query for query in _queries(folder) if not query.evidence)


def _queries(folder: Path, file: str = "queries.jsonl") -> list[Query]:
    path = folder / file
    if not path.stat().st_size:  # documents alone
        return []
    return read_queries(path)


def read_queries(path: Path) -> list[Query]:
    """Return the queries in a file."""
    return [_query(question) for question in read_questions(path)]


def _rows(path: Path) -> list[dict[str, object]]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _query(question: LabelledQuestion) -> Query:
    ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for piece in question.evidence:
        place = [] if piece.start is None or piece.end is None else [(piece.start, piece.end)]
        ranges[piece.document_id] += place
    return Query(
        id=question.id,
        text=question.text,
        evidence={document: merged(spans) for document, spans in ranges.items()},
        scope=question.scope,
        language=str(question.metadata.get("lang", "")),
        kind=str(question.metadata.get("wording", ORIGINAL)),
    )


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of ranges, in order."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        elif end > start:
            out.append((start, end))
    return out

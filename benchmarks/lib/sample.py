"""Tiny datasets in the benchmark format, for smoke tests of the scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from pydoc_data.topics import topics

SAMPLE_SETS = ("sample_even", "sample_odd")
SAMPLE_FACTS = "sample_facts"
_SENTENCE = re.compile(r"[A-Z][^.!?]{60,200}[.]")
_DOCUMENTS = 6
_QUERIES = 4
_MAX_CHARS = 7_000


def write_samples(folder: Path) -> None:
    """Write the sets: topics of the Python reference, with their sentences as questions."""
    short = [name for name, text in topics.items() if len(text) <= _MAX_CHARS]
    names = sorted(short, key=lambda name: -len(topics[name]))[: 2 * _DOCUMENTS]
    for parity, name in enumerate(SAMPLE_SETS):
        _write(folder / name, sorted(names[parity::2]))
    _write(folder / SAMPLE_FACTS, sorted(names[:4]), wordings=("own", "other"))


def _write(folder: Path, names: list[str], *, wordings: Sequence[str] = ()) -> None:
    (folder / "documents").mkdir(parents=True)
    documents: list[Mapping[str, object]] = []
    queries: list[Mapping[str, object]] = []
    reworded: list[Mapping[str, object]] = []
    for name in names:
        text = topics[name]
        (folder / "documents" / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
        documents.append({"doc_id": name, "path": f"documents/{name}.txt", "title": name})
        sentence = list(_SENTENCE.finditer(text))[-1]
        words = " ".join(sentence.group().split()[2:12])
        evidence = [{"doc_id": name, "start": sentence.start(), "end": sentence.end()}]
        meta = {"wording": wordings[len(queries) % len(wordings)]} if wordings else {}
        query = {"query_id": name, "scope": None, "evidence": evidence, "meta": meta}
        queries.append({**query, "query": f"What about {words}?"})
        reworded.append(
            {**query, "query_id": f"{name}-r", "query": f"Explain the topic of {name}."}
        )
    _write_rows(folder / "documents.jsonl", documents)
    _write_rows(folder / "queries.jsonl", queries[:_QUERIES])
    if not wordings:
        _write_rows(folder / "queries.reworded.jsonl", reworded[:_QUERIES])


def _write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

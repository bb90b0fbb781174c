"""Warnings that name what documents lack: python -m benchmarks.named_things DATASETS.

Asks the questions of named_things.jsonl, which the filings of `financebench_txt` cannot answer,
over all filings and over those of one company, and counts warnings that name the missing company,
year, product, person or matter. The questions of the half "blind" were not used to choose rules or
thresholds. Then asks answerable questions: of `facts_filings`, and of each set, also reworded ones.
Each warning there is false.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import LANGUAGE_SETS, TEXT_SETS, Dataset, Query, read_dataset
from benchmarks.lib.training import build
from spanwise.evaluation.datasets import read_questions
from spanwise.knowledge_base import KnowledgeBase

FILINGS, FACTS = "financebench_txt", "facts_filings"
_QUESTIONS = Path(__file__).with_suffix(".jsonl")
_NAMED = ("no document of ", "no shown document is about ", "the shown documents ")
_EVERY, _Z = "all", 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable:
    """A question that names something the filings lack."""

    id: str
    half: str
    """"tuned" if rules were chosen with it, otherwise "blind"."""
    kind: str
    question: str
    missing: tuple[str, ...]
    """Names of the missing thing, any of which a warning may use."""
    documents: tuple[str, ...]
    """Filings of one company."""


def read_unanswerable() -> list[Unanswerable]:
    """Return the questions of named_things.jsonl."""
    rows = [json.loads(line) for line in _QUESTIONS.read_text("utf-8").splitlines()]
    return [
        Unanswerable(
            **{**row, "missing": tuple(row["missing"]), "documents": tuple(row["documents"])}
        )
        for row in rows
    ]


def warnings_of(
    base: KnowledgeBase, question: str, documents: Sequence[str] | None = None
) -> list[str]:
    """Return the warnings of a search that name something missing."""
    result = base.search(question, documents=documents)
    return [warning for warning in result.warnings if warning.startswith(_NAMED)]


def rate(hits: Sequence[bool]) -> str:
    """Return a count and the Wilson interval of the rate in percent (95 %)."""
    count, total = sum(hits), len(hits)
    if not total:
        return "none"
    share, extra = count / total, _Z**2 / total
    middle = (share + extra / 2) / (1 + extra)
    reach = _Z * sqrt(share * (1 - share) / total + extra / total / 4) / (1 + extra)
    low, high = max(0.0, middle - reach), middle + reach
    return f"{count}/{total} ({100 * low:.0f} to {100 * high:.0f} %)"


def named_rates(base: KnowledgeBase, known: frozenset[str]) -> Iterator[str]:
    """Yield table rows: how often a warning names the missing thing, by kind and half."""
    questions = read_unanswerable()
    for scope in ("all filings", "filings of one company"):
        found: list[tuple[Unanswerable, bool]] = []
        for asked in questions:
            documents = None if scope == "all filings" else asked.documents
            if documents is not None and not known.issuperset(documents):
                continue
            told = " ".join(warnings_of(base, asked.question, documents)).casefold()
            found.append((asked, any(name.casefold() in told for name in asked.missing)))
        for kind in (*dict.fromkeys(asked.kind for asked in questions), _EVERY):
            cells = [
                rate([hit for asked, hit in found if _is_in(asked, kind, half)])
                for half in ("tuned", "blind", _EVERY)
            ]
            yield f"| {scope}, {kind} | {' | '.join(cells)} |"


def _is_in(asked: Unanswerable, kind: str, half: str) -> bool:
    return kind in (asked.kind, _EVERY) and half in (asked.half, _EVERY)


def false_rate(base: KnowledgeBase, name: str, queries: Sequence[Query], limit: int) -> str:
    """Return a table row: how often a warning about an answerable question is false."""
    step = max(1, len(queries) // limit)
    chosen = queries[::step][:limit]
    told = {query.id: warnings_of(base, query.text, query.scope) for query in chosen}
    lines = [f"| {name} | {rate([bool(warnings) for warnings in told.values()])} |"]
    lines += [f"  {key}: {warnings[0]}" for key, warnings in told.items() if warnings]
    return "\n".join(lines)


def reworded(folder: Path) -> list[Query]:
    """Return the reworded questions of a set, if it has any."""
    path = folder / "queries.reworded.jsonl"
    if not path.exists():
        return []
    questions = read_questions(path)
    return [Query(question.id, question.text, {}, question.scope) for question in questions]


def run(datasets: Path, names: Sequence[str], limit: int) -> None:
    """Measure both rates on some sets, and print them; without filings, ask the first set."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            dataset = read_dataset(datasets / name)
            with build(dataset, Path(folder)) as base:
                if name == (FILINGS if FILINGS in names else names[0]):
                    print("| named as missing | tuned half | blind half | all |\n|---|---|---|---|")
                    print("\n".join(named_rates(base, _ids(dataset))), flush=True)
                print("| answerable questions | false warnings |\n|---|---|")
                for part, queries in _answerable(datasets, dataset):
                    if queries:
                        print(false_rate(base, part, queries, limit), flush=True)


def _ids(dataset: Dataset) -> frozenset[str]:
    return frozenset(document.id for document in dataset.documents)


def _answerable(datasets: Path, dataset: Dataset) -> Iterator[tuple[str, list[Query]]]:
    """Yield the answerable questions of a set, with the names of its parts."""
    name = dataset.name
    if name == FILINGS and (datasets / FACTS).exists():
        facts = read_questions(datasets / FACTS / "queries.jsonl")
        for wording in ("own", "other"):
            asked = [f for f in facts if f.metadata.get("wording") == wording]
            yield f"{FACTS}, {wording} words", [Query(f.id, f.text, {}, f.scope) for f in asked]
    yield name, list(dataset.queries)
    yield (
        f"{name}, lower case",
        [Query(query.id, query.text.lower(), {}, query.scope) for query in dataset.queries],
    )
    yield f"{name}, reworded", reworded(datasets / name)


def main() -> None:
    """Read the command line and run."""
    sets = [FILINGS, *(name for name in TEXT_SETS if name != FILINGS), *LANGUAGE_SETS]
    with given(command_line(__doc__, sets=sets, queries=60, writes=False)) as arguments:
        run(arguments.datasets, arguments.sets, arguments.queries or 10**9)


if __name__ == "__main__":
    main()

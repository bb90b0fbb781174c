"""Measure recall in multilingual knowledge bases: python -m benchmarks.languages DATASETS.

The documents of some sets are combined, and the questions of each language are asked over all
documents. Baselines: the documents of that language alone, and stems as separate terms instead of
forms of one term.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import LANGUAGE_SETS, Dataset, Query, SourceDocument, read_dataset
from benchmarks.lib.training import build
from benchmarks.quality import Measured, spanwise_search
from spanwise.core.ranking.question import Question, read_question
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model

SETS = (*LANGUAGE_SETS, "squad_articles")
CHUNKS_ALONE = SegmentOptions(segment_charge=0.0, token_price=0.0)


def stems_apart(text: str, *, languages: Sequence[str]) -> Question:
    """Return a question in which each form of a word is a separate term."""
    question = read_question(text, languages=languages)
    forms, _ = question.forms()
    return replace(question, terms=forms, other_forms={}, uses=dict.fromkeys(forms, 1))


def by_language(dataset: Dataset) -> dict[str, Dataset]:
    """Return a set for each language of a set; a set with one language is returned as it is."""
    queries: dict[str, list[Query]] = {}
    for query in dataset.queries:
        queries.setdefault(query.language or dataset.name, []).append(query)
    if len(queries) == 1:
        return dict.fromkeys(queries, dataset)
    found = {}
    for name, asked in queries.items():
        ids = {document for query in asked for document in query.evidence}
        documents = tuple(d for d in dataset.documents if d.id in ids)
        found[name] = Dataset(f"{dataset.name}-{name}", documents, tuple(asked))
    return found


def measure(base: KnowledgeBase, queries: Sequence[Query]) -> str:
    """Return the recall at both budgets in points; the best chunks come first."""
    search = spanwise_search(searcher_of(base, shipped_model()), CHUNKS_ALONE)
    low, high = Measured(search, queries).recall.mean(axis=0) * 100
    return f"{low:.1f}/{high:.1f}"


def run(datasets: Path, names: Sequence[str], limit: int | None) -> None:
    """Measure all languages separately and together, and print a table."""
    parts: dict[str, Dataset] = {}
    for name in names:
        for language, part in by_language(read_dataset(datasets / name)).items():
            count = len(part.queries)
            kept = np.unique(np.linspace(0, count - 1, min(limit or count, count)).astype(int))
            parts[language] = replace(part, queries=tuple(part.queries[at] for at in kept.tolist()))
    rows: dict[str, list[str]] = {"alone": [], "mixed": [], "mixed, stems apart": []}
    with tempfile.TemporaryDirectory() as folder:
        for part in parts.values():
            with build(part, Path(folder)) as base:
                rows["alone"].append(measure(base, part.queries))
        documents: tuple[SourceDocument, ...] = sum((p.documents for p in parts.values()), ())
        with build(Dataset("mixed", documents, ()), Path(folder)) as base:
            rows["mixed"] = [measure(base, part.queries) for part in parts.values()]
            with patch("spanwise.search.question_limits.read_question", stems_apart):
                rows["mixed, stems apart"] = [measure(base, p.queries) for p in parts.values()]
    print(f"| recall % at 1,000/4,000 tokens | {' | '.join(parts)} |")
    print("|---" * (len(parts) + 1) + "|")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__, sets=SETS, writes=False)) as arguments:
        run(arguments.datasets, arguments.sets, arguments.queries)


if __name__ == "__main__":
    main()

"""Recall with titles and summaries of sections: python -m benchmarks.context DATASETS.

    python -m benchmarks.context DATASETS --out FOLDER       # with weights from benchmarks.train
    python -m benchmarks.context --smoke

Reads titles, summaries and sections of some documents from `context.jsonl` of a set and adds the
documents with and without them. The questions about these documents are searched over all documents
of the set and inside the document of their evidence, with and without packs. Ablations leave out
the keyword index, the vectors or the summaries of documents.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, Query, read_dataset
from benchmarks.lib.question_rows import Row, grouped, render, render_differences
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from benchmarks.lib.scoring import CHARS_A_TOKEN, cut, recall
from benchmarks.lib.training import remove_packs, use_packs
from benchmarks.quality import BUDGETS, model_for, spanwise_search
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions
from spanwise.types import GivenParts, Section

SETS = ("qmsum",)
FILE = "context.jsonl"
NONE, GIVEN = "no context given", "context given"
ALL, INSIDE = "all documents", "inside the document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to add the documents."""

    gives: bool = True
    """Whether titles, summaries and sections are given."""
    summaries: bool = True
    """Whether the summaries of documents are given."""
    keywords: bool = True
    """Whether the keyword index contains section headers."""
    vectors: bool = True
    """Whether the vectors include section headers."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Leave headers out of the keyword index or the vectors during the block."""
        with ExitStack() as stack:
            if not self.keywords:
                stack.enter_context(patch("spanwise.stores.database.searched_header", _nothing))
            if not self.vectors:
                stack.enter_context(patch("spanwise.core.ranking.vectors._HEADER_WEIGHT", 0.0))
            yield


VARIANTS: Mapping[str, Variant] = {
    NONE: Variant(gives=False),
    "context shown, not searched": Variant(keywords=False, vectors=False),
    "context in the keyword index only": Variant(vectors=False),
    "context in the vectors only": Variant(keywords=False),
    "without summaries of documents": Variant(summaries=False),
    GIVEN: Variant(),
}


def _nothing(_: Section) -> str:
    return ""


def read_context(path: Path) -> dict[str, GivenParts]:
    """Return the given parts by document id."""
    with path.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    return {
        row["doc_id"]: GivenParts(
            title=row["title"],
            summary=row["summary"],
            sections=tuple(
                Section(
                    start=section["start"],
                    end=section["end"],
                    title=section["title"],
                    path=(section["title"],),
                    summary=section["summary"],
                )
                for section in row["sections"]
            ),
        )
        for row in rows
    }


def build(
    path: Path, dataset: Dataset, context: Mapping[str, GivenParts], variant: Variant
) -> KnowledgeBase:
    """Return a knowledge base with the documents of a set, added as the variant says."""
    base = KnowledgeBase(path, durability="fast")
    for document in dataset.documents:
        parts = context.get(document.id) if variant.gives else None
        if parts is not None and not variant.summaries:
            parts = replace(parts, summary="")
        base.add_text(document.text(), document_id=document.id, title=document.title, given=parts)
    base.compact()
    return base


def rows_of(
    base: KnowledgeBase, queries: Sequence[Query], *, method: str, out: Path, name: str
) -> Iterator[Row]:
    """Yield the results of all questions, over all documents and inside the right one."""
    search = spanwise_search(
        searcher_of(base, model_for(out, name)), SegmentOptions.BALANCED, abstain=False
    )
    scopes: Mapping[str, Callable[[Query], Query]] = {
        ALL: lambda query: replace(query, scope=None),
        INSIDE: lambda query: replace(query, scope=tuple(query.evidence)),
    }
    for scope, scoped in scopes.items():
        for query in map(scoped, queries):
            started = time.perf_counter()
            found = [cut(search(query, budget), budget) for budget in BUDGETS]
            yield Row(
                method=method,
                set=scope,
                kind=query.kind,
                id=query.id,
                scores=tuple(recall(query, ranges) for ranges in found),
                tokens=tuple(sum(e - s for _, s, e in one) / CHARS_A_TOKEN for one in found),
                seconds=(time.perf_counter() - started) / len(found),
            )


def measure(folder: Path, out: Path) -> list[Row]:
    """Return the results of all variants on one set."""
    dataset, context = read_dataset(folder), read_context(folder / FILE)
    queries = [query for query in dataset.queries if query.evidence.keys() <= context.keys()]
    rows: list[Row] = []
    for name, variant in VARIANTS.items():
        with (
            TemporaryDirectory() as place,
            variant.applied(),
            build(Path(place) / "a.kb", dataset, context, variant) as base,
        ):
            use_packs(base)
            rows += rows_of(base, queries, method=name, out=out, name=dataset.name)
            if name in (NONE, GIVEN):
                remove_packs(base)
                method = f"{name}, without packs"
                rows += rows_of(base, queries, method=method, out=out, name=dataset.name)
        print(f"{dataset.name}: {name}: done", flush=True)
    return rows


def report(rows: Sequence[Row]) -> list[str]:
    """Return the tables: recall by scope, and paired differences to the context given."""
    lines = render(rows)
    for scope, part in grouped(rows, "set").items():
        lines += [f"Differences, {scope}:", "", *render_differences(part, part, by=GIVEN), ""]
    return lines


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=SETS)
    with given(parser, write=_write_samples, sets=SAMPLE_SETS[:1]) as arguments:
        arguments.out.mkdir(parents=True, exist_ok=True)
        for name in arguments.sets:
            lines = report(measure(arguments.datasets / name, arguments.out))
            text = "\n".join(lines) + "\n"
            (arguments.out / f"context-{name}.md").write_text(text, encoding="utf-8")
            print(f"\n{text}")


def _write_samples(folder: Path) -> None:
    """Write the samples, with titles and summaries for the first documents of the first set."""
    write_samples(folder)
    name = SAMPLE_SETS[0]
    documents = read_dataset(folder / name).documents[:6]
    with (folder / name / FILE).open("w", encoding="utf-8") as stream:
        for document in documents:
            half, end = len(document.text()) // 2, len(document.text())
            sections = [
                {"start": a, "end": b, "title": f"{part} of {document.id}", "summary": "A topic."}
                for part, a, b in (("Beginning", 0, half), ("End", half, end))
            ]
            row = {"title": document.title, "summary": "One topic.", "sections": sections}
            stream.write(json.dumps({"doc_id": document.id, **row}) + "\n")


if __name__ == "__main__":
    main()

"""Measure additional queries: python -m benchmarks.written_queries DATASETS.

The quarterly reports of five companies are searched with questions alone, and with additional
queries. No model is called: the queries are derived by rule from the question and the document
titles, so that the engine is measured and not a model.

Comparisons: two companies and a topic, in two phrasings, with one query per company. Measured is
how often both companies are shown, and the smaller share of the text. Questions with evidence in
several documents: one query per report of the named company. Measured is the share of documents
with evidence that are shown. The shipped weights are used. The table is printed as Markdown and
written to the output folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Query, read_dataset
from benchmarks.lib.scoring import interval
from spanwise.knowledge_base import KnowledgeBase
from spanwise.types import SearchResult

Floats = NDArray[np.float64]
BUDGETS = (1_000, 4_000)
SET = "kgrag_sec10q"
COMPANIES = {
    "Amazon": "AMZN",
    "Apple": "AAPL",
    "Intel": "INTC",
    "Microsoft": "MSFT",
    "NVIDIA": "NVDA",
}
TOPICS = (
    "net sales growth",
    "gross margin",
    "research and development expenses",
    "operating expenses",
    "effective tax rate",
    "inventory levels",
    "share repurchases",
    "legal proceedings",
    "debt and interest expense",
    "foreign exchange risk",
    "cash flow from operations",
    "risk factors",
)
WAYS = ("Compare {one} and {other}: {topic}", "How does {one}'s {topic} compare with {other}'s?")
MOST_QUERIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Question with its additional queries and the documents that should be shown."""

    question: str
    queries: tuple[str, ...]
    groups: tuple[frozenset[str], ...]
    """Groups of documents; one document of each group should be shown."""


def comparisons(companies: Mapping[str, frozenset[str]]) -> Iterator[Asked]:
    """Yield questions that compare two companies, given the documents of each."""
    for one, other in combinations(companies, 2):
        for number, topic in enumerate(TOPICS):
            yield Asked(
                question=WAYS[number % len(WAYS)].format(one=one, other=other, topic=topic),
                queries=(f"{one} {topic}", f"{other} {topic}"),
                groups=(companies[one], companies[other]),
            )


def of_several_documents(
    queries: Sequence[Query],
    companies: Mapping[str, frozenset[str]],
    texts: Mapping[str, tuple[str, str]],
) -> Iterator[Asked]:
    """Yield the questions with evidence in several documents of one company."""
    for query in queries:
        named = [name for name in companies if name.lower() in query.text.lower()]
        if len(query.evidence) > 1 and len(named) == 1:
            documents = sorted(companies[named[0]])[:MOST_QUERIES]
            yield Asked(
                question=query.text,
                queries=tuple(f"{texts[name][0]} {query.text}" for name in documents),
                groups=tuple(frozenset({name}) for name in sorted(query.evidence)),
            )


def shown(result: SearchResult, asked: Asked) -> list[float]:
    """Return the share of groups shown, whether all are shown, and the smallest share of text."""
    tokens = [
        sum(one.end - one.start for one in result.segments if one.document_id in group)
        for group in asked.groups
    ]
    total = sum(one.end - one.start for one in result.segments)
    found = [count > 0 for count in tokens]
    return [float(np.mean(found)), float(all(found)), min(tokens) / max(total, 1)]


def measure(base: KnowledgeBase, asked: Sequence[Asked]) -> dict[str, Floats]:
    """Return the results without and with queries, (questions, budgets, 3) each."""
    return {
        how: np.array(
            [
                [
                    shown(
                        base.search(
                            one.question,
                            more_queries=one.queries if how == "with queries" else (),
                            budget_tokens=budget,
                            tokenizer="chars:4",
                            headers=False,
                        ),
                        one,
                    )
                    for budget in BUDGETS
                ]
                for one in asked
            ]
        )
        for how in ("alone", "with queries")
    }


def run(texts: Mapping[str, tuple[str, str]], queries: Sequence[Query], out: Path) -> str:
    """Measure both kinds of questions, and return the table.

    Args:
        texts: Title and text of each document by id; ids end with the symbol of the company.
        queries: Questions of the set.
        out: Folder for the knowledge base and the table.
    """
    companies = {
        name: frozenset(document_id for document_id in texts if document_id.endswith(symbol))
        for name, symbol in COMPANIES.items()
    }
    companies = {name: documents for name, documents in companies.items() if documents}
    lines = [
        "| questions | how | documents shown % at 1,000/4,000 | all of them % "
        "| least share of the text % |",
        "|---|---|---|---|---|",
    ]
    path = out / "written_queries.kb"
    shutil.rmtree(path, ignore_errors=True)
    with KnowledgeBase(path) as base:
        for document_id, (title, text) in texts.items():
            base.add_text(text, document_id=document_id, title=title)
        base.compact()
        for name, asked in (
            ("comparisons", list(comparisons(companies))),
            ("of several documents", list(of_several_documents(queries, companies, texts))),
        ):
            lines += rows(f"{name} ({len(asked)})", measure(base, asked))
    report = "\n".join(lines) + "\n"
    (out / "written_queries.md").write_text(report, encoding="utf-8")
    return report


def rows(name: str, found: Mapping[str, Floats]) -> list[str]:
    """Return the table rows for one kind of question; the last row is the difference."""
    lines = []
    for how, values in found.items():
        cells = [
            "/".join(f"{100 * mean:.1f}" for mean in values[:, :, measure].mean(axis=0))
            for measure in range(values.shape[2])
        ]
        lines.append(f"| {name} | {how} | {' | '.join(cells)} |")
    difference = 100 * (found["with queries"] - found["alone"])
    cells = [
        " / ".join(
            f"{column.mean():+.1f} [{', '.join(f'{end:.1f}' for end in interval(column))}]"
            for column in difference[:, :, measure].T
        )
        for measure in range(difference.shape[2])
    ]
    return [*lines, f"| {name} | difference | {' | '.join(cells)} |"]


def sample() -> dict[str, tuple[str, str]]:
    """Return small reports of two companies, for a smoke test."""
    made = {}
    for name, symbol in (("Amazon", "AMZN"), ("Microsoft", "MSFT")):
        for quarter in ("Q1", "Q2"):
            text = f"# {name} {quarter}\n\n" + "\n\n".join(
                f"In {quarter}, {topic} of {name} changed. " * 6 for topic in TOPICS
            )
            made[f"{quarter}_{symbol}"] = (f"{quarter} {symbol} report", text)
    return made


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__)) as arguments:
        arguments.out.mkdir(parents=True, exist_ok=True)
        if arguments.smoke:
            asked = Query(
                id="a",
                text="How did the gross margin of Amazon change?",
                evidence={"Q1_AMZN": [], "Q2_AMZN": []},
                scope=None,
            )
            print(run(sample(), [asked], arguments.out))
            return
        dataset = read_dataset(arguments.datasets / SET)
        texts = {one.id: (one.title, one.text()) for one in dataset.documents}
        print(run(texts, dataset.queries, arguments.out))


if __name__ == "__main__":
    main()

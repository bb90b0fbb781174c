"""Measure the seed examples and named sections: python -m benchmarks.seeds DATASETS.

    python -m benchmarks.seeds DATASETS --budget 1000
    python -m benchmarks.seeds DATASETS --sets chroma cuad --keep

The first table has a line for each question of the set `seed_examples`: the percentage of its
evidence that is returned, and the tokens, with text counted at four characters a token and no
headers, and with the tokenizer of the knowledge base and headers. The second table has, for each
of the other sets, the number of questions that are taken to name a section.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Dataset, Query, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS
from benchmarks.lib.scoring import recall
from benchmarks.lib.training import build
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.scoring import Scope

SEEDS = "seed_examples"
_COUNTS = (("chars:4", False), (None, True))
"""Tokenizer of the reading model, and whether segments have headers."""
_QUESTION_CHARS = 60


def evidence_and_tokens(searcher: Searcher, query: Query, budget: int) -> list[tuple[float, int]]:
    """Return the share of the evidence that is found, and the tokens, for both ways of counting."""
    found = []
    for tokenizer, headers in _COUNTS:
        result = searcher.search(
            SearchRequest(question=query.text, scope=Scope(documents=query.scope)),
            options=SearchOptions(budget_tokens=budget, tokenizer=tokenizer, headers=headers),
        )
        ranges = [(one.document_id, one.start, one.end) for one in result.segments]
        found.append((recall(query, ranges), result.tokens))
    return found


def measure_seeds(dataset: Dataset, out: Path, budget: int, *, keep: bool) -> list[str]:
    """Return the table of the seed examples."""
    lines = [
        "| question | evidence, chars:4 | tokens | evidence, with headers | tokens |",
        "|---|---|---|---|---|",
    ]
    rows = []
    with build(dataset, out, keep=keep) as base:
        searcher = searcher_of(base)
        for query in dataset.queries:
            found = evidence_and_tokens(searcher, query, budget)
            rows.append(found)
            lines.append(_line(query.text[:_QUESTION_CHARS], found))
    means = np.mean(np.array(rows), axis=0)
    lines.append(_line("mean", [(float(share), round(tokens)) for share, tokens in means]))
    return lines


def _line(name: str, found: Sequence[tuple[float, int]]) -> str:
    cells = [f"{100 * share:.1f} | {tokens:,}" for share, tokens in found]
    return f"| {name} | {' | '.join(cells)} |"


def count_named(dataset: Dataset, out: Path, *, keep: bool) -> tuple[int, list[str]]:
    """Return the number of questions of a set, and those that are taken to name a section."""
    with build(dataset, out, keep=keep) as base:
        searcher = searcher_of(base)
        named = []
        for query in dataset.queries:
            explanation = searcher.explain(
                SearchRequest(question=query.text, scope=Scope(documents=query.scope)),
                options=SearchOptions(deep=False),
            )
            if explanation.terms.named:
                named.append(f"{query.text[:_QUESTION_CHARS]} -> {explanation.terms.named}")
    return len(dataset.queries), named


def main() -> None:
    """Run from the command line."""
    parser = command_line(__doc__, sets=TEXT_SETS, queries=40)
    parser.add_argument("--budget", type=int, default=4_000, help="tokens; default: 4000")
    parser.add_argument("--keep", action="store_true", help="reuse earlier knowledge bases")
    with given(parser) as arguments:
        arguments.out.mkdir(parents=True, exist_ok=True)
        seeds = arguments.datasets / (SAMPLE_SETS[0] if arguments.smoke else SEEDS)
        dataset = read_dataset(seeds)
        lines = measure_seeds(dataset, arguments.out, arguments.budget, keep=arguments.keep)
        print("\n".join(lines))
        print("\n| set | questions | name a section |\n|---|---|---|")
        for name in arguments.sets:
            dataset = read_dataset(
                arguments.datasets / name, limit=arguments.queries, reworded=True
            )
            questions, named = count_named(dataset, arguments.out, keep=arguments.keep)
            print(f"| {name} | {questions} | {len(named)} |", *named, sep="\n    ", flush=True)


if __name__ == "__main__":
    main()

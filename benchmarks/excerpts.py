"""Excerpts on the dev sets: what must hold, and recall at equal tokens.

python -m benchmarks.excerpts DATASETS. Checks on every query of every set, at several sizes, that
no budget is exceeded, that no character comes twice, and how much of the budget is used. Then
recall of evidence characters against `search` and BM25 with the same tokens of text, weights
trained on the other sets. Prints a table in Markdown and writes it to the output folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import train
from benchmarks.lib.baselines import PlainBm25, Range
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Query, read_dataset
from benchmarks.lib.scoring import cut, document_recall, interval, recall
from benchmarks.lib.training import build
from benchmarks.quality import model_without, spanwise_search
from spanwise.errors import OptionError
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.options import ExcerptOptions, SegmentOptions
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.scoring import Scope
from spanwise.types import Excerpt, ExcerptResult

SIZES = ((1, 1_000), (3, 333), (4, 1_000), (8, 500))
"""Excerpts and tokens of each."""
SMALL = (3, 250)
"""Checked with headers only: hardly more than a header fits."""
USED = 0.95


@dataclass
class Checked:
    """What was checked on one set."""

    excerpts: int = 0
    exceeded: int = 0
    """Excerpts over their budget, or contexts over the sum."""
    repeated: int = 0
    """Results that show a character twice."""
    inexact: int = 0
    """Spans that are not the text of their place."""
    unused: int = 0
    """Excerpts under 95 % of their budget although the document has more text."""
    small: int = 0
    """Those of them that are of the small size."""
    refused: int = 0
    """Questions whose excerpts have no room for a header and a chunk."""
    use: list[float] = field(default_factory=list)
    """Part of the budget that each excerpt uses whose document has more text."""

    def add(self, result: ExcerptResult, texts: dict[str, str], *, tokenizer: str) -> None:
        """Check one result against the texts of the documents."""
        count = make_tokenizer(tokenizer).count([result.context])[0]
        self.exceeded += count > result.excerpt_tokens * len(result.excerpts)
        self.exceeded += count != result.tokens
        ranges = sorted((e.document_id, s.start, s.end) for e in result.excerpts for s in e.spans)
        self.repeated += any(a[0] == b[0] and a[2] > b[1] for a, b in pairwise(ranges))
        shown: dict[str, int] = {}
        for document, start, end in ranges:
            shown[document] = shown.get(document, 0) + end - start
        for excerpt in result.excerpts:
            self.excerpts += 1
            self.exceeded += excerpt.tokens > result.excerpt_tokens
            text = texts[excerpt.document_id]
            self.inexact += any(s.text != text[s.start : s.end] for s in excerpt.spans)
            if shown[excerpt.document_id] < len(text):
                use = excerpt.tokens / result.excerpt_tokens
                self.use.append(use)
                self.unused += use < USED
                self.small += use < USED and result.excerpt_tokens == SMALL[1]


def ranges_of(excerpts: Sequence[Excerpt]) -> list[Range]:
    """Return what excerpts show, best first."""
    return [(e.document_id, span.start, span.end) for e in excerpts for span in e.spans]


def excerpts_of(
    searcher: Searcher, query: Query, size: tuple[int, int], *, headers: bool, tokenizer: str
) -> ExcerptResult:
    """Return the excerpts for one query."""
    return searcher.excerpts(
        SearchRequest(question=query.text, scope=Scope(documents=query.scope)),
        options=ExcerptOptions(
            excerpts=size[0],
            excerpt_tokens=size[1],
            headers=headers,
            tokenizer=tokenizer,
            abstain=False,
        ),
    )


def check(searcher: Searcher, texts: dict[str, str], queries: Sequence[Query]) -> Checked:
    """Check every size, with and without headers, under two tokenizers."""
    checked = Checked()
    for query in queries:
        for size in (*SIZES, SMALL):
            for tokenizer in ("chars:4", "o200k_base"):
                headers = size == SMALL or tokenizer == "o200k_base"
                try:
                    result = excerpts_of(
                        searcher, query, size, headers=headers, tokenizer=tokenizer
                    )
                except OptionError:
                    checked.refused += 1
                else:
                    checked.add(result, texts, tokenizer=tokenizer)
    return checked


def recalls(searcher: Searcher, plain: PlainBm25, query: Query) -> list[tuple[float, float, float]]:
    """Return recall of excerpts, segments and BM25 at each size, at equal tokens."""
    score = recall if query.evidence_chars else document_recall
    segments = spanwise_search(searcher, SegmentOptions.BALANCED, abstain=False)
    found = []
    for size in SIZES:
        budget = size[0] * size[1]
        result = excerpts_of(searcher, query, size, headers=False, tokenizer="chars:4")
        three = (ranges_of(result.excerpts), segments(query, budget), plain.search(query))
        excerpts, chosen, baseline = (score(query, cut(ranges, budget)) for ranges in three)
        found.append((excerpts, chosen, baseline))
    return found


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None) -> bool:
    """Check and measure some sets; print and write the table; return whether all holds."""
    head = " | ".join(f"{n} x {tokens:,}" for n, tokens in SIZES)
    lines = [
        f"| recall %: excerpts / segments / BM25 | {head} | used "
        f"| under 95 % + of {SMALL[1]} tokens | ms |",
        "|---" * (len(SIZES) + 4) + "|",
    ]
    holds = True
    everything: list[list[list[tuple[float, float, float]]]] = []
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        path = out / f"{name}.kb"
        base = KnowledgeBase(path, create=False) if path.exists() else build(dataset, out)
        with base:
            searcher = searcher_of(base, model_without(out, name))
            texts = {document.id: base.get(document.id).text for document in dataset.documents}
            checked = check(searcher, texts, dataset.queries)
            plain = PlainBm25(dataset)
            rows = [recalls(searcher, plain, query) for query in dataset.queries]
            times = []
            for query in dataset.queries:
                started = time.perf_counter()
                excerpts_of(searcher, query, (3, 1_000), headers=True, tokenizer=searcher.tokenizer)
                times.append(time.perf_counter() - started)
        everything.append(rows)
        wrong = (checked.exceeded, checked.repeated, checked.inexact)
        holds &= not any(wrong)
        means = np.mean(rows, axis=0) * 100
        cells = [" / ".join(f"{value:.1f}" for value in row) for row in means]
        below = f"{checked.unused - checked.small} + {checked.small} of {checked.excerpts:,}"
        lines.append(
            f"| {name} | {' | '.join(cells)} | {np.mean(checked.use or [1]):.1%} "
            f"| {below} | {np.median(times) * 1000:.1f} |"
        )
        print(
            lines[-1],
            "exceeded, repeated, inexact:",
            wrong,
            "refused:",
            checked.refused,
            flush=True,
        )
    for at, size in enumerate(SIZES):
        differences = np.concatenate(
            [np.array([row[at][0] - row[at][1] for row in rows]) for rows in everything]
        )
        low, high = interval(differences * 100)
        lines.append(
            f"\n{size[0]} x {size[1]:,}: excerpts less segments "
            f"{differences.mean() * 100:+.1f} [{low:.1f}, {high:.1f}] over all queries"
        )
    report = "\n".join(lines) + "\n"
    (out / "excerpts.md").write_text(report, encoding="utf-8")
    print(report)
    return holds


def main() -> None:
    """Read the command line and run."""
    with given(command_line(__doc__, sets=TEXT_SETS)) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        holds = run(arguments.datasets, arguments.out, arguments.sets, arguments.queries)
    if not holds:
        sys.exit("a budget was exceeded, a text came twice, or a span is not its text")


if __name__ == "__main__":
    main()

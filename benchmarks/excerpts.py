"""Check excerpts on the development sets, and measure their recall at equal tokens.

python -m benchmarks.excerpts DATASETS. For every query and several sizes, the script checks that
no budget is exceeded and no character is repeated, and how much of the budget is used. Then it
compares the recall of evidence characters with `search` and BM25 at equal tokens of text, with
weights trained on the other sets. The table is printed as Markdown and written to the output
folder.
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
"""Number of excerpts, and tokens per excerpt."""
SMALL = (3, 250)
"""Size that has room for little more than a header; checked with headers only."""
USED = 0.95


@dataclass
class Checked:
    """Counts of checked results of one set."""

    excerpts: int = 0
    exceeded: int = 0
    """Number of excerpts over their budget, and of contexts over the total budget."""
    repeated: int = 0
    """Number of results that contain a character twice."""
    inexact: int = 0
    """Number of spans whose text differs from the document."""
    unused: int = 0
    """Number of excerpts that use less than 95 % of their budget although more text exists."""
    small: int = 0
    """Number of excerpts in `unused` that have the small size."""
    refused: int = 0
    """Number of questions whose excerpts have no room for a header and a chunk."""
    use: list[float] = field(default_factory=list)
    """Share of the budget used by each excerpt of a document with more text."""

    def add(self, result: ExcerptResult, texts: dict[str, str], *, tokenizer: str) -> None:
        """Check one result against the document texts."""
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
    """Return the character ranges of excerpts, best first."""
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
    """Check every size, with and without headers, with two tokenizers."""
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
    """Return the recall of excerpts, segments and BM25 at each size, at equal tokens."""
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
    """Check and measure some sets; print and write the table; return whether all checks pass."""
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
    """Run the command line."""
    with given(command_line(__doc__, sets=TEXT_SETS)) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        holds = run(arguments.datasets, arguments.out, arguments.sets, arguments.queries)
    if not holds:
        sys.exit("a budget was exceeded, a text came twice, or a span is not its text")


if __name__ == "__main__":
    main()

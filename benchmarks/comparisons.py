"""Questions that compare or name documents: python -m benchmarks.comparisons DATASETS.

    python -m benchmarks.comparisons DATASETS --out OUT --keep --save new.json --against old.json

Asks the questions of comparisons.jsonl over the filings of `financebench_txt` and the contracts of
`cuad`. A comparison counts as shown if the result has a place in a document of each thing, and as
right if each of these places contains words of the subject (`holds`). The part "unseen" has
phrasings that were not used to develop the recognition. A question of the part "one" names one
document and counts if the best segment is in it.

With `--keep`, knowledge bases of earlier runs in OUT are reused, and sets are searched with weights
trained on the other sets if OUT has them (`benchmarks.train`). `--save` writes the results by
question, and `--against` reports paired differences to such a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, read_dataset
from benchmarks.lib.scoring import mean_difference
from benchmarks.lib.training import build
from benchmarks.named_things import rate
from benchmarks.quality import model_for
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.types import SearchResult, Segment

BUDGETS = (1_000, 4_000)
ONE, SEEN, UNSEEN = "one", "seen", "unseen"
_QUESTIONS = Path(__file__).with_suffix(".jsonl")

Scores = Mapping[str, Sequence[bool]]
"""Results of each question: shown and right at each budget; or one result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the documents that must be shown."""

    id: str
    part: str
    """`SEEN` or `UNSEEN` for comparisons, `ONE` for questions about one document."""
    phrasing: str
    question: str
    things: tuple[tuple[str, ...], ...]
    """Documents of each thing that the question names; any of them counts."""
    holds: str = ""
    """Pattern of words in a place that is about the subject; empty if it is not checked."""


def read_asked() -> list[Asked]:
    """Return the questions of comparisons.jsonl."""
    rows = [json.loads(line) for line in _QUESTIONS.read_text("utf-8").splitlines()]
    return [Asked(**{**row, "things": tuple(map(tuple, row["things"]))}) for row in rows]


def asked_of(dataset: Dataset) -> list[Asked]:
    """Return the questions about the documents of a set; for a sample, one for each two titles."""
    known = {document.id for document in dataset.documents}
    asked = [
        one for one in read_asked() if known.issuperset(d for thing in one.things for d in thing)
    ]
    if asked:
        return asked
    documents = dataset.documents
    return [
        Asked(
            id=f"sample-{first.id}",
            part=SEEN,
            phrasing="versus",
            question=f"{first.title} vs {second.title}",
            things=((first.id,), (second.id,)),
        )
        for first, second in zip(documents[::2], documents[1::2], strict=False)
    ]


def search(searcher: Searcher, question: str, budget: int) -> SearchResult:
    """Return the result for a question, counted by text alone."""
    options = SearchOptions(budget_tokens=budget, headers=False, tokenizer="chars:4")
    return searcher.search(SearchRequest(question=question), options=options)


def results_of(searcher: Searcher, asked: Asked) -> list[bool]:
    """Return whether all things are shown, and by places about the subject, at each budget."""
    if asked.part == ONE:
        segments = search(searcher, asked.question, BUDGETS[1]).segments
        best = min(segments, key=lambda segment: segment.rank, default=None)
        return [best is not None and best.document_id in asked.things[0]]
    results: list[bool] = []
    for budget in BUDGETS:
        segments = search(searcher, asked.question, budget).segments
        places = [_places(segments, documents) for documents in asked.things]
        results += [all(places), all(_holds(found, asked.holds) for found in places)]
    return results


def _places(segments: Sequence[Segment], documents: Sequence[str]) -> list[Segment]:
    return [segment for segment in segments if segment.document_id in documents]


def _holds(segments: Sequence[Segment], pattern: str) -> bool:
    return any(re.search(pattern, segment.text, re.IGNORECASE) for segment in segments)


def tables(asked: Sequence[Asked], scores: Scores) -> Iterator[str]:
    """Yield the lines of a table of comparisons, and of one of questions about one document."""
    compared = [one for one in asked if one.part != ONE]
    if compared:
        heads = [f"{what}, {budget:,}" for budget in BUDGETS for what in ("shown", "right")]
        yield f"| comparisons | {' | '.join(heads)} |"
        yield "|---" * (len(heads) + 1) + "|"
        groups = {
            name: [one for one in compared if one.phrasing == name] for name in _names(compared)
        }
        groups |= {
            f"all {part}": [o for o in compared if o.part == part] for part in (SEEN, UNSEEN)
        }
        for name, group in groups.items():
            if not group:
                continue
            columns = zip(*(scores[one.id] for one in group), strict=True)
            yield f"| {name} | {' | '.join(rate(column) for column in columns)} |"
    single = [one for one in asked if one.part == ONE]
    if single:
        yield "| questions about one document | best segment in it |"
        yield "|---|---|"
        for name in _names(single):
            yield f"| {name} | {rate([scores[o.id][0] for o in single if o.phrasing == name])} |"
        yield f"| all | {rate([scores[one.id][0] for one in single])} |"


def _names(asked: Sequence[Asked]) -> list[str]:
    return list(dict.fromkeys(one.phrasing for one in asked))


def differences(asked: Sequence[Asked], scores: Scores, others: Scores) -> Iterator[str]:
    """Yield a line for each part with the paired differences in points, with 95 % intervals."""
    for part in (SEEN, UNSEEN, ONE):
        shared = [one.id for one in asked if one.part == part and one.id in others]
        if not shared:
            continue
        mine, theirs = (
            np.array([found[key] for key in shared], float) for found in (scores, others)
        )
        yield f"{part}: {mean_difference([(mine - theirs) * 100])}, n = {len(shared)}"


def run(
    datasets: Path, names: Sequence[str], out: Path, *, keep: bool
) -> tuple[list[Asked], Scores]:
    """Ask the questions of some sets, and print the tables."""
    every: list[Asked] = []
    scores: dict[str, Sequence[bool]] = {}
    for name in names:
        dataset = read_dataset(datasets / name)
        out.mkdir(parents=True, exist_ok=True)
        with build(dataset, out, keep=keep) as base:
            searcher = searcher_of(base, model_for(out, name))
            asked = asked_of(dataset)
            scores |= {one.id: results_of(searcher, one) for one in asked}
        print(f"\n{name}", *tables(asked, scores), sep="\n", flush=True)
        every += asked
    return every, scores


def main() -> None:
    """Read the command line and run."""
    parser = command_line(__doc__, sets=["financebench_txt", "cuad"])
    parser.add_argument("--keep", action="store_true", help="reuse the knowledge bases in OUT")
    parser.add_argument("--save", type=Path, help="file for the results by question")
    parser.add_argument("--against", type=Path, help="results of another run")
    with given(parser) as arguments:
        asked, scores = run(arguments.datasets, arguments.sets, arguments.out, keep=arguments.keep)
        if arguments.save:
            arguments.save.write_text(json.dumps(scores) + "\n", encoding="utf-8")
        if arguments.against:
            others = json.loads(arguments.against.read_text("utf-8"))
            print(
                "\n| part | shown, right by budget |", *differences(asked, scores, others), sep="\n"
            )


if __name__ == "__main__":
    main()

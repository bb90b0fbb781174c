"""Recall of questions to each document: python -m benchmarks.each_document DATASETS.

Calls `ask_each` with a model that only records what it would read. The questions are those of
which_documents.jsonl ("Which contracts ...?"), about every fourth contract of `cuad`, and the
questions of `cuad` about single contracts. The table has the percentage of the labelled documents
of which the model reads a labelled place, with 95 % intervals over questions. In the rows with
written queries, the same question in other words is used in place of the queries of a model, if the
file has one. The last lines count the documents that `abstain` would leave out.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, read_dataset
from benchmarks.lib.training import build
from benchmarks.which_documents import STEP, Labelled, read_labelled
from spanwise.core.ranking.documents_question import read_request
from spanwise.evaluation.statistics import mean_interval
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.options import AnswerOptions
from spanwise.testing.models import ScriptedModel

SET, BUDGETS = "cuad", (2_000, 4_000)
_NOT_STATED = json.dumps({"working": "", "verdict": "not stated", "value": "", "statements": []})
_SEGMENT = re.compile(r'<segment\w* number="\d+" document="([^"]*)"[^>]* characters="(\d+)-(\d+)"')

Places = Mapping[str, Sequence[tuple[int, int]]]


def read_places(
    base: KnowledgeBase,
    question: str,
    *,
    queries: Sequence[str] = (),
    documents: Sequence[str] | None = None,
    options: AnswerOptions,
) -> Places:
    """Return the ranges that the model would read, by document."""
    read: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def answer(request: ModelRequest) -> str:
        if request.task == "queries":
            return json.dumps({"standalone": "", "queries": queries, "conditions": []})
        for name, start, end in _SEGMENT.findall(request.prompt):
            read[name].append((int(start), int(end)))
        return _NOT_STATED

    model = ScriptedModel(answer, concurrency=1)
    base.ask_each(
        question, llm=model, documents=documents, options=options, write_queries=bool(queries)
    )
    base.forget_outputs()
    return read


def share_read(labelled: Places, read: Places) -> float:
    """Return the percentage of the labelled documents of which a labelled place is read."""
    found = [
        any(start < last and first < end for start, end in places for first, last in read[name])
        for name, places in labelled.items()
    ]
    return 100 * sum(found) / len(found)


def other_words(asked: Labelled, all_asked: Sequence[Labelled]) -> list[str]:
    """Return the topic of a question in other words; empty if there is no such question."""
    others = [one for one in all_asked if one.topic == asked.topic and one.id != asked.id]
    requests = [read_request(one.question) for one in others]
    return [request.topic for request in requests if request is not None]


def table(base: KnowledgeBase, asked: Sequence[Labelled], dataset: Dataset) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| questions | {' | '.join(f'{budget:,} tokens' for budget in BUDGETS)} |"
    yield f"|---|{'---|' * len(BUDGETS)}"
    paired = [one for one in asked if one.documents and other_words(one, asked)]
    rows: dict[str, list[tuple[Labelled, list[str]]]] = {
        "Which ...?": [(one, []) for one in asked if one.documents],
        "Which ...?, with another wording": [(one, []) for one in paired],
        "the same, written queries": [(one, other_words(one, asked)) for one in paired],
    }
    for name, row in rows.items():
        cells = []
        for budget in BUDGETS:
            options = AnswerOptions(budget_tokens=budget)
            shares = []
            for one, queries in row:
                read = read_places(base, one.question, queries=queries, options=options)
                shares.append(share_read(one.documents, read))
            cells.append(_cell(shares))
        yield f"| {name} | {' | '.join(cells)} |"
    cells = [_cell(list(_single(base, dataset, budget))) for budget in BUDGETS]
    yield f"| of single contracts | {' | '.join(cells)} |"


def _single(base: KnowledgeBase, dataset: Dataset, budget: int) -> Iterator[float]:
    """Yield the share for each question about one document, without the title in the question."""
    known = {document.id for document in dataset.documents}
    for query in dataset.queries:
        places = query.evidence
        if len(places) == 1 and places.keys() <= known:
            question = query.text.partition(": ")[2] or query.text
            options = AnswerOptions(budget_tokens=budget)
            read = read_places(base, question, documents=list(places), options=options)
            yield share_read(places, read)


def _cell(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "none" if not values else f"{values[0]:.1f}"
    interval = mean_interval(values)
    return f"{interval.mean:.1f} ({interval.low:.1f} to {interval.high:.1f})"


def left_out(base: KnowledgeBase, asked: Sequence[Labelled]) -> Iterator[str]:
    """Yield the number of documents without a passage, with and without `abstain`."""
    documents = len(base.list())
    for abstain in (False, True):
        unread = labelled = 0
        for one in asked:
            options = AnswerOptions(budget_tokens=1_000, abstain=abstain)
            read = read_places(base, one.question, options=options)
            unread += documents - len(read)
            labelled += len(one.documents.keys() - read.keys())
        yield (
            f"abstain={abstain}: {unread} of {documents * len(asked)} documents are not read, "
            f"{labelled} of them labelled"
        )


def run(datasets: Path, name: str) -> None:
    """Measure and print the results."""
    dataset = read_dataset(datasets / name)
    chosen = replace(dataset, documents=dataset.documents[::STEP])
    asked = read_labelled(frozenset(document.id for document in chosen.documents))
    with tempfile.TemporaryDirectory() as folder, build(chosen, Path(folder)) as base:
        for line in chain(table(base, asked, chosen), left_out(base, asked)):
            print(line, flush=True)


def main() -> None:
    """Read the command line and run."""
    parser = command_line(__doc__, sets=[SET])
    with given(parser) as arguments:
        run(arguments.datasets, arguments.sets[0])


if __name__ == "__main__":
    main()

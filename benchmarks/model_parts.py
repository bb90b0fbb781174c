"""What a model adds over the offline parts: python -m benchmarks.model_parts DATASETS --llm MODEL.

    python -m benchmarks.model_parts DATASETS --llm openai:gpt-5-mini --sets qmsum --max-cost 5
    python -m benchmarks.model_parts DATASETS --llm openai:gpt-5-mini --rerank cohere:rerank-v3.5

Makes the knowledge base of each set twice: offline, and with sections by meaning, titles and
summaries by the model. Both are asked the same questions with the shipped weights, and once more
with a reranker where one is named; recall of evidence at equal tokens of text, and each difference
to the offline parts, paired by question. All that the models say is kept in the output folder: a
run that was stopped goes on, and a repeated one costs nothing. Prints a table and sentences in
Markdown and writes them to the output folder, with the name of the model. `--smoke` shows on tiny
sets, with a stand-in for a model, that it runs: its figures mean nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.model_server import running_model
from benchmarks.lib.published_sets import read_dataset
from benchmarks.lib.sample import SAMPLE_SETS
from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import SpanwiseError
from spanwise.evaluation.dataset import Dataset
from spanwise.evaluation.dataset_ingest import knowledge_base_of
from spanwise.evaluation.results import Evaluation, merged
from spanwise.evaluation.runner import evaluate
from spanwise.knowledge_base.internals import use_budget
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, Reranker
from spanwise.models.registry import make_language_model, make_reranker
from spanwise.testing.models import ScriptedReranker

BUDGETS = (1_000, 4_000)
METHOD = "exact+headers"
OFFLINE = "offline"
SETS = ("chroma", "cuad", "lbr_contractnli", "qmsum", "lihua_world", "squad_articles")
"""Of a size that a model can be paid for; name others by --sets."""
_SAMPLE_QUERIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What is asked, beside what is made offline."""

    llm: LanguageModel
    budget: Ledger = field(default_factory=Ledger)
    """Ledger with the cost limit of all documents together."""
    reranker: Reranker | None = None

    @property
    def called(self) -> str:
        """Return the name of the model without the address of its server."""
        return self.llm.name.partition("@")[0]

    @property
    def file_name(self) -> str:
        """Return a name that no other model has: what one made is not measured as another's."""
        told = re.sub(r"[^\w.-]+", "-", self.called)
        return f"made-{told}-{hashlib.sha256(self.llm.name.encode()).hexdigest()[:8]}"

    @property
    def methods(self) -> dict[str, str]:
        """Return what is measured on each knowledge base, with what it adds to its name."""
        reranked = {} if self.reranker is None else {f"{METHOD}+rerank": " and reranked"}
        return {METHOD: "", **reranked}


def fill(base: KnowledgeBase, dataset: Dataset, models: Models) -> None:
    """Add the documents of a set with the parts that the model makes."""
    context = ContextOptions(sections=True, headers=True)
    known = {record.id for record in base.list()}
    for document in dataset.documents:
        if document.id in known:
            continue
        if document.text is not None:
            report = base.add_text(
                document.text,
                document_id=document.id,
                title=document.title,
                llm=models.llm,
                context=context,
            )
        else:
            assert document.path is not None
            report = base.add(
                document.path, document_id=document.id, llm=models.llm, context=context
            )
        for warning in report.warnings:
            print(f"{document.id}: {warning}")
        assert not report.failed, report.failed
    base.optimise()


def measure(dataset: Dataset, out: Path, *, models: Models, queries: int | None) -> Evaluation:
    """Return what both knowledge bases of a set reach."""
    folder = out / "model_parts" / dataset.name
    folder.mkdir(parents=True, exist_ok=True)
    made = f"made by {models.called}"
    with (
        knowledge_base_of(dataset, folder / "offline.kb") as offline,
        KnowledgeBase(folder / f"{models.file_name}.kb") as base,
    ):
        use_budget(base, models.budget)
        fill(base, dataset, models)
        return merged(
            [
                _named(evaluated(one, dataset, models, queries), name, models)
                for name, one in ((OFFLINE, offline), (made, base))
            ]
        )


def evaluated(
    base: KnowledgeBase, dataset: Dataset, models: Models, queries: int | None
) -> Evaluation:
    """Return what is measured on one knowledge base."""
    return evaluate(
        dataset,
        base,
        retrievers=list(models.methods),
        budgets=BUDGETS,
        tokenizer="chars:4",
        reranker=models.reranker,
        limit=queries,
    )


def _named(evaluation: Evaluation, name: str, models: Models) -> Evaluation:
    """Return an evaluation whose retrievers say which knowledge base was searched."""
    return replace(
        evaluation,
        scores=tuple(
            replace(one, retriever=f"{name}{models.methods[one.retriever]}")
            for one in evaluation.scores
        ),
    )


def render(evaluation: Evaluation, models: Models) -> str:
    """Return the table and the sentences in Markdown."""
    head = " | ".join(f"recall at {budget:,}" for budget in BUDGETS)
    lines = [f"model: {models.called}"]
    if models.reranker is not None:
        lines.append(f"reranker: {models.reranker.name}")
    lines += ["", f"| set | parts | {head} |", "|---|---|" + "---|" * len(BUDGETS)]
    for dataset in (*evaluation.datasets, None):
        for name in evaluation.retrievers:
            cells = [_cell(evaluation, name, budget, dataset) for budget in BUDGETS]
            lines.append(f"| {dataset or 'mean'} | {name} | {' | '.join(cells)} |")
    lines.append("")
    for budget in BUDGETS:
        compared = evaluation.comparisons(OFFLINE, budget_tokens=budget)
        lines += [f"- at {budget:,} tokens: {one.sentence}" for one in compared]
    return "\n".join(lines) + "\n"


def _cell(evaluation: Evaluation, name: str, budget: int, dataset: str | None) -> str:
    interval = evaluation.interval("recall", name, budget, dataset=dataset)
    if interval is None:
        return ""
    return f"{100 * interval.mean:.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def run(datasets: Sequence[Dataset], out: Path, *, models: Models, queries: int | None) -> None:
    """Measure all sets; print and write what they came to."""
    evaluation = merged(
        [measure(dataset, out, models=models, queries=queries) for dataset in datasets]
    )
    report = render(evaluation, models)
    (out / "model_parts.md").write_text(report, encoding="utf-8")
    print(report)


def smoke(folder: Path) -> None:
    """Run on tiny sets with stand-ins for a model and a reranker."""

    def shared_words(query: str, text: str) -> float:
        return len(set(query.lower().split()) & set(text.lower().split()))

    with running_model(0.0) as server:
        models = Models(
            llm=make_language_model(f"compatible:stand-in@{server.url}/v1", options=ModelOptions()),
            reranker=ScriptedReranker(shared_words),
        )
        sets = [read_dataset("spanwise", folder / name) for name in SAMPLE_SETS]
        run(sets, folder, models=models, queries=_SAMPLE_QUERIES)


def main() -> None:
    """Read the command line and run."""
    parser = command_line(__doc__, sets=SETS)
    parser.add_argument("--llm", help="vendor and model that makes sections, titles, summaries")
    parser.add_argument("--rerank", help="reranker that both knowledge bases are asked with too")
    parser.add_argument("--max-cost", type=float, help="US dollars at most, without the reranker")
    with given(parser) as arguments:
        if arguments.smoke:
            smoke(arguments.datasets)
            return
        if not arguments.llm:
            parser.error("give --llm")
        options, named = ModelOptions(max_cost=arguments.max_cost), arguments.rerank
        try:
            run(
                [read_dataset("spanwise", arguments.datasets / name) for name in arguments.sets],
                arguments.out,
                models=Models(
                    llm=make_language_model(arguments.llm, options=options),
                    budget=Ledger(max_cost=options.max_cost),
                    reranker=make_reranker(named, options=options) if named else None,
                ),
                queries=arguments.queries,
            )
        except SpanwiseError as error:
            parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()

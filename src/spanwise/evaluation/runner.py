"""Evaluation of retrievers on the questions of a dataset, at equal token budgets.

Rules:
    All arguments, questions and evidence are checked before the first search.
    Each question is searched once per budget. Text beyond the budget is discarded; headers are not
    counted. The measured time is the search alone, without truncation, scoring or indexing. One
    extra search is run first to warm up caches, but not with a reranker or an external retriever,
    because it may cost money.
    A failed search returns nothing and adds a warning. Three failures in a row end the evaluation.
    Fallbacks are disabled: a search whose embedder or reranker fails is a failed search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import CostLimitError, ModelKeyError, OptionError
from spanwise.evaluation.checkpoint import Checkpoint, SearchOutcome, dependencies_of, settings_of
from spanwise.evaluation.dataset_ingest import texts
from spanwise.evaluation.datasets import usable_questions
from spanwise.evaluation.metrics import cut, score
from spanwise.evaluation.results import Evaluation, Scored
from spanwise.evaluation.retrievers import EvaluationContext, Placer
from spanwise.evaluation.retrievers.factory import (
    PlannedRetriever,
    read_retrievers,
)
from spanwise.evaluation.retrievers.text_location import with_unplaced
from spanwise.search.tuned_options import Tuning
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset, DocumentText, LabelledQuestion
    from spanwise.evaluation.retrieval import Retriever
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Reranker
    from spanwise.options import ModelOptions


BUDGETS = (1_000, 4_000)
"""Default budgets in tokens."""

_MAX_BUDGET = 10_000_000
_FAILURES = 3
_REASONS = 3
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProgress:
    """Progress of an evaluation, reported before and after each search."""

    retriever: str
    """Name of the retriever."""
    budget_tokens: int
    done: int
    """Number of finished searches, including the searches of an earlier interrupted run."""
    total: int
    """Number of all searches: retrievers x budgets x questions."""


def evaluate(  # noqa: PLR0913 - options are keywords, each with a default
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    retrievers: Sequence[str | Retriever | Callable[..., object]],
    budgets: Sequence[int] = BUDGETS,
    tokenizer: str | None = None,
    reranker: str | Reranker | None = None,
    tuning: str | Path | Tuning | None = None,
    on_progress: Callable[[EvaluationProgress], None] | None = None,
    limit: int | None = None,
    models: ModelOptions | None = None,
    work: str | Path | None = None,
    budget: Ledger | None = None,
) -> Evaluation:
    """Measure retrievers on the questions of a dataset.

    Args:
        dataset: Questions with evidence.
        base: Knowledge base with the documents. Only its cache of model outputs is changed.
        retrievers: Retrievers to measure: names of methods (`METHODS`), such as
            "exact:precise+headers+rerank"; "module:function"; functions; or retrievers of
            LangChain, LlamaIndex and Haystack (`adapt`).
        budgets: Budgets in tokens.
        tokenizer: Tokenizer for the budgets; None for the tokenizer of the knowledge base.
        reranker: Reranker for the methods with "+rerank".
        tuning: Tuning for the methods with "+tuned", written by `spanwise tune`.
        on_progress: Function called before and after each search.
        limit: Maximum number of questions, evenly spaced over the dataset; None for all.
        models: Options of the models. `max_cost` limits the total cost of reranker and embedder,
            including the recorded cost of results in the work folder.
        work: Folder for finished results and indexes, from which an interrupted evaluation
            continues; None to store nothing.
        budget: Budget shared by several runs; None if the run has its own budget.

    Returns:
        The measurements. `notes` reports unusable questions of a published dataset.

    Raises:
        OptionError: If a name, option or question is invalid, or a retriever fails for three
            questions in a row (its error is the cause).
        ModelKeyError: If the API key of a model is missing or rejected.
        CostLimitError: If a call could exceed the cost limit.
    """
    folder = None if work is None else Path(work)
    known = texts(base, dataset=dataset)
    dataset = usable_questions(dataset, known, called=f"the questions of {dataset.name}")
    check_numbers(dataset.questions, budgets, limit)
    questions = evenly_spaced(dataset.questions, limit)
    with EvaluationContext(
        base,
        tokenizer=tokenizer,
        reranker=reranker,
        tuning=tuning,
        models=models,
        work=folder,
        budget=budget,
    ) as context:
        planned = read_retrievers(retrievers, context)
        settings = settings_of(dataset, questions, context)
        run = _Run(
            dataset=dataset.name,
            questions=questions,
            context=context,
            budgets=tuple(budgets),
            checkpoint=Checkpoint(folder, depends_on=dependencies_of(questions, context, settings)),
            texts=with_unplaced(known),
            placer=Placer(known),
            on_progress=on_progress,
            total=len(planned) * len(budgets) * len(questions),
        )
        scores = tuple(
            scored
            for number, retriever in enumerate(planned)
            for scored in run.measure(number, retriever)
        )
    return Evaluation(
        scores=scores,
        tokenizer=context.tokenizer.name,
        settings={
            **settings,
            "retrievers": [retriever.name for retriever in planned],
            "budgets": list(budgets),
        },
        notes=tuple(_left_out(dataset)),
    )


def check_numbers(questions: Sequence[object], budgets: Sequence[int], limit: int | None) -> None:
    """Check the number of questions, the budgets and the limit.

    Raises:
        OptionError: If one of them is out of range.
    """
    if not questions:
        raise OptionError("the dataset has no questions; give at least one")
    is_fit = all(
        isinstance(budget, int) and not isinstance(budget, bool) and 1 <= budget <= _MAX_BUDGET
        for budget in budgets
    )
    if not budgets or not is_fit or len(set(budgets)) < len(budgets):
        raise OptionError(
            f"budgets are {list(budgets)!r}; give whole numbers from 1 to {_MAX_BUDGET:,}, "
            "each once"
        )
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit!r}; it must be at least 1")


def evenly_spaced(
    questions: Sequence[LabelledQuestion], limit: int | None
) -> tuple[LabelledQuestion, ...]:
    """Return at most `limit` questions, evenly spaced over the dataset; all for None."""
    total = len(questions)
    if limit is None or limit >= total:
        return tuple(questions)
    return tuple(questions[number * total // limit] for number in range(limit))


def _left_out(dataset: Dataset) -> Iterator[str]:
    """Yield a note about the unusable questions of a published dataset, if there are any."""
    left_out = dataset.left_out
    if left_out is None or not left_out.count:
        return
    reasons = left_out.reasons[:_REASONS]
    rest = left_out.count - len(reasons)
    more = f"; and {rest:,} more" if rest > 0 else ""
    total = len(dataset.questions) + left_out.count
    yield (
        f"{dataset.name}: {left_out.count:,} of {total:,} questions left out: "
        f"{'; '.join(reasons)}{more}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """State of one evaluation; retrievers are measured one after the other."""

    dataset: str
    questions: Sequence[LabelledQuestion]
    context: EvaluationContext
    budgets: Sequence[int]
    checkpoint: Checkpoint
    texts: Mapping[str, DocumentText]
    placer: Placer
    on_progress: Callable[[EvaluationProgress], None] | None
    total: int
    """Number of all searches."""

    def _report(self, retriever: str, budget_tokens: int, done: int) -> None:
        if self.on_progress is not None:
            self.on_progress(
                EvaluationProgress(
                    retriever=retriever, budget_tokens=budget_tokens, done=done, total=self.total
                )
            )

    def measure(self, number: int, planned: PlannedRetriever) -> Iterator[Scored]:
        """Yield the results of a retriever, budget by budget.

        Args:
            number: Number of retrievers that were measured before.
            planned: Retriever to measure.
        """
        done = number * len(self.budgets) * len(self.questions)
        retriever: Retriever | None = None
        for budget in self.budgets:
            rows = self.checkpoint.get(planned.name, budget) if planned.is_stored else None
            self._report(planned.name, budget, done)
            if rows is None:
                if retriever is None:
                    retriever = planned.make()
                    if planned.is_free:
                        self._tried(retriever, self.questions[0], self.budgets[0])
                rows, has_failed = self._searched(retriever, budget, done)
                if planned.is_stored and not has_failed:
                    self.checkpoint.put(planned.name, budget, rows)
            else:
                self.context.ledger.count("checkpoint", sum((row.usage for row in rows), Usage()))
            done += len(self.questions)
            self._report(planned.name, budget, done)
            for question, row in zip(self.questions, rows, strict=True):
                yield self._scored(question, row, planned.name, budget)

    def _searched(
        self, retriever: Retriever, budget: int, done: int
    ) -> tuple[tuple[SearchOutcome, ...], bool]:
        """Return the outcome of each question, and whether a search failed.

        Raises:
            OptionError: If the search fails for several questions in a row.
        """
        rows: list[SearchOutcome] = []
        failures, has_failed = 0, False
        for number, question in enumerate(self.questions, start=1):
            row, error = self._tried(retriever, question, budget)
            failures = 0 if error is None else failures + 1
            has_failed = has_failed or error is not None
            if error is not None and failures == min(_FAILURES, len(self.questions)):
                raise OptionError(
                    f"the retriever {retriever.name!r} failed for {failures} questions in a row, "
                    f"the last time for {question.text[:_SHOWN_CHARS]!r}: {_words(error)}"
                ) from error
            rows.append(row)
            self._report(retriever.name, budget, done + number)
        return tuple(rows), has_failed

    def _tried(
        self, retriever: Retriever, question: LabelledQuestion, budget: int
    ) -> tuple[SearchOutcome, Exception | None]:
        """Return the outcome of a search, and its error; None for a successful search."""
        started = time.perf_counter()
        try:
            return self._found(retriever, question, budget), None
        except (ModelKeyError, CostLimitError):
            raise
        except Exception as error:  # noqa: BLE001 - an external retriever may raise anything
            seconds = time.perf_counter() - started
            warning = f"the search failed and counts as a search without results: {_words(error)}"
            return SearchOutcome(found=(), seconds=seconds, warnings=(warning,)), error

    def _found(
        self, retriever: Retriever, question: LabelledQuestion, budget: int
    ) -> SearchOutcome:
        started = time.perf_counter()
        retrieval = retriever.retrieve(
            question.text, budget_tokens=budget, documents=question.scope
        )
        seconds = time.perf_counter() - started
        placed = self.placer.place(retrieval, documents=question.scope)
        return SearchOutcome(
            found=cut(
                placed.found, budget_tokens=budget, count=self.context.count, texts=self.texts
            ),
            seconds=seconds,
            usage=placed.usage,
            warnings=placed.warnings,
        )

    def _scored(
        self, question: LabelledQuestion, row: SearchOutcome, retriever: str, budget: int
    ) -> Scored:
        return Scored(
            dataset=self.dataset,
            question=question,
            retriever=retriever,
            budget_tokens=budget,
            found=row.found,
            metrics=score(question, row.found, self.texts, count=self.context.count),
            seconds=row.seconds,
            usage=row.usage,
            warnings=row.warnings,
        )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

"""Evaluation of retrievers on the questions of a dataset, at equal token budgets.

Rules:
    All arguments are checked before the first search: names of methods, the objects they need,
    questions and their evidence.
    Each question is searched once per budget. Only text counts; what exceeds the budget is
    truncated. The time is that of the search, without truncation, scoring and the creation of
    indexes. An uncounted first search warms up caches, except for methods with a reranker and for
    other retrievers, whose searches may cost money.
    A failed search has no results and a warning with the reason; three in a row end the evaluation.
    A search whose embedder or reranker fails has failed: its fallback is another method.
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
    """Progress of an evaluation, before the first question of a retriever and after each."""

    retriever: str
    budget_tokens: int
    done: int
    """Number of finished searches of all retrievers and budgets, those of earlier runs included."""
    total: int


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
    """Return the results of retrievers for the questions of a dataset.

    Args:
        dataset: The questions.
        base: Knowledge base with the documents. It is not changed, except for cached outputs of
            models.
        retrievers: Names of methods (`METHODS`), such as "exact:precise+headers+rerank";
            "module:function"; functions; objects of LangChain, LlamaIndex and Haystack (`adapt`).
        budgets: Budgets in tokens.
        tokenizer: Tokenizer that counts; None for that of the knowledge base.
        reranker: Reranker of methods with "+rerank".
        tuning: Tuning of `spanwise tune`, for methods with "+tuned".
        on_progress: Called before and after each search.
        limit: Maximum number of questions, evenly spaced over the dataset; None for all.
        models: Options of a reranker given by name; `max_cost` limits reranker and embedder
            together. The recorded cost of parts in the work folder counts too.
        work: Folder for finished parts and indexes, so that an interrupted evaluation continues;
            None to keep nothing.
        budget: Shared budget of several runs; None for none.

    Raises:
        OptionError: If a name, option or question is not usable, or a retriever fails for three
            questions in a row, with its error as the cause. A few unusable questions of a published
            dataset are left out (`notes`).
        ModelKeyError: If there is no key for a model, or it is refused.
        CostLimitError: If a call may cost more than is left.
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
        wanted = read_retrievers(retrievers, context)
        settings = settings_of(dataset, questions, context)
        run = _Run(
            dataset=dataset.name,
            questions=questions,
            context=context,
            budgets=tuple(budgets),
            kept=Checkpoint(folder, depends_on=dependencies_of(questions, context, settings)),
            texts=with_unplaced(known),
            placer=Placer(known),
            progress=_Progress(on_progress, len(wanted) * len(budgets) * len(questions)),
        )
        scores = tuple(
            scored
            for number, planned in enumerate(wanted)
            for scored in run.measure(number, planned)
        )
    return Evaluation(
        scores=scores,
        tokenizer=context.tokenizer.name,
        settings={
            **settings,
            "retrievers": [planned.name for planned in wanted],
            "budgets": list(budgets),
        },
        notes=tuple(_left_out(dataset)),
    )


def check_numbers(questions: Sequence[object], budgets: Sequence[int], limit: int | None) -> None:
    """Raise if questions, budgets or limit are out of range."""
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
    """Return a number of questions, evenly spaced to cover all documents."""
    total = len(questions)
    if limit is None or limit >= total:
        return tuple(questions)
    return tuple(questions[number * total // limit] for number in range(limit))


def _left_out(dataset: Dataset) -> Iterator[str]:
    """Yield a note about the questions that are left out."""
    left_out = dataset.left_out
    if left_out is None or not left_out.count:
        return
    told = left_out.reasons[:_REASONS]
    more = f"; and {left_out.count - len(told):,} more" if left_out.count > len(told) else ""
    total = len(dataset.questions) + left_out.count
    yield (
        f"{dataset.name}: {left_out.count:,} of {total:,} questions left out: "
        f"{'; '.join(told)}{more}"
    )


@dataclass(frozen=True, slots=True)
class _Progress:
    """Reports the number of searches."""

    hear: Callable[[EvaluationProgress], None] | None
    total: int

    def tell(self, retriever: str, budget_tokens: int, done: int) -> None:
        if self.hear is not None:
            self.hear(
                EvaluationProgress(
                    retriever=retriever, budget_tokens=budget_tokens, done=done, total=self.total
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Measures one retriever after the other."""

    dataset: str
    questions: Sequence[LabelledQuestion]
    context: EvaluationContext
    budgets: Sequence[int]
    kept: Checkpoint
    texts: Mapping[str, DocumentText]
    placer: Placer
    progress: _Progress

    def measure(self, number: int, wanted: PlannedRetriever) -> Iterator[Scored]:
        """Yield the results of a retriever by budget; `number` retrievers are finished."""
        done = number * len(self.budgets) * len(self.questions)
        retriever: Retriever | None = None
        for budget in self.budgets:
            rows = self.kept.get(wanted.name, budget) if wanted.is_kept else None
            self.progress.tell(wanted.name, budget, done)
            if rows is None:
                if retriever is None:
                    retriever = wanted.make()
                    if wanted.is_free:
                        self._tried(retriever, self.questions[0], self.budgets[0])
                rows, has_failed = self._searched(retriever, budget, done)
                if wanted.is_kept and not has_failed:
                    self.kept.put(wanted.name, budget, rows)
            else:
                self.context.ledger.count("checkpoint", sum((row.usage for row in rows), Usage()))
            done += len(self.questions)
            self.progress.tell(wanted.name, budget, done)
            for question, row in zip(self.questions, rows, strict=True):
                yield self._scored(question, row, wanted.name, budget)

    def _searched(
        self, retriever: Retriever, budget: int, done: int
    ) -> tuple[tuple[SearchOutcome, ...], bool]:
        """Return the results of each question, and whether a search failed.

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
            self.progress.tell(retriever.name, budget, done + number)
        return tuple(rows), has_failed

    def _tried(
        self, retriever: Retriever, question: LabelledQuestion, budget: int
    ) -> tuple[SearchOutcome, Exception | None]:
        """Return the results of a search, empty with the error of a failed one."""
        started = time.perf_counter()
        try:
            return self._found(retriever, question, budget), None
        except (ModelKeyError, CostLimitError):
            raise
        except Exception as error:  # noqa: BLE001 - other people's code may raise anything
            seconds = time.perf_counter() - started
            warning = f"the search failed, and counts as one that found nothing: {_words(error)}"
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

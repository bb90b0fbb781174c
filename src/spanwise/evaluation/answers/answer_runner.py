"""Evaluation of answers: answer the questions, then grade the answers with a judge model.

Rules:
    A question is answered by `KnowledgeBase.ask`, or by a model that reads the texts returned by a
    retriever. The model, the instructions and the token budget are the same for all retrievers, and
    headers are not included, so that only the texts differ.
    A failed answer is included in the results, with its error.
    `estimate_answers` estimates the usage of the same steps without calling a language model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.answers.estimate import estimate_answer
from spanwise.core.text.fences import fence_tag
from spanwise.errors import CostLimitError, ModelKeyError, OptionError, SpanwiseError
from spanwise.evaluation.answers.grader import (
    Graded,
    Grading,
    Judged,
    grade_answers,
    is_unanswerable,
)
from spanwise.evaluation.dataset import DocumentText, LabelledQuestion
from spanwise.evaluation.dataset_ingest import texts
from spanwise.evaluation.metrics import Count, cut
from spanwise.evaluation.metrics.ranges import place
from spanwise.evaluation.retrieval import Retrieved, Retriever
from spanwise.evaluation.retrievers import EvaluationContext, Placer
from spanwise.evaluation.retrievers.factory import read_retrievers
from spanwise.evaluation.retrievers.text_location import with_unplaced
from spanwise.evaluation.run_models import (
    FAILURES_IN_A_ROW,
    CallCounter,
    CircuitBreaker,
    make_model,
    run_ledger,
)
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import answerer_of, store_of
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import DryRunModel, ReadOnlyOutputs, dry_run_caller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel
from spanwise.models.prompts.answer_grades import RUBRIC_INSTRUCTIONS, VERDICT_INSTRUCTIONS
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.threads import map_bounded
from spanwise.types import AnswerCitation, Usage
from spanwise.types.output_cache import OutputCache

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset
    from spanwise.models.ports import Reranker
    from spanwise.search.tuned_options import Tuning


ASK = "ask"
"""Name of the answerer that calls `KnowledgeBase.ask`."""
_MAX_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """Answer to a question, or the error that prevented it."""

    text: str = ""
    refused: bool = False
    """Whether the model stated that the documents do not answer the question."""
    citations: tuple[AnswerCitation, ...] = ()
    """Quotes of the answer with their places; empty if the answerer does not check quotes."""
    failure: SpanwiseError | None = None
    """Error that prevented the answer; None if there is an answer."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    """Time to answer, in seconds."""

    def ungraded(self, dataset: str, question: LabelledQuestion, answerer: str) -> Graded:
        """Return this answer as a `Graded` object without grades."""
        return Graded(
            dataset=dataset,
            question=question,
            answerer=answerer,
            answer=self.text,
            refused=self.refused,
            quotes=len(self.citations),
            verified_quotes=sum(cited.verified for cited in self.citations),
            quoted_documents=tuple(
                dict.fromkeys(
                    cited.citation.document_id
                    for cited in self.citations
                    if cited.verified and cited.citation is not None
                )
            ),
            outcome="ungraded",
            error="" if self.failure is None else str(self.failure),
            seconds=self.seconds,
            usage=self.usage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Function that answers questions, with its name and its ledger."""

    name: str
    answer: Callable[[LabelledQuestion, Ledger], GivenAnswer]
    ledger: Ledger

    def __call__(self, question: LabelledQuestion) -> GivenAnswer:
        """Return the answer to a question, with its time.

        Raises:
            CostLimitError: If a call could exceed the cost limit.
            ModelKeyError: If the provider rejects the API key.
        """
        started = time.perf_counter()
        ledger = Ledger(parent=self.ledger)
        try:
            answer = self.answer(question, ledger)
        except (CostLimitError, ModelKeyError):
            raise
        except SpanwiseError as error:
            answer = GivenAnswer(failure=error, usage=ledger.usage)
        return replace(answer, seconds=time.perf_counter() - started)


def ask_answerer(
    base: KnowledgeBase,
    *,
    llm: LanguageModel,
    options: AnswerOptions,
    ledger: Ledger,
) -> Answerer:
    """Return the answerer that calls `KnowledgeBase.ask`.

    Args:
        base: Knowledge base with the documents.
        llm: Model that answers.
        options: Options of the answers.
        ledger: Ledger of the run.
    """

    def answer(question: LabelledQuestion, budget: Ledger) -> GivenAnswer:
        answerer = answerer_of(
            base, budget=budget, llm=llm, documents=question.scope, options=options
        )
        result = answerer.answer(question.text)
        return GivenAnswer(
            text=result.text,
            refused=result.refused,
            citations=result.citations,
            usage=result.usage,
        )

    return Answerer(name=ASK, answer=answer, ledger=ledger)


def _estimating_answerer(
    base: KnowledgeBase, *, llm: LanguageModel, options: JudgingOptions
) -> Answerer:
    """Return an answerer that estimates the usage of `KnowledgeBase.ask`."""

    def answer(question: LabelledQuestion, budget: Ledger) -> GivenAnswer:
        answerer = answerer_of(
            base, budget=budget, llm=llm, documents=question.scope, options=options.answers
        )
        usage, cached = estimate_answer(
            answerer,
            question.text,
            llm=llm,
            cache=store_of(base),
            answer_retries=options.models.answer_retries,
        )
        if cached is None:
            return GivenAnswer(usage=usage)
        return GivenAnswer(text=cached.text, refused=cached.refused, usage=usage)

    return Answerer(name=ASK, answer=answer, ledger=Ledger())


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReading:
    """Settings for answering from the texts of a retriever; all retrievers share them."""

    llm: LanguageModel
    cache: OutputCache
    """Cache of the model outputs."""
    texts: Mapping[str, DocumentText]
    """Document texts by id."""
    count: Count
    """Function that counts the tokens of a text."""
    options: AnswerOptions
    ledger: Ledger
    """Ledger of the run."""
    answer_retries: int = 1
    """Maximum retries after an invalid answer."""


def context_answerer(retriever: Retriever, *, reading: ContextReading) -> Answerer:
    """Return an answerer whose model reads the texts returned by a retriever.

    Calls of the retriever are serialised by a lock, because it may not be thread-safe.
    """
    lock, placer = Lock(), Placer(reading.texts)
    texts = with_unplaced(reading.texts)
    budget = reading.options.budget_tokens

    def answer(question: LabelledQuestion, ledger: Ledger) -> GivenAnswer:
        with lock:
            retrieval = placer.place(
                retriever.retrieve(question.text, budget_tokens=budget, documents=question.scope),
                documents=question.scope,
            )
        within = cut(retrieval.found, budget_tokens=budget, count=reading.count, texts=texts)
        passages = [passage for item in within if (passage := _passage(item, texts)) is not None]
        if not passages:
            return GivenAnswer(refused=True, usage=retrieval.usage)
        task = answer_task(
            Question(text=question.text, options=reading.options),
            context=_context(_in_reading_order(passages)),
            first=passages[0].text,
        )
        caller = ModelCaller(
            model=reading.llm,
            cache=reading.cache,
            answer_retries=reading.answer_retries,
            ledger=Ledger(parent=ledger),
        )
        draft = caller.call(task.request, read=task.read)
        statements = " ".join(statement.text for statement in draft.statements)
        return GivenAnswer(
            text=statements if draft.answered else "",
            refused=not draft.answered,
            usage=caller.usage + retrieval.usage,
        )

    return Answerer(name=retriever.name, answer=answer, ledger=reading.ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """Text that the model reads, with its position."""

    document_id: str
    start: int
    text: str


def _passage(item: Retrieved, texts: Mapping[str, DocumentText]) -> _Passage | None:
    """Return the text of a result and its position; None if the text is blank."""
    located = place(item, texts)
    if located is None or not located.text.strip():
        return None
    start = 0 if located.characters is None else located.characters[0]
    return _Passage(document_id=item.document_id, start=start, text=located.text)


def _in_reading_order(passages: Sequence[_Passage]) -> list[_Passage]:
    """Return passages sorted by document and position, beginning with the best document."""
    ids = dict.fromkeys(passage.document_id for passage in passages)
    ranks = {document_id: rank for rank, document_id in enumerate(ids)}
    return sorted(passages, key=lambda passage: (ranks[passage.document_id], passage.start))


def _context(passages: Sequence[_Passage]) -> str:
    """Return the passages as a prompt: numbered, each in a fence, with its document id."""
    tag = fence_tag([part for passage in passages for part in (passage.document_id, passage.text)])
    return "\n\n".join(
        f'<{tag} number="{number}">\nDocument: {" ".join(passage.document_id.split())}\n\n'
        f"{passage.text.strip()}\n</{tag}>"
        for number, passage in enumerate(passages, 1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """Options of answering and grading."""

    repeats: int = 1
    """Number of times that the judge grades each answer, from 1 to 20."""
    controls: bool = True
    """Whether each passed answer is also graded against the right answer of another question."""
    contexts: Sequence[str | Retriever | Callable[..., object]] = ()
    """Retrievers whose texts the model answers from; empty to use `KnowledgeBase.ask`."""
    reranker: str | Reranker | None = None
    """Reranker for the retrievers whose names contain "+rerank"."""
    tuning: str | Path | Tuning | None = None
    """Tuning for the retrievers whose names contain "+tuned"."""
    answers: AnswerOptions = field(default_factory=AnswerOptions)
    """Options of the answers, such as the token budget."""
    models: ModelOptions = field(default_factory=ModelOptions)
    """Options of the models; `max_cost` limits the total cost of all models."""
    tokenizer: str | None = None
    """Tokenizer for the token budget; None for the tokenizer of the knowledge base."""
    work: Path | None = None
    """Folder for the indexes of retrievers; None to keep the indexes in memory."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            OptionError: If a number is out of range, or an option has no effect.
        """
        if not 1 <= self.repeats <= _MAX_REPEATS:
            raise OptionError(f"repeats is {self.repeats}; give 1 to {_MAX_REPEATS}")
        for name, part in (("reranker", "+rerank"), ("tuning", "+tuned")):
            if getattr(self, name) is not None and not self.contexts:
                raise OptionError(
                    f"{name} has no effect without contexts; name retrievers with {part} as "
                    "contexts"
                )


def judge_answers(  # noqa: PLR0913 - options are keywords, each with a default
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    llm: str | LanguageModel,
    judge: str | LanguageModel,
    options: JudgingOptions | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    budget: Ledger | None = None,
) -> Judged:
    """Return the graded answer to each question.

    Model outputs are cached in the knowledge base, so an interrupted run can be continued.

    Args:
        dataset: Questions with a right answer, a rubric, or a label as unanswerable.
        base: Knowledge base with the documents.
        llm: Model that answers: "vendor:model" or an object.
        judge: Model that grades: "vendor:model" or an object. It should differ from `llm`, because
            models prefer their own text.
        options: Options of answering and grading.
        on_progress: Function called with the step ("answers" or "grades"), the number of finished
            items, and the number of all items.
        budget: Budget shared by several runs; None if the run has its own budget.

    Raises:
        OptionError: If no answer can be graded, a model does not support an option, or the first
            five answers all fail.
        ModelError: If a model cannot be reached five times in a row. Answers so far are cached.
        ModelKeyError: If the API key of a model is missing or rejected.
        CostLimitError: If a call could exceed the cost limit. Answers so far are cached.
    """
    options = options or JudgingOptions()
    check_gradable(dataset)
    ledger = run_ledger(options.models, budget)
    answering, judging = (
        make_model(model, models=options.models, cache=store_of(base), ledger=ledger)
        for model in (llm, judge)
    )
    progress = _RunProgress(on_progress)
    answers = _answers(
        dataset, base, answering=answering, options=options, ledger=ledger, progress=progress
    )
    progress.begin(total=len(answers) * options.repeats)
    caller = ModelCaller(
        model=judging,
        cache=store_of(base),
        answer_retries=options.models.answer_retries,
        ledger=Ledger(listener=CallCounter(progress.grades), parent=ledger),
    )
    graded = grade_answers(
        answers,
        grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls),
    )
    return Judged(
        grades=tuple(graded),
        llm=answering.name,
        judge=judging.name,
        repeats=options.repeats,
        usage=sum((answer.usage for answer in graded), Usage()),
        judge_usage=caller.usage,
        settings={
            "budget_tokens": options.answers.budget_tokens,
            "controls": options.controls,
            "verdict_instructions": VERDICT_INSTRUCTIONS,
            "rubric_instructions": RUBRIC_INSTRUCTIONS,
        },
    )


def _answers(
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    answering: LanguageModel,
    options: JudgingOptions,
    ledger: Ledger,
    progress: _RunProgress,
) -> list[Graded]:
    """Return the answers of all answerers to all questions, without grades."""

    def answers_of(answerers: Sequence[Answerer]) -> list[Graded]:
        progress.begin(total=len(answerers) * len(dataset.questions))
        return map_bounded(
            lambda pair: progress.finished(pair[0](pair[1])).ungraded(
                dataset.name, pair[1], pair[0].name
            ),
            [(answerer, question) for answerer in answerers for question in dataset.questions],
            limit=answering.concurrency,
        )

    if options.contexts:
        with EvaluationContext(
            base,
            tokenizer=options.tokenizer,
            reranker=options.reranker,
            tuning=options.tuning,
            models=replace(options.models, max_cost=None),
            work=options.work,
            budget=ledger,
        ) as context:
            reading = _reading(context, answering, dataset, options)
            return answers_of(_context_answerers(context, reading, options))
    return answers_of([ask_answerer(base, llm=answering, options=options.answers, ledger=ledger)])


def check_gradable(dataset: Dataset) -> None:
    """Check that at least one answer can be graded, before anything is paid for.

    Raises:
        OptionError: If no question has an answer, a rubric or a label as unanswerable.
    """
    questions = dataset.questions
    if not any(
        question.answer.strip() or question.rubric.strip() or is_unanswerable(question)
        for question in questions
    ):
        raise OptionError(
            f"none of the {len(questions)} questions of {dataset.name} has an answer, a rubric, or "
            'a label as unanswerable ("answerable": false in its metadata), so no answer can be '
            "graded; add answers to the questions, or measure retrieval only"
        )


def _reading(
    context: EvaluationContext, llm: LanguageModel, dataset: Dataset, options: JudgingOptions
) -> ContextReading:
    return ContextReading(
        llm=llm,
        cache=store_of(context.base),
        texts=texts(context.base, dataset=dataset),
        count=context.count,
        options=options.answers,
        ledger=context.ledger,
        answer_retries=options.models.answer_retries,
    )


def _context_answerers(
    context: EvaluationContext, reading: ContextReading, options: JudgingOptions
) -> list[Answerer]:
    return [
        context_answerer(planned.make(), reading=reading)
        for planned in read_retrievers(options.contexts, context)
    ]


class _RunProgress:
    """Thread-safe progress of a run."""

    def __init__(self, on_progress: Callable[[str, int, int], None] | None) -> None:
        self._on_progress = on_progress
        self._total = 0
        self._done = self._failed = 0
        self._breaker = CircuitBreaker()
        self._lock = Lock()

    def begin(self, *, total: int) -> None:
        """Begin the next step; `total` is its number of items."""
        self._total = total

    def finished(self, answer: GivenAnswer) -> GivenAnswer:
        """Return an answer, and report it as finished.

        Raises:
            OptionError: If the first answers all failed.
            ModelError: If the model cannot be reached for several answers in a row.
        """
        with self._lock:
            self._done += 1
            self._failed += answer.failure is not None
            self._report("answers", self._done)
            if self._failed == self._done == FAILURES_IN_A_ROW:
                raise OptionError(
                    f"the first {self._failed} answers all failed, the last one with: "
                    f"{answer.failure}"
                ) from answer.failure
            self._breaker.check(answer.failure)
        return answer

    def grades(self, calls: int) -> None:
        """Report the number of finished grades. The total does not include controls and retries."""
        self._report("grades", min(calls, self._total))

    def _report(self, step: str, done: int) -> None:
        if self._on_progress is not None:
            self._on_progress(step, done, self._total)


def estimate_answers(
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    llm: LanguageModel,
    judge: LanguageModel,
    options: JudgingOptions,
) -> dict[str, Usage]:
    """Return an upper bound of the usage of `judge_answers`, by task: "answers" and "grades".

    Cached answers cost nothing. An answer that is not cached is assumed to have the maximum length
    and to pass, so that it needs a control. Each search for it is assumed to fill its budget, and
    each call to be repeated as often as `ModelOptions.answer_retries` allows.

    Args:
        dataset: Questions.
        base: Knowledge base with the documents.
        llm: Model that would answer.
        judge: Model that would grade.
        options: Options of answering and grading. The reranker is ignored.

    Raises:
        OptionError: If no answer can be graded, or a model does not support an option.
    """
    check_gradable(dataset)
    longest = "word " * options.answers.max_output_tokens
    with EvaluationContext(
        base, tokenizer=options.tokenizer, tuning=options.tuning, work=options.work
    ) as context:
        retries = options.models.answer_retries
        answerers = [_estimating_answerer(base, llm=llm, options=options)]
        if options.contexts:
            reading = replace(
                _reading(context, DryRunModel(model=llm, answer_retries=retries), dataset, options),
                cache=ReadOnlyOutputs(outputs=store_of(base)),
                answer_retries=0,
            )
            answerers = _context_answerers(context, reading, options)
        rows: list[Graded] = []
        for answerer in answerers:
            for question in dataset.questions:
                answer = answerer(question)
                if answer.usage.calls:
                    # The name makes the texts differ: equal answers would be graded once.
                    text = f"{answerer.name}: {longest}"
                    answer = replace(answer, text=text, refused=False, failure=None)
                rows.append(answer.ungraded(dataset.name, question, answerer.name))
    caller = dry_run_caller(judge, cache=store_of(base), answer_retries=retries)
    grade_answers(
        rows, grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls)
    )
    return {"answers": sum((row.usage for row in rows), Usage()), "grades": caller.usage}

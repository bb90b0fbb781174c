"""Evaluation of whole answers: check the questions, answer them, grade the answers.

`estimate_answers` estimates the usage of the same steps without calling a language model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.answers.stream import AnswerStream
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
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.dry_run import DryRunModel, dry_run_caller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, OutputCache
from spanwise.models.prompts.answer_grades import RUBRIC_INSTRUCTIONS, VERDICT_INSTRUCTIONS
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.models.threads import map_bounded
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset
    from spanwise.models.ports import Reranker
    from spanwise.search.tuned_options import Tuning
    from spanwise.types.plain import Plain


ASK = "ask"
"""Name of the answerer that uses `KnowledgeBase.ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """Outcome of answering a question."""

    text: str = ""
    refused: bool = False
    """Whether the answer is that the documents hold no answer."""
    failure: SpanwiseError | None = None
    """Error that prevented the answer; None for none."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """A named way to answer questions."""

    name: str
    answer: Callable[[LabelledQuestion, Ledger], GivenAnswer]
    ledger: Ledger

    def __call__(self, question: LabelledQuestion) -> GivenAnswer:
        """Return the outcome of a question, with its time.

        Raises:
            CostLimitError: If a call may cost more than is left.
            ModelKeyError: If the provider refuses the key.
        """
        started = time.perf_counter()
        ledger = Ledger(parent=self.ledger)
        try:
            given = self.answer(question, ledger)
        except (CostLimitError, ModelKeyError):
            raise
        except SpanwiseError as error:
            given = GivenAnswer(failure=error, usage=ledger.usage)
        return replace(given, seconds=time.perf_counter() - started)


def ask_answerer(
    base: KnowledgeBase, *, llm: LanguageModel, options: AnswerOptions, ledger: Ledger
) -> Answerer:
    """Return the answerer that uses `KnowledgeBase.ask`."""

    def answer(question: LabelledQuestion, budget: Ledger) -> GivenAnswer:
        answerer = answerer_of(
            base, budget=budget, llm=llm, documents=question.scope, options=options
        )
        said = AnswerStream(answerer.run(question.text, streams=False)).answer
        return GivenAnswer(text=said.text, refused=said.refused, usage=said.usage)

    return Answerer(name=ASK, answer=answer, ledger=ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReading:
    """Settings of reading, equal for all retrievers."""

    llm: LanguageModel
    cache: OutputCache
    """Cache of the outputs of the model."""
    texts: Mapping[str, DocumentText]
    """Texts of all documents, by id."""
    count: Count
    """Counts tokens."""
    options: AnswerOptions
    """Options of the answers."""
    ledger: Ledger
    """Ledger of the run."""
    answer_retries: int = 1


def context_answerer(retriever: Retriever, *, reading: ContextReading) -> Answerer:
    """Return the answerer that reads the results of a retriever.

    Other retrievers may not be thread-safe, so they are called by one thread at a time.
    """
    lock, placer = Lock(), Placer(reading.texts)
    texts = with_unplaced(reading.texts)
    budget = reading.options.budget_tokens

    def answer(question: LabelledQuestion, ledger: Ledger) -> GivenAnswer:
        with lock:
            found = placer.place(
                retriever.retrieve(question.text, budget_tokens=budget, documents=question.scope),
                documents=question.scope,
            )
        seen = cut(found.found, budget_tokens=budget, count=reading.count, texts=texts)
        shown = [one for item in seen if (one := _shown(item, texts)) is not None]
        if not shown:
            return GivenAnswer(refused=True, usage=found.usage)
        task = answer_task(
            Question(text=question.text, options=reading.options),
            context=_context(_in_reading_order(shown)),
            first=shown[0].text,
        )
        caller = ModelCaller(
            model=reading.llm,
            cache=reading.cache,
            answer_retries=reading.answer_retries,
            ledger=Ledger(parent=ledger),
        )
        draft = caller.call(task.request, read=task.read)
        return GivenAnswer(
            text=" ".join(statement.text for statement in draft.statements)
            if draft.answered
            else "",
            refused=not draft.answered,
            usage=caller.usage + found.usage,
        )

    return Answerer(name=retriever.name, answer=answer, ledger=reading.ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A text that the model reads."""

    document_id: str
    start: int
    text: str


def _shown(item: Retrieved, texts: Mapping[str, DocumentText]) -> _Shown | None:
    """Return the text of a result that the model reads; None if it is blank."""
    found = place(item, texts)
    if found is None or not found.text.strip():
        return None
    start = 0 if found.characters is None else found.characters[0]
    return _Shown(document_id=item.document_id, start=start, text=found.text)


def _in_reading_order(shown: Sequence[_Shown]) -> list[_Shown]:
    """Return texts by document and place; the document of the best text is first."""
    order = {one: place for place, one in enumerate(dict.fromkeys(s.document_id for s in shown))}
    return sorted(shown, key=lambda one: (order[one.document_id], one.start))


def _context(shown: Sequence[_Shown]) -> str:
    """Return the prompt of texts: numbered, each in a fence with the id of its document."""
    tag = fence_tag([part for text in shown for part in (text.document_id, text.text)])
    return "\n\n".join(
        f'<{tag} number="{number}">\nDocument: {" ".join(text.document_id.split())}\n\n'
        f"{text.text.strip()}\n</{tag}>"
        for number, text in enumerate(shown, 1)
    )


_MOST_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """Options of answering and grading."""

    repeats: int = 1
    """Number of readings of each answer by the judge, from 1 to 20."""
    controls: bool = True
    """Whether a passed answer is graded once more against another right answer."""
    contexts: Sequence[str | Retriever | Callable[..., object]] = ()
    """Retrievers to answer from, at the same token budget; none for `KnowledgeBase.ask`."""
    reranker: str | Reranker | None = None
    """Reranker of retrievers with "+rerank"."""
    tuning: str | Path | Tuning | None = None
    """Tuning of retrievers with "+tuned"."""
    answers: AnswerOptions = field(default_factory=AnswerOptions)
    """Number of tokens that are read for an answer, and guidance."""
    models: ModelOptions = field(default_factory=ModelOptions)
    """Options of the models; `max_cost` limits all of them together."""
    tokenizer: str | None = None
    """Tokenizer that counts the contexts; None for that of the knowledge base."""
    work: Path | None = None
    """Folder for the indexes of retrievers; None to keep them in memory."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            OptionError: If one is out of range, or an option has no effect.
        """
        if not 1 <= self.repeats <= _MOST_REPEATS:
            raise OptionError(f"repeats is {self.repeats}; give 1 to {_MOST_REPEATS}")
        for name, part in (("reranker", "+rerank"), ("tuning", "+tuned")):
            if getattr(self, name) is not None and not self.contexts:
                raise OptionError(
                    f"a {name} is given, and no contexts; name retrievers with {part} as contexts"
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

    Outputs of models are cached in the knowledge base, so an interrupted run continues where it
    stopped.

    Args:
        dataset: The questions. They are graded by a right answer or a rubric.
        base: Knowledge base with the documents.
        llm: Vendor and model that answers, or an object.
        judge: Vendor and model that grades, or an object. Models prefer their own text, so it
            should be another one than `llm`.
        options: Options of answering and grading.
        on_progress: Called with "answers" or "grades", the number of finished ones, and of all.
        budget: Shared budget of several runs; None for none.

    Raises:
        OptionError: If no answer can be graded, a model or option does not fit, or the first five
            answers all fail.
        ModelError: If a model cannot be reached for five answers or grades in a row. Answers are
            cached.
        ModelKeyError: If there is no key for a model, or it is refused.
        CostLimitError: If a call may cost more than is left. Answers are cached.
    """
    options = options or JudgingOptions()
    check_gradable(dataset)
    ledger = run_ledger(options.models, budget)
    answering, judging = (
        make_model(model, models=options.models, cache=store_of(base), ledger=ledger)
        for model in (llm, judge)
    )
    progress = _RunProgress(on_progress)

    def answered(answerers: Sequence[Answerer]) -> list[Graded]:
        progress.begin(total=len(answerers) * len(dataset.questions))
        return map_bounded(
            lambda pair: _given(*pair, dataset=dataset.name, progress=progress),
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
            given = answered(_context_answerers(context, answering, dataset, options))
    else:
        given = answered(
            [ask_answerer(base, llm=answering, options=options.answers, ledger=ledger)]
        )
    progress.begin(total=len(given) * options.repeats)
    caller = ModelCaller(
        model=judging,
        cache=store_of(base),
        answer_retries=options.models.answer_retries,
        ledger=Ledger(listener=CallCounter(progress.grades), parent=ledger),
    )
    graded = grade_answers(
        given,
        grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls),
    )
    return Judged(
        grades=tuple(graded),
        llm=answering.name,
        judge=judging.name,
        repeats=options.repeats,
        usage=sum((answer.usage for answer in graded), Usage()),
        judge_usage=caller.usage,
        settings=_settings(options),
    )


def check_gradable(dataset: Dataset) -> None:
    """Check that some answer can be graded, before anything is paid.

    Raises:
        OptionError: If no question has an answer, a rubric or a mark as unanswerable.
    """
    questions = dataset.questions
    if not any(
        question.answer.strip() or question.rubric.strip() or is_unanswerable(question)
        for question in questions
    ):
        raise OptionError(
            f"none of the {len(questions)} questions of {dataset.name} has an answer or a rubric, "
            'or says that it is unanswerable ("answerable": false in its metadata), so that no '
            "answer can be graded; add answers to the questions, or measure what is retrieved alone"
        )


def _context_answerers(
    context: EvaluationContext, llm: LanguageModel, dataset: Dataset, options: JudgingOptions
) -> list[Answerer]:
    reading = ContextReading(
        llm=llm,
        cache=store_of(context.base),
        texts=texts(context.base, dataset=dataset),
        count=context.count,
        options=options.answers,
        ledger=context.ledger,
        answer_retries=options.models.answer_retries,
    )
    return [
        context_answerer(wanted.make(), reading=reading)
        for wanted in read_retrievers(options.contexts, context)
    ]


def _given(
    answerer: Answerer, question: LabelledQuestion, *, dataset: str, progress: _RunProgress
) -> Graded:
    """Return the answer to a question, not yet graded."""
    given = progress.answered(answerer(question))
    return Graded(
        dataset=dataset,
        question=question,
        answerer=answerer.name,
        answer=given.text,
        refused=given.refused,
        outcome="ungraded",
        error="" if given.failure is None else str(given.failure),
        seconds=given.seconds,
        usage=given.usage,
    )


def _settings(options: JudgingOptions) -> dict[str, Plain]:
    return {
        "budget_tokens": options.answers.budget_tokens,
        "controls": options.controls,
        "verdict_instructions": VERDICT_INSTRUCTIONS,
        "rubric_instructions": RUBRIC_INSTRUCTIONS,
    }


class _RunProgress:
    """Reports the progress of a run, from several threads."""

    def __init__(self, hear: Callable[[str, int, int], None] | None) -> None:
        self._hear = hear
        self._total = 0
        self._done = self._failed = 0
        self._breaker = CircuitBreaker()
        self._lock = Lock()

    def begin(self, *, total: int) -> None:
        """Begin the next step."""
        self._total = total

    def answered(self, given: GivenAnswer) -> GivenAnswer:
        """Return an answer, and report it as finished.

        Raises:
            OptionError: If the first answers have all failed.
            ModelError: If the model cannot be reached for several answers in a row.
        """
        with self._lock:
            self._done += 1
            self._failed += given.failure is not None
            self._say("answers", self._done)
            if self._failed == self._done == FAILURES_IN_A_ROW:
                raise OptionError(
                    f"the first {self._failed} answers all failed, the last one with: "
                    f"{given.failure}"
                ) from given.failure
            self._breaker.check(given.failure)
        return given

    def grades(self, calls: int) -> None:
        """Report the number of finished readings. Controls and retries are not in the total."""
        self._say("grades", min(calls, self._total))

    def _say(self, what: str, done: int) -> None:
        if self._hear is not None:
            self._hear(what, done, self._total)


def estimate_answers(
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    llm: LanguageModel,
    judge: LanguageModel,
    options: JudgingOptions,
) -> dict[str, Usage]:
    """Return an upper bound of the usage of `judge_answers`, as "answers" and "grades".

    Searches are made as in `judge_answers`. Cached answers count as cached. An unknown answer is
    taken to have the maximum length and to pass, so it has a control.

    Args:
        dataset: The questions.
        base: Knowledge base with the documents.
        llm: Model that would answer.
        judge: Model that would grade.
        options: Options of answering and grading. The reranker is ignored.

    Raises:
        OptionError: If no answer can be graded, or an option does not fit.
    """
    check_gradable(dataset)
    with EvaluationContext(
        base, tokenizer=options.tokenizer, tuning=options.tuning, work=options.work
    ) as context:
        answerers: Sequence[Answerer] = [_asking(base, llm, options.answers)]
        if options.contexts:
            reading = ContextReading(
                llm=DryRunModel(model=llm),
                cache=MemoryOutputs(fallback=store_of(base)),
                texts=texts(base, dataset=dataset),
                count=context.count,
                options=options.answers,
                ledger=context.ledger,
                answer_retries=0,
            )
            answerers = [
                context_answerer(wanted.make(), reading=reading)
                for wanted in read_retrievers(options.contexts, context)
            ]
        rows = [
            _row(answerer, question, dataset=dataset.name, options=options.answers)
            for answerer in answerers
            for question in dataset.questions
        ]
    caller = dry_run_caller(judge, cache=store_of(base))
    grade_answers(
        rows, grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls)
    )
    return {"answers": sum((row.usage for row in rows), Usage()), "grades": caller.usage}


def _asking(base: KnowledgeBase, llm: LanguageModel, options: AnswerOptions) -> Answerer:
    """Return an answerer that runs `KnowledgeBase.ask` with a model that is not called."""

    def answer(question: LabelledQuestion, budget: Ledger) -> GivenAnswer:
        asking = answerer_of(
            base, budget=budget, llm=llm, documents=question.scope, options=options
        )
        caller = dry_run_caller(llm, cache=store_of(base))
        said = AnswerStream(replace(asking, caller=caller).run(question.text, streams=False)).answer
        return GivenAnswer(text=said.text, refused=said.refused, usage=caller.usage)

    return Answerer(name=ASK, answer=answer, ledger=Ledger())


def _row(
    answerer: Answerer, question: LabelledQuestion, *, dataset: str, options: AnswerOptions
) -> Graded:
    """Return the answer to grade: the cached one, or one of the maximum length."""
    given = answerer(question)
    # Of each its own: equal answers would be graded once.
    longest = f"{answerer.name}: {'word ' * options.max_output_tokens}"
    return Graded(
        dataset=dataset,
        question=question,
        answerer=answerer.name,
        answer=longest if given.usage.calls else given.text,
        refused=given.refused,
        outcome="ungraded",
        error="" if given.failure is None else str(given.failure),
        usage=given.usage,
    )

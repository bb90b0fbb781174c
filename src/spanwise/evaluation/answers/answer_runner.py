"""From questions to graded answers, top to bottom: check, answer, grade.

What it would take at most to answer and grade questions: counted, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.answers.stream import AnswerStream
from spanwise.errors import OptionError
from spanwise.evaluation.answers.answerers import (
    ASK,
    Answerer,
    ContextReading,
    GivenAnswer,
    ask_answerer,
    context_answerer,
)
from spanwise.evaluation.answers.graded import Graded, Judged, is_unanswerable
from spanwise.evaluation.answers.grader import Grading, grade_answers
from spanwise.evaluation.budget import FAILURES_IN_A_ROW, CallCounter, Purse, Reached, outputs_of
from spanwise.evaluation.dataset_base import texts
from spanwise.evaluation.plan import read_retrievers
from spanwise.evaluation.retrievers import EvaluationContext
from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.dry_run import DryRunModel, dry_run_caller
from spanwise.models.prompts.answer_grades import RUBRIC_INSTRUCTIONS, VERDICT_INSTRUCTIONS
from spanwise.models.threads import map_bounded
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.evaluation.retrieval import Retriever
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.search.tuned_options import Tuning
    from spanwise.types.plain import Plain

_MOST_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """How answers are made and graded."""

    repeats: int = 1
    """Readings of each answer by the judge, from 1 to 20."""
    controls: bool = True
    """Whether what passes is shown to the judge once more, against another right answer, so that
    an answer that orders its judge is found out: a call more for each that passes."""
    contexts: Sequence[str | Retriever | Callable[..., object]] = ()
    """Retrievers whose contexts are answered from, each at the same tokens, as `evaluate` takes
    them; none for the answers of `KnowledgeBase.ask`."""
    reranker: str | Reranker | None = None
    """For those with "+rerank"."""
    tuning: str | Path | Tuning | None = None
    """For those with "+tuned"."""
    answers: AnswerOptions = field(default_factory=AnswerOptions)
    """How much is read for an answer, and guidance."""
    models: ModelOptions = field(default_factory=ModelOptions)
    """How models are called; `max_cost` holds for answers, grades and a reranker by a language
    model together."""
    tokenizer: str | None = None
    """Whose tokens the contexts are counted in; that of the knowledge base when None."""
    work: Path | None = None
    """Folder that keeps what retrievers have to make; None to make it in memory."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            OptionError: If one is out of range.
        """
        if not 1 <= self.repeats <= _MOST_REPEATS:
            raise OptionError(f"repeats is {self.repeats}; give 1 to {_MOST_REPEATS}")
        for name, part in (("reranker", "+rerank"), ("tuning", "+tuned")):
            if getattr(self, name) is not None and not self.contexts:
                raise OptionError(
                    f"a {name} is given, and no contexts; name retrievers with {part} as contexts"
                )


def judge_answers(
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    llm: str | LanguageModel,
    judge: str | LanguageModel,
    options: JudgingOptions | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Judged:
    """Return the answer to each question, and how good it is.

    All that models say is kept in the knowledge base: a run that was stopped goes on where it was.

    Args:
        dataset: Questions, those with a right answer or a rubric graded by it.
        base: The knowledge base that holds the documents.
        llm: Vendor and model that answers, or an object.
        judge: Vendor and model that grades, or an object; better another one than `llm`, for models
            like what they wrote themselves.
        options: How it is done.
        on_progress: Hears "answers" or "grades", how many of them are done, and how many there are.

    Raises:
        OptionError: If nothing is known to grade any of the answers by, a model or option does not
            fit, or the first five answers all fail.
        ModelError: If a model cannot be reached for five answers or grades in a row; what was
            answered is kept.
        ModelKeyError: If there is no key for a model, or it is refused.
        CostLimitError: If it would cost more than is allowed; what was answered is kept.
    """
    options = options or JudgingOptions()
    check_gradable(dataset)
    purse = Purse(options.models, kept=outputs_of(base))
    answering, judging = purse.model(llm), purse.model(judge)
    told = _Told(on_progress)

    def answered(answerers: Sequence[Answerer]) -> list[Graded]:
        told.begin(total=len(answerers) * len(dataset.questions))
        return map_bounded(
            lambda pair: _given(*pair, dataset=dataset.name, told=told),
            [(answerer, question) for answerer in answerers for question in dataset.questions],
            limit=answering.concurrency,
        )

    if options.contexts:
        named = options.reranker
        with EvaluationContext(
            base,
            tokenizer=options.tokenizer,
            reranker=purse.reranker(named) if isinstance(named, str) else named,
            tuning=options.tuning,
            work=options.work,
        ) as material:
            given = answered(_context_answerers(material, answering, dataset, options))
    else:
        given = answered([ask_answerer(base, llm=answering, options=options.answers)])
    told.begin(total=len(given) * options.repeats)
    caller = ModelCaller(
        model=judging,
        cache=outputs_of(base),
        answer_retries=options.models.answer_retries,
        listener=CallCounter(told.grades),
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
        usage=sum((one.usage for one in graded), Usage()),
        judge_usage=caller.usage,
        settings=_settings(options),
    )


def check_gradable(dataset: Dataset) -> None:
    """Check that some answer can be graded, before anything is paid.

    Raises:
        OptionError: If nothing is known to grade any of them by.
    """
    questions = dataset.questions
    if not any(
        one.answer.strip() or one.rubric.strip() or is_unanswerable(one) for one in questions
    ):
        raise OptionError(
            f"none of the {len(questions)} questions of {dataset.name} has an answer or a rubric, "
            'or says that it is unanswerable ("answerable": false in its metadata), so that no '
            "answer can be graded; add answers to the questions, or measure what is retrieved alone"
        )


def _context_answerers(
    material: EvaluationContext, llm: LanguageModel, dataset: Dataset, options: JudgingOptions
) -> list[Answerer]:
    reading = ContextReading(
        llm=llm,
        cache=outputs_of(material.base),
        texts=texts(material.base, dataset=dataset),
        count=material.count,
        options=options.answers,
        answer_retries=options.models.answer_retries,
    )
    return [
        context_answerer(wanted.make(), reading=reading)
        for wanted in read_retrievers(options.contexts, material)
    ]


def _given(answerer: Answerer, question: LabelledQuestion, *, dataset: str, told: _Told) -> Graded:
    """Return the answer to a question, not graded yet."""
    given = told.answered(answerer(question))
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


class _Told:
    """Says how far a run is, from several threads."""

    def __init__(self, hear: Callable[[str, int, int], None] | None) -> None:
        self._hear = hear
        self._total = 0
        self._done = self._failed = 0
        self._reached = Reached()
        self._lock = Lock()

    def begin(self, *, total: int) -> None:
        """Begin another step."""
        self._total = total

    def answered(self, given: GivenAnswer) -> GivenAnswer:
        """Return an answer, and say that one more is done.

        Raises:
            OptionError: If it is the last of the first few, and all of them failed: the others
                would be paid for in vain.
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
            self._reached.check(given.failure)
        return given

    def grades(self, calls: int) -> None:
        """Say how many readings are done; controls and further tries are not among the total."""
        self._say("grades", min(calls, self._total))

    def _say(self, what: str, done: int) -> None:
        if self._hear is not None:
            self._hear(what, done, self._total)


def foresee_answers(
    dataset: Dataset,
    base: KnowledgeBase,
    *,
    llm: LanguageModel,
    judge: LanguageModel,
    options: JudgingOptions,
) -> dict[str, Usage]:
    """Return what `judge_answers` would take at most, as "answers" and "grades".

    It searches as `judge_answers` does; what was answered before is counted as kept. An answer that
    is not known yet is taken to be as long as it may be, and to pass, so that it has a control.

    Args:
        dataset: The questions.
        base: The knowledge base that holds the documents.
        llm: Model that would answer.
        judge: Model that would grade.
        options: How it would be done, without a reranker: it would have to be paid.

    Raises:
        OptionError: If nothing is known to grade any of the answers by, or an option does not fit.
    """
    check_gradable(dataset)
    with EvaluationContext(
        base, tokenizer=options.tokenizer, tuning=options.tuning, work=options.work
    ) as material:
        answerers: Sequence[Answerer] = [_asking(base, llm, options.answers)]
        if options.contexts:
            reading = ContextReading(
                llm=DryRunModel(model=llm),
                cache=MemoryOutputs(fallback=outputs_of(base)),
                texts=texts(base, dataset=dataset),
                count=material.count,
                options=options.answers,
                answer_retries=0,
            )
            answerers = [
                context_answerer(wanted.make(), reading=reading)
                for wanted in read_retrievers(options.contexts, material)
            ]
        rows = [
            _row(answerer, question, dataset=dataset.name, options=options.answers)
            for answerer in answerers
            for question in dataset.questions
        ]
    caller = dry_run_caller(judge, cache=outputs_of(base))
    grade_answers(
        rows, grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls)
    )
    return {"answers": sum((row.usage for row in rows), Usage()), "grades": caller.usage}


def _asking(base: KnowledgeBase, llm: LanguageModel, options: AnswerOptions) -> Answerer:
    """Return what answers as `KnowledgeBase.ask` does, by a model that is not called."""

    def answer(question: LabelledQuestion) -> GivenAnswer:
        asking = base.answerer(llm=llm, documents=question.scope, options=options)
        caller = dry_run_caller(llm, cache=outputs_of(base))
        said = AnswerStream(replace(asking, caller=caller).run(question.text, streams=False)).answer
        return GivenAnswer(text=said.text, refused=said.refused, usage=caller.usage)

    return Answerer(name=ASK, answer=answer)


def _row(
    answerer: Answerer, question: LabelledQuestion, *, dataset: str, options: AnswerOptions
) -> Graded:
    """Return what would be graded: the answer that is kept, or one of the greatest length."""
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

"""What it would take at most to answer and grade questions: counted, and nobody is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.answers.stream import AnswerStream
from spanwise.calls.foreseen import ForeseeingModel, foreseeing_caller
from spanwise.calls.outputs import MemoryOutputs
from spanwise.evaluation.judging.answering import (
    ASK,
    Answerer,
    ContextReading,
    GivenAnswer,
    context_answerer,
)
from spanwise.evaluation.judging.graded import Graded
from spanwise.evaluation.judging.grading import Grading, grade_answers
from spanwise.evaluation.judging.runner import JudgingOptions, check_gradable
from spanwise.evaluation.loading import texts
from spanwise.evaluation.paying import outputs_of
from spanwise.evaluation.plan import read_retrievers
from spanwise.evaluation.retrievers import Material
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import AnswerOptions
    from spanwise.ports import LanguageModel

__all__ = ["foresee_answers"]


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
    with Material(
        base, tokenizer=options.tokenizer, tuning=options.tuning, work=options.work
    ) as material:
        answerers: Sequence[Answerer] = [_asking(base, llm, options.answers)]
        if options.contexts:
            reading = ContextReading(
                llm=ForeseeingModel(model=llm),
                cache=MemoryOutputs(beneath=outputs_of(base)),
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
    caller = foreseeing_caller(judge, cache=outputs_of(base))
    grade_answers(
        rows, grading=Grading(caller=caller, repeats=options.repeats, controls=options.controls)
    )
    return {"answers": sum((row.usage for row in rows), Usage()), "grades": caller.usage}


def _asking(base: KnowledgeBase, llm: LanguageModel, options: AnswerOptions) -> Answerer:
    """Return what answers as `KnowledgeBase.ask` does, by a model that is not called."""

    def answer(question: LabelledQuestion) -> GivenAnswer:
        asking = base.answerer(llm=llm, documents=question.scope, options=options)
        caller = foreseeing_caller(llm, cache=outputs_of(base))
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

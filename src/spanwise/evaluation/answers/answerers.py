"""Answers that are graded: of `KnowledgeBase.ask`, or from the context of any retriever.

Rules:
    Where the contexts of retrievers are compared, each is read by the same model, under the same
    instructions, cut to the same tokens, without headers: what differs is the text alone.
    An answer that fails stays among the others, with what happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from spanwise.core.text.fences import fence_tag
from spanwise.errors import CostLimitError, ModelKeyError, SpanwiseError
from spanwise.evaluation.budget import spending
from spanwise.evaluation.dataset import DocumentText, LabelledQuestion
from spanwise.evaluation.metrics import Count, cut
from spanwise.evaluation.metrics.ranges import place
from spanwise.evaluation.retrieval import Retrieved, Retriever
from spanwise.evaluation.retrievers import Placer
from spanwise.evaluation.retrievers.text_location import with_unplaced
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import LanguageModel, OutputCache
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.options import AnswerOptions
from spanwise.types import Usage

ASK = "ask"
"""How answers of `KnowledgeBase.ask` are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """What came of a question."""

    text: str = ""
    refused: bool = False
    """Whether it was said that the documents hold no answer."""
    failure: SpanwiseError | None = None
    """Why there is none."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """A way to answer questions."""

    name: str
    answer: Callable[[LabelledQuestion], GivenAnswer]

    def __call__(self, question: LabelledQuestion) -> GivenAnswer:
        """Return what comes of a question, with the time that it took.

        Raises:
            CostLimitError: If it would cost more than is allowed.
            ModelKeyError: If the provider refuses the key.
        """
        started = time.perf_counter()
        with spending() as spent:
            try:
                given = self.answer(question)
            except (CostLimitError, ModelKeyError):
                raise
            except SpanwiseError as error:
                usage = sum(spent.usage_by_task.values(), Usage())
                given = GivenAnswer(failure=error, usage=usage)
        return replace(given, seconds=time.perf_counter() - started)


def ask_answerer(base: KnowledgeBase, *, llm: LanguageModel, options: AnswerOptions) -> Answerer:
    """Return what answers as `KnowledgeBase.ask` does, from end to end."""

    def answer(question: LabelledQuestion) -> GivenAnswer:
        said = base.ask(question.text, llm=llm, documents=question.scope, options=options)
        return GivenAnswer(text=said.text, refused=said.refused, usage=said.usage)

    return Answerer(name=ASK, answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReading:
    """How the contexts of retrievers are read: the same for all of them."""

    llm: LanguageModel
    cache: OutputCache
    """Keeps what it answers."""
    texts: Mapping[str, DocumentText]
    """Of all documents, by id."""
    count: Count
    """Counts tokens."""
    options: AnswerOptions
    """How much is read."""
    answer_retries: int = 1


def context_answerer(retriever: Retriever, *, reading: ContextReading) -> Answerer:
    """Return what answers from what a retriever finds.

    It is asked by one thread at a time: retrievers of others may not be made for more.
    """
    lock, placer = Lock(), Placer(reading.texts)
    texts = with_unplaced(reading.texts)
    budget = reading.options.budget_tokens

    def answer(question: LabelledQuestion) -> GivenAnswer:
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
            model=reading.llm, cache=reading.cache, answer_retries=reading.answer_retries
        )
        draft = caller.call(task.request, read=task.read)
        return GivenAnswer(
            text=" ".join(one.text for one in draft.statements) if draft.answered else "",
            refused=not draft.answered,
            usage=caller.usage + found.usage,
        )

    return Answerer(name=retriever.name, answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A text that a model reads."""

    document_id: str
    start: int
    text: str


def _shown(item: Retrieved, texts: Mapping[str, DocumentText]) -> _Shown | None:
    """Return the text that a model reads of what was returned; None where there is none."""
    found = place(item, texts)
    if found is None or not found.text.strip():
        return None
    start = 0 if found.characters is None else found.characters[0]
    return _Shown(document_id=item.document_id, start=start, text=found.text)


def _in_reading_order(shown: Sequence[_Shown]) -> list[_Shown]:
    """Return texts by document, the document of the best one first, and by place inside of it."""
    order = {one: place for place, one in enumerate(dict.fromkeys(s.document_id for s in shown))}
    return sorted(shown, key=lambda one: (order[one.document_id], one.start))


def _context(shown: Sequence[_Shown]) -> str:
    """Return texts as a model reads them: numbered, each in a fence with the id of its document."""
    tag = fence_tag([part for one in shown for part in (one.document_id, one.text)])
    return "\n\n".join(
        f'<{tag} number="{number}">\nDocument: {" ".join(one.document_id.split())}\n\n'
        f"{one.text.strip()}\n</{tag}>"
        for number, one in enumerate(shown, 1)
    )

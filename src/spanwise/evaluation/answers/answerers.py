"""Answerers: `KnowledgeBase.ask`, or a model that reads the results of any retriever.

Rules:
    The results of retrievers are read by the same model under the same instructions, truncated to
    the same tokens, without headers. Only the text differs.
    A failed answer stays among the others, with its error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from spanwise.core.text.fences import fence_tag
from spanwise.errors import CostLimitError, ModelKeyError, SpanwiseError
from spanwise.evaluation.dataset import DocumentText, LabelledQuestion
from spanwise.evaluation.metrics import Count, cut
from spanwise.evaluation.metrics.ranges import place
from spanwise.evaluation.retrieval import Retrieved, Retriever
from spanwise.evaluation.retrievers import Placer
from spanwise.evaluation.retrievers.text_location import with_unplaced
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import answerer_of
from spanwise.models.caller import ModelCaller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.options import AnswerOptions
from spanwise.types import Usage
from spanwise.types.output_cache import OutputCache

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
        said = answerer.answer(question.text)
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
            text=" ".join(one.text for one in draft.statements) if draft.answered else "",
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
    tag = fence_tag([part for one in shown for part in (one.document_id, one.text)])
    return "\n\n".join(
        f'<{tag} number="{number}">\nDocument: {" ".join(one.document_id.split())}\n\n'
        f"{one.text.strip()}\n</{tag}>"
        for number, one in enumerate(shown, 1)
    )

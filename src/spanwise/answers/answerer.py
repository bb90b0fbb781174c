"""From a question to a checked answer: write queries, search, call the model, compose."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from spanwise.answers.answer_sources import AnswerSources, Source, sources_of
from spanwise.answers.composer import Citer, Composer, compose
from spanwise.answers.conversation import Conversation
from spanwise.answers.search_queries import write_queries
from spanwise.answers.stream import AnswerStream
from spanwise.core.answers.drafts import Draft
from spanwise.core.extraction.render import render_segments
from spanwise.core.text.model_lines import without_controls
from spanwise.errors import ModelError, OptionError, as_sentence
from spanwise.events import StepTimer
from spanwise.filters import parse_filter
from spanwise.models.prompts.answers import Question, answer_task, structured_answer_task
from spanwise.models.prompts.conclusions import (
    Conclusion,
    SourcedConclusion,
    combining_task,
    conclusions_request,
    read_conclusions,
)
from spanwise.types import Answer, WrittenQueries
from spanwise.types.notebook import counted

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.models.caller import ModelCaller
    from spanwise.models.prompts.answers import AnswerTask
    from spanwise.options import AnswerOptions, QueryOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Citation, ExcerptResult, SearchResult, WholeDocument
    from spanwise.types.listener import Listener


class Search(Protocol):
    """Function that searches for segments or excerpts."""

    def __call__(
        self, queries: WrittenQueries, *, budget_tokens: int
    ) -> SearchResult | ExcerptResult:
        """Return the result for the queries and the filter of a question.

        Raises:
            OptionError: If no candidate fits the budget.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Answers a question from the documents in scope."""

    caller: ModelCaller
    store: Store
    read_cited: Callable[[Citation], WholeDocument | None]
    """Function that returns the document of a citation; None if it was deleted."""
    search: Search
    scope: Scope
    """Documents that may be searched."""
    options: AnswerOptions
    query_options: QueryOptions | None
    """Options for writing queries; None to search for the question alone."""
    answer_type: type[BaseModel] | None = None
    """Pydantic model of a structured answer; None for an answer in text."""
    conversation: Conversation = field(default_factory=Conversation)
    """Earlier turns and their evidence."""
    listener: Listener | None = None
    """Callbacks for the steps of an answer."""

    def answer(self, question: str) -> Answer:
        """Return the complete answer.

        Raises:
            SpanwiseError: As `run`.
        """
        return AnswerStream(self.run(question, streams=False)).answer

    def run(self, question: str, *, streams: bool) -> Generator[str, None, Answer]:
        """Yield the text of the answer in pieces, and return the answer.

        Args:
            question: Question of the user.
            streams: Whether pieces are yielded while the model is still writing.

        Raises:
            ModelError: If the model fails or gives no usable answer.
            CostLimitError: If a call would exceed the cost limit.
            QueryError: If the question contains no words.
            SpanwiseError: If the search fails.
        """
        timer = StepTimer(self.listener, prefix="ask.")
        queries = self._write_queries(question)
        timer.done("queries")
        evidence = self._find_sources(queries)
        timer.done("search")
        composer = Composer(evidence.sources, citer=Citer(self.read_cited))
        draft, warnings = yield from self._compose(queries, evidence, composer, streams=streams)
        conflicts = draft.conflicts if draft.answered else ()
        rendered_conflicts = tuple(composer.render(conflict) for conflict in conflicts)
        text = composer.text if draft.answered else self._refusal(evidence)
        if not draft.answered:
            yield text
        timer.done("answer")
        missing = without_controls(draft.missing)
        return Answer(
            question=question,
            text=text,
            citations=composer.citations,
            refused=not draft.answered,
            queries=evidence.queries,
            where=evidence.where,
            conflicts=rendered_conflicts,
            sources=tuple(source.citation for source in evidence.sources),
            data=draft.data,
            model=self.caller.model.name,
            usage=self.caller.usage + evidence.usage,
            warnings=(
                *queries.warnings,
                *evidence.warnings,
                *warnings,
                *self._fallback_warnings(),
                *composer.warnings(),
                *([f"not answered: {missing}"] if missing else ()),
            ),
            seconds=timer.seconds,
        )

    def _fallback_warnings(self) -> list[str]:
        """Return warnings about fallback models that answered."""
        requested = self.caller.model.name
        others = [name for name in self.caller.answered_by if name != requested]
        return [f"{requested} failed, and {name} answered in its place" for name in others]

    def _refusal(self, evidence: AnswerSources) -> str:
        """Return the text of a refusal: the searched documents, the queries and the texts read."""
        if evidence.no_document_passes and evidence.warnings:
            return as_sentence(evidence.warnings[0])
        documents = self.scope.documents
        records = self.store.list_records(parse_filter(evidence.where) if evidence.where else None)
        count = sum(documents is None or record.id in documents for record in records)
        place = counted(count, "document") + (f" where {evidence.where}" if evidence.where else "")
        searched = ", ".join(f'"{query}"' for query in evidence.queries)
        read = len(evidence.sources)
        if not read:
            reason = "nothing was found"
        elif read == 1:
            reason = "one text was read, which does not answer it"
        else:
            reason = f"{read} texts were read, none of which answers it"
        return (
            f"The documents hold no answer to this question: {reason}. "
            f"Searched {place} for {searched}."
        )

    def _write_queries(self, question: str) -> WrittenQueries:
        """Return the search queries of a question: from a model, or the question alone."""
        if self.query_options is not None:
            return write_queries(
                question,
                caller=self.caller,
                store=self.store,
                options=self.query_options,
                scope=self.scope,
                history=self.conversation.turns,
            )
        return WrittenQueries(question=question, standalone=question, more_queries=())

    def _find_sources(self, queries: WrittenQueries) -> AnswerSources:
        """Return the sources of a search, with earlier evidence appended.

        Earlier evidence is dropped if no search result fits the remaining budget.
        """
        earlier = self.conversation.earlier
        budget_tokens = self.options.budget_tokens
        try:
            evidence = sources_of(
                self.search(queries, budget_tokens=budget_tokens - earlier.tokens)
            )
        except OptionError:
            if not earlier.tokens:
                raise
            evidence = sources_of(self.search(queries, budget_tokens=budget_tokens))
            warning = f"budget_tokens of {budget_tokens} has no room for what was quoted before"
            return replace(evidence, warnings=(*evidence.warnings, warning))
        return earlier.append_to(evidence)

    def _compose(
        self, queries: WrittenQueries, evidence: AnswerSources, composer: Composer, *, streams: bool
    ) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
        """Yield the text of the answer in pieces; return the model's draft, and warnings."""
        if not evidence.sources:
            return Draft(answered=False), ()
        question = Question(
            text=queries.standalone, options=self.options, history=self.conversation.turns
        )
        task, warnings = self._answer_task(question, evidence)
        if task is None:
            return Draft(answered=False), warnings
        draft, more_warnings = yield from compose(
            task, caller=self.caller, composer=composer, streams=streams
        )
        return draft, (*warnings, *more_warnings)

    def _answer_task(
        self, question: Question, evidence: AnswerSources
    ) -> tuple[AnswerTask | None, tuple[str, ...]]:
        """Return the task for the model, and warnings; no task if no excerpt has a conclusion."""
        if self.options.excerpts:
            conclusions, warnings = _read_excerpts(question, evidence.sources, caller=self.caller)
            if not conclusions:
                return None, warnings
            return combining_task(question, conclusions=conclusions), warnings
        if self.answer_type is not None:
            task = structured_answer_task(
                question, context=evidence.context, answer_type=self.answer_type
            )
            return task, ()
        first = evidence.sources[0].spans[0].text
        return answer_task(question, context=evidence.context, first=first), ()


def _read_excerpts(
    question: Question, sources: Sequence[Source], *, caller: ModelCaller
) -> tuple[list[SourcedConclusion], tuple[str, ...]]:
    """Return the conclusions that a model draws from excerpts, and warnings about failed excerpts.

    Raises:
        ModelError: If the model failed for every excerpt; the error for the first excerpt.
        CostLimitError: If a call would exceed the cost limit.
    """
    requests = [
        conclusions_request(
            question,
            context=render_segments(
                [source.text], citations=[source.citation], headers=[source.header]
            ),
            first=source.spans[0].text,
        )
        for source in sources
    ]

    def read(_: int, answer: str) -> tuple[Conclusion, ...]:
        return read_conclusions(answer)

    answers = caller.call_all(requests, read=read)
    errors = [answer for answer in answers if isinstance(answer, ModelError)]
    if len(errors) == len(answers):
        raise errors[0]
    conclusions = [
        SourcedConclusion(
            conclusion=conclusion,
            source=number,
            document=source.citation.title or source.citation.document_id,
        )
        for number, (source, answer) in enumerate(zip(sources, answers, strict=True))
        if not isinstance(answer, ModelError)
        for conclusion in answer
    ]
    warnings = tuple(
        f"the excerpt of {source.citation} was not read: {answer}"
        for source, answer in zip(sources, answers, strict=True)
        if isinstance(answer, ModelError)
    )
    return conclusions, warnings

"""What is said where the documents hold no answer: what was searched, where, and what was read.

From a question to an answer, top to bottom: queries, search, answer, check, cite.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from spanwise.answers.conclusions import read_excerpts
from spanwise.answers.queries import write_queries
from spanwise.answers.sources import Found, found_of
from spanwise.answers.statements import Citer, Composer, compose
from spanwise.answers.threads import Conversation
from spanwise.core.answers.drafts import Draft
from spanwise.core.text.model_lines import without_controls
from spanwise.errors import OptionError
from spanwise.filters import parse_filter
from spanwise.models.prompts.answers import Question, answer_task, structured_answer_task
from spanwise.models.prompts.conclusions import combining_task
from spanwise.types import Answer, WrittenQueries
from spanwise.types.notebook import counted

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.filters import Filter
    from spanwise.models.caller import ModelCaller
    from spanwise.models.prompts.answers import AnswerTask
    from spanwise.options import AnswerOptions, QueryOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import ExcerptResult, SearchResult


def refusal(
    queries: Sequence[str],
    *,
    where: Filter | None,
    documents: Sequence[str] | None,
    store: Store,
    read: int,
) -> str:
    """Return why there is no answer.

    Args:
        queries: By which was searched.
        where: Filter under which was searched.
        documents: Ids of the documents that were searched; None for all.
        store: Where they are.
        read: How many segments or excerpts the model read.
    """
    records = store.list_records(where)
    count = sum(documents is None or record.id in documents for record in records)
    place = counted(count, "document") + ("" if where is None else f" where {where}")
    searched = ", ".join(f'"{query}"' for query in queries)
    if not read:
        said = "nothing was found"
    elif read == 1:
        said = "one text was read, which does not answer it"
    else:
        said = f"{read} texts were read, none of which answers it"
    return (
        f"The documents hold no answer to this question: {said}. Searched {place} for {searched}."
    )


class Search(Protocol):
    """Searches for segments, or for excerpts."""

    def __call__(
        self, question: str, *, queries: Sequence[str], where: Filter | None, budget_tokens: int
    ) -> SearchResult | ExcerptResult:
        """Return what a question and further queries find under a filter.

        Raises:
            OptionError: If nothing that is found fits the budget.
        """


@dataclass(slots=True)
class _Steps:
    """Times the steps of one answer."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)

    def done(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Answers one question."""

    caller: ModelCaller
    store: Store
    search: Search
    scope: Scope
    """The documents that may be searched."""
    options: AnswerOptions
    query_options: QueryOptions | None
    """How queries are written; None to search for the question alone."""
    answer_type: type[BaseModel] | None = None
    """Form of the answer; None for text."""
    conversation: Conversation = field(default_factory=Conversation)
    """What was said and quoted before the question."""

    def run(self, question: str, *, streams: bool) -> Generator[str, None, Answer]:
        """Yield the text of the answer in pieces, and return the answer.

        Args:
            question: The question.
            streams: Whether pieces come while the model writes.

        Raises:
            ModelError: If the model fails, or gives no usable answer.
            CostLimitError: If it would cost more than is allowed.
            QueryError: If the question holds nothing to search for.
            SpanwiseError: As the search.
        """
        steps = _Steps()
        written = self._written(question)
        steps.done("queries")
        found, where = self._found(written)
        steps.done("search")
        composer = Composer(found.sources, citer=Citer(self.store))
        draft, warnings = yield from self._composed(written, found, composer, streams=streams)
        conflicts = tuple(composer.conflict(one) for one in draft.conflicts if draft.answered)
        text = composer.text if draft.answered else self._refusal(found, where)
        if not draft.answered:
            yield text
        steps.done("answer")
        missing = without_controls(draft.missing)
        return Answer(
            question=question,
            text=text,
            citations=composer.citations,
            refused=not draft.answered,
            queries=found.queries,
            where="" if where is None else str(where),
            conflicts=conflicts,
            sources=tuple(source.citation for source in found.sources),
            data=draft.data,
            model=self.caller.model.name,
            usage=self.caller.usage + found.usage,
            warnings=(
                *written.warnings,
                *found.warnings,
                *warnings,
                *self._fallbacks(),
                *composer.warnings(),
                *([f"not answered: {missing}"] if missing else ()),
            ),
            seconds=steps.seconds,
        )

    def _fallbacks(self) -> list[str]:
        """Return what is said of answers that the model asked for did not give."""
        asked = self.caller.model.name
        others = [name for name in self.caller.answered_by if name != asked]
        return [f"{asked} failed, and {name} answered in its place" for name in others]

    def _refusal(self, found: Found, where: Filter | None) -> str:
        return refusal(
            found.queries,
            where=where,
            documents=self.scope.documents,
            store=self.store,
            read=len(found.sources),
        )

    def _written(self, question: str) -> WrittenQueries:
        """Return what is searched for a question."""
        if self.query_options is not None:
            return write_queries(
                question,
                caller=self.caller,
                store=self.store,
                options=self.query_options,
                scope=self.scope,
                history=self.conversation.turns,
            )
        where = "" if self.scope.where is None else str(self.scope.where)
        return WrittenQueries(question=question, standalone=question, queries=(), where=where)

    def _found(self, written: WrittenQueries) -> tuple[Found, Filter | None]:
        """Return what is found, beside it what earlier answers quoted, and under which filter.

        Earlier evidence gives way where it leaves too little room for anything that is found.
        """
        earlier = self.conversation.earlier
        budget_tokens = self.options.budget_tokens
        try:
            found, where = self._searched(written, budget_tokens=budget_tokens - earlier.tokens)
        except OptionError:
            if not earlier.tokens:
                raise
            found, where = self._searched(written, budget_tokens=budget_tokens)
            said = f"budget_tokens of {budget_tokens} has no room for what was quoted before"
            return replace(found, warnings=(*found.warnings, said)), where
        return earlier.beside(found), where

    def _searched(
        self, written: WrittenQueries, *, budget_tokens: int
    ) -> tuple[Found, Filter | None]:
        """Return what is found, and under which filter.

        A filter that a model drew from the question is given up where nothing passes it that
        answers the question.
        """

        def search(where: Filter | None) -> Found:
            return found_of(
                self.search(
                    written.standalone,
                    queries=written.queries,
                    where=where,
                    budget_tokens=budget_tokens,
                )
            )

        given = self.scope.where
        where = parse_filter(written.where) if written.where else None
        found = search(where)
        if found.sources or where == given:
            return found, where
        again = search(given)
        said = f"nothing was found where {where}; searched without what a model drew from the "
        warnings = (f"{said}question", *again.warnings)
        return replace(again, warnings=warnings, usage=found.usage + again.usage), given

    def _composed(
        self, written: WrittenQueries, found: Found, composer: Composer, *, streams: bool
    ) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
        """Yield the text in pieces; return what the model said, and what could not be read."""
        if not found.sources:
            return Draft(answered=False), ()
        question = Question(
            text=written.standalone, options=self.options, history=self.conversation.turns
        )
        task, warnings = self._task(question, found)
        if task is None:
            return Draft(answered=False), warnings
        draft, more = yield from compose(
            task, caller=self.caller, composer=composer, streams=streams
        )
        return draft, (*warnings, *more)

    def _task(self, question: Question, found: Found) -> tuple[AnswerTask | None, tuple[str, ...]]:
        """Return how the model is asked; None where no excerpt says anything to the question."""
        if self.options.excerpts:
            conclusions, warnings = read_excerpts(question, found.sources, caller=self.caller)
            if not conclusions:
                return None, warnings
            return combining_task(question, conclusions=conclusions), warnings
        if self.answer_type is not None:
            task = structured_answer_task(
                question, context=found.context, answer_type=self.answer_type
            )
            return task, ()
        first = found.sources[0].runs[0].text
        return answer_task(question, context=found.context, first=first), ()

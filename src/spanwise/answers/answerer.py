"""From a question to a checked answer: write queries, search, call the model, compose.

If the answer says that a part is missing, a second round of queries, search and call looks for this
part. Its statements are appended, so streamed text never changes. If the second round fails, the
first answer is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spanwise.answers.answer_sources import AnswerSources, Source, sources_of
from spanwise.answers.composer import Citer, Composer, compose, without_markers
from spanwise.answers.conversation import Conversation
from spanwise.answers.search_queries import write_missing_queries, write_queries
from spanwise.answers.second_round import Round, kept_sources, second_evidence
from spanwise.answers.shown_pages import MAX_IMAGES
from spanwise.answers.stream import AnswerStream
from spanwise.core.answers.drafts import Draft, Statement
from spanwise.core.extraction.render import render_segments
from spanwise.errors import ModelError, OptionError, SpanwiseError, as_sentence
from spanwise.events import StepTimer
from spanwise.filters import parse_filter
from spanwise.models.model_checks import accepts_images
from spanwise.models.prompts.answers import (
    PageImage,
    Question,
    answer_task,
    structured_answer_task,
    with_images,
)
from spanwise.models.prompts.conclusions import (
    Conclusion,
    SourcedConclusion,
    combining_task,
    conclusions_request,
    read_conclusions,
)
from spanwise.options import QueryOptions
from spanwise.types import Answer, WrittenQueries
from spanwise.types.notebook import counted

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.answers.shown_pages import PageDrawer
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import ModelRequest
    from spanwise.models.prompts.answers import AnswerTask
    from spanwise.options import AnswerOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Citation, ExcerptResult, SearchResult, WholeDocument
    from spanwise.types.listener import Listener


_FILLER = " word"  # one token
_QUERY_WORDS = 60
_REFUSED_STATUSES = (400, 404, 415, 422)  # of servers whose model accepts no images


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
    """Function that returns the document of a citation; None if it was removed."""
    search: Search
    count_tokens: Callable[[str], int]
    """Function that counts the tokens of a text with the tokenizer of the knowledge base."""
    scope: Scope
    """Documents that may be searched."""
    options: AnswerOptions
    query_options: QueryOptions | None
    """Options for writing queries; None to search for the question alone."""
    query_caller: ModelCaller | None = None
    """Caller of the model that writes the queries; None to use `caller`."""
    answer_type: type[BaseModel] | None = None
    """Pydantic model of a structured answer; None for an answer in text."""
    conversation: Conversation = field(default_factory=Conversation)
    """Earlier turns and their evidence."""
    listener: Listener | None = None
    """Callbacks for the steps of an answer."""
    pages: PageDrawer | None = None
    """Draws pages as images for the model; None for no images."""
    is_estimate: bool = False
    """Whether `caller` makes a dry run. An answer that is not cached then has a second round."""

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
        composer = Composer(
            evidence.sources,
            citer=Citer(self.read_cited),
            question=self.conversation.words_of_user(question, queries.standalone),
        )
        final = yield from self._rounds(queries, evidence, composer, streams=streams, timer=timer)
        evidence, draft = final.evidence, final.draft
        conflicts = draft.conflicts if draft.answered else ()
        rendered_conflicts = tuple(composer.render(conflict) for conflict in conflicts)
        text = composer.text if draft.answered else self._refusal(evidence)
        if not draft.answered:
            yield text
        missing = _plain(draft.missing) if draft.data is None else draft.missing  # or fields
        return Answer(
            question=question,
            text=text,
            citations=composer.citations,
            refused=not draft.answered,
            queries=evidence.queries,
            where=evidence.where,
            conflicts=rendered_conflicts,
            assumed=_plain(draft.assumed),
            missing=missing,
            unsupported=composer.unsupported,
            calculations=composer.calculations,
            sources=tuple(source.citation for source in evidence.sources),
            data=draft.data,
            model=self.caller.model.name,
            usage=sum((caller.usage for caller in self._callers), evidence.usage),
            warnings=tuple(
                dict.fromkeys(
                    (
                        *queries.warnings,
                        *evidence.warnings,
                        *final.warnings,
                        *self._fallback_warnings(),
                        *composer.warnings(),
                        *([f"not answered: {missing}"] if missing else ()),
                    )
                )
            ),
            seconds=timer.seconds,
            rounds=final.rounds,
        )

    def _rounds(
        self,
        queries: WrittenQueries,
        evidence: AnswerSources,
        composer: Composer,
        *,
        streams: bool,
        timer: StepTimer,
    ) -> Generator[str, None, Round]:
        """Yield the text of the answer in pieces, and return the result of all rounds."""
        calls = self.caller.usage.calls
        asked = self._question(queries)
        draft, warnings = yield from self._compose(asked, evidence, composer, streams=streams)
        timer.done("answer")
        first = Round(evidence=evidence, draft=draft, warnings=warnings)
        if self.is_estimate and self._can_continue(evidence) and self.caller.usage.calls > calls:
            self._estimate_second_round(queries)
        elif self._is_incomplete(first):
            return (
                yield from self._second_round(
                    queries, first, composer, streams=streams, timer=timer
                )
            )
        return first

    def _can_continue(self, evidence: AnswerSources) -> bool:
        """Return whether a second round is possible: a model writes queries and read segments."""
        options = self.options
        has_round = options.rounds > 1 and not options.excerpts
        return has_round and self.query_options is not None and bool(evidence.sources)

    def _is_incomplete(self, first: Round) -> bool:
        """Return whether a second round follows. A partly filled form has no second round."""
        is_missing = not first.draft.answered or (first.draft.missing and self.answer_type is None)
        return bool(is_missing) and self._can_continue(first.evidence)

    def _second_round(
        self,
        queries: WrittenQueries,
        first: Round,
        composer: Composer,
        *,
        streams: bool,
        timer: StepTimer,
    ) -> Generator[str, None, Round]:
        """Yield what a second round adds to the answer; return the result of both rounds.

        If the round fails, the result is the first answer, with a warning.
        """
        result = first
        try:
            evidence = self._find_missing(queries, first, composer, timer=timer)
            if evidence is None:
                return first
            result = replace(first, evidence=evidence, rounds=2)
            new = evidence.sources[len(first.evidence.sources) :]
            if not new:
                return result
            composer.add_sources(new)
            asked = self._question(queries, first.draft)
            draft, warnings = yield from self._compose(asked, evidence, composer, streams=streams)
            timer.done("answer")
        except SpanwiseError as error:
            warning = f"the second round failed, so the first answer is unchanged: {error}"
            return replace(
                result,
                evidence=replace(result.evidence, sources=first.evidence.sources),
                warnings=(*first.warnings, warning),
            )
        return replace(
            result, draft=first.draft.continued(draft), warnings=(*first.warnings, *warnings)
        )

    def _find_missing(
        self, queries: WrittenQueries, first: Round, composer: Composer, *, timer: StepTimer
    ) -> AnswerSources | None:
        """Return the evidence of both rounds; None if the model writes no new query."""
        budget_tokens = self.options.budget_tokens
        written = self._write_missing_queries(
            queries, missing=first.draft.missing, searched=first.evidence.queries
        )
        timer.done("queries")
        if written is None:
            return None
        kept = kept_sources(
            first,
            composer.citations,
            count_tokens=self.count_tokens,
            budget_tokens=budget_tokens,
        )
        found = sources_of(self.search(written, budget_tokens=budget_tokens - kept.tokens))
        timer.done("search")
        found = replace(found, search_warnings=(*written.warnings, *found.search_warnings))
        return second_evidence(first.evidence, found, kept)

    def _estimate_second_round(self, queries: WrittenQueries) -> None:
        """Count the calls of a second round with texts of the maximum length."""
        options, query_options = self.options, self.query_options or QueryOptions()
        searched = [_FILLER * _QUERY_WORDS] * (query_options.queries + 1)
        self._write_missing_queries(queries, missing=_FILLER * _QUERY_WORDS, searched=searched)
        written = Statement(text=_FILLER * options.max_output_tokens, quotes=())
        asked = self._question(queries, Draft(answered=True, statements=(written,), missing="-"))
        context = _FILLER * options.budget_tokens
        task = self._segments_task(asked, context=context, first=_FILLER)
        if self.pages is not None:
            task = with_images(task, [PageImage(segment=1, page=1, image=b"")] * MAX_IMAGES)
        self.caller.call(task.request, read=task.read)

    def _write_missing_queries(
        self, queries: WrittenQueries, *, missing: str, searched: Sequence[str]
    ) -> WrittenQueries | None:
        return write_missing_queries(
            queries,
            missing=missing,
            searched=searched,
            caller=self.query_caller or self.caller,
            store=self.store,
            options=self.query_options or QueryOptions(),
            scope=self.scope,
        )

    def _question(self, queries: WrittenQueries, first: Draft | None = None) -> Question:
        """Return the question for the model, with the first answer in a second round."""
        question = Question(
            text=queries.standalone, options=self.options, history=self.conversation.turns
        )
        if first is None or not first.answered:
            return question
        answered = " ".join(statement.text for statement in first.statements)
        return replace(question, answered=answered, missing=first.missing)

    def _fallback_warnings(self) -> list[str]:
        """Return warnings about fallback models that answered."""
        replaced = {
            name: caller.model.name
            for caller in self._callers
            for name in caller.answered_by
            if name != caller.model.name
        }
        return [
            f"{failed} failed, and {name} answered instead" for name, failed in replaced.items()
        ]

    @property
    def _callers(self) -> tuple[ModelCaller, ...]:
        return (self.caller,) if self.query_caller is None else (self.query_caller, self.caller)

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
                caller=self.query_caller or self.caller,
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
        self, question: Question, evidence: AnswerSources, composer: Composer, *, streams: bool
    ) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
        """Yield the text of the answer in pieces; return the model's draft, and warnings.

        An answer without any checked quote does not stay in the cache: the model may have made it
        up, or followed an instruction in a document.
        """
        if not evidence.sources:
            return Draft(answered=False), ()
        requests = self._excerpt_requests(question, evidence)
        task, warnings = self._answer_task(question, evidence, requests)
        if task is None:
            return Draft(answered=False), warnings
        proved = composer.proved
        shown, image_warnings = self._with_images(task, evidence)
        write = partial(compose, caller=self.caller, composer=composer, streams=streams)
        try:
            draft, more_warnings = yield from write(shown)
        except ModelError as error:
            if not shown.request.images or error.status not in _REFUSED_STATUSES:
                raise
            image_warnings = (f"the model answers without images of pages: {error}",)
            draft, more_warnings = yield from write(task)
        if draft.answered and composer.proved == proved:
            for request in (*requests, shown.request, task.request):
                self.caller.forget(request)
        return draft, (*warnings, *image_warnings, *more_warnings)

    def _with_images(
        self, task: AnswerTask, evidence: AnswerSources
    ) -> tuple[AnswerTask, tuple[str, ...]]:
        """Return a task with images of pages that are tables or scans, and warnings."""
        if self.pages is None:
            return task, ()
        if not accepts_images(self.caller.model):
            return task, (f"no images of pages: {self.caller.model.name} accepts none",)
        if self.is_estimate:
            return with_images(task, [PageImage(segment=1, page=1, image=b"")] * MAX_IMAGES), ()
        shown = range(len(evidence.sources)) if evidence.shown is None else evidence.shown
        images, warnings = self.pages.images(
            [evidence.sources[index] for index in shown], [index + 1 for index in shown]
        )
        return with_images(task, images), tuple(warnings)

    def _excerpt_requests(self, question: Question, evidence: AnswerSources) -> list[ModelRequest]:
        """Return the request for each excerpt; none if the question is answered from segments."""
        if not self.options.excerpts:
            return []
        return [
            conclusions_request(
                question,
                context=render_segments(
                    [source.text], citations=[source.citation], headers=[source.header]
                ),
                first=source.spans[0].text,
            )
            for source in evidence.sources
        ]

    def _answer_task(
        self, question: Question, evidence: AnswerSources, requests: Sequence[ModelRequest]
    ) -> tuple[AnswerTask | None, tuple[str, ...]]:
        """Return the task for the model, and warnings; no task if no excerpt has a conclusion."""
        if self.options.excerpts:
            conclusions, warnings = _read_excerpts(requests, evidence.sources, caller=self.caller)
            if not conclusions:
                return None, warnings
            return combining_task(question, conclusions=conclusions), warnings
        first = evidence.sources[0].spans[0].text
        return self._segments_task(question, context=evidence.context, first=first), ()

    def _segments_task(self, question: Question, *, context: str, first: str) -> AnswerTask:
        """Return the task of answering from segments, with or without a form.

        Args:
            question: The question.
            context: Numbered segments.
            first: Text of the first segment, for the typical answer.
        """
        if self.answer_type is None:
            return answer_task(question, context=context, first=first)
        return structured_answer_task(question, context=context, answer_type=self.answer_type)


def _plain(text: str) -> str:
    """Return a remark of a model as one line that cannot imitate another remark or a citation."""
    return " ".join(without_markers(text).split())


def _read_excerpts(
    requests: Sequence[ModelRequest], sources: Sequence[Source], *, caller: ModelCaller
) -> tuple[list[SourcedConclusion], tuple[str, ...]]:
    """Return the conclusions that a model draws from excerpts, and warnings about failed excerpts.

    Raises:
        ModelError: If the model failed for every excerpt; the error for the first excerpt.
        CostLimitError: If a call would exceed the cost limit.
    """

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

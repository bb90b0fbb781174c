"""A question put to each document separately, and the list of the answers.

Rules:
    The model reads each document in a separate call and sees no other document, so a document can
    influence only its own verdict. Quotes are searched for in the document itself only.
    Search queries are written once, for all documents. The model may not filter documents.
    A document is not read only if the search finds no passage in it: it lacks a quoted phrase, or,
    in a knowledge base without an embedder, all words of all queries.
    The list, its counts and its citation numbers are made by code. A title or statement is one line
    of it, so that it cannot imitate the line of another document.
    A failed document does not stop the others. At the cost limit, the remaining documents are not
    read, except those whose answers are cached.
    If no document was read, the first error is raised.
    An answer without any checked quote does not stay in the cache.
    An estimate is made before the queries are known, so it counts a call for each document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from spanwise.answers.answer_sources import AnswerSources, Source, sources_of
from spanwise.answers.composer import Citer, Composer, without_markers
from spanwise.answers.search_queries import records_in_scope, write_queries
from spanwise.core.extraction.render import render_segments
from spanwise.core.ranking.documents_question import read_request
from spanwise.errors import CostLimitError, ModelKeyError, OptionError, SpanwiseError
from spanwise.events import StepTimer
from spanwise.models.prompts.answers import Question
from spanwise.models.prompts.each_document import (
    DocumentDraft,
    document_request,
    read_document_draft,
)
from spanwise.search.result_warnings import unmatched_filter
from spanwise.threads import map_bounded
from spanwise.types import DocumentAnswer, DocumentAnswers, Usage, WrittenQueries

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import ModelRequest
    from spanwise.options import AnswerOptions, QueryOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Citation, DocumentRecord, SearchResult, WholeDocument
    from spanwise.types.listener import Listener

_NOTHING_FOUND = "no passage of the document matches the question"
_DRY_RUN = "dry run"
_FILLER = " word"  # one token in usual tokenizers, and more than one by the number of characters
_HEADINGS = (("yes", "Yes"), ("no", "No"), ("not stated", "Not stated"))
_REASONED = (("failed", "Failed"), ("not read", "Not read"))


class DocumentSearch(Protocol):
    """Function that searches in one document."""

    def __call__(self, queries: WrittenQueries, document_id: str) -> SearchResult:
        """Return the passages of a document for the queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Passages read of one document, and the draft or the error of the model."""

    evidence: AnswerSources | None = None
    draft: DocumentDraft | None = None
    request: ModelRequest | None = None
    """Request for the draft; None if the model was not called."""
    error: SpanwiseError | None = None
    usage: Usage = field(default_factory=Usage)
    """Usage of the search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EachAsker:
    """Puts a question to each document in scope."""

    caller: ModelCaller
    store: Store
    read_cited: Callable[[Citation], WholeDocument | None]
    """Function that returns the document of a citation; None if it was removed."""
    search: DocumentSearch
    scope: Scope
    """Documents to read."""
    options: AnswerOptions
    query_options: QueryOptions | None
    """Options for writing queries; None to search for the question alone."""
    query_caller: ModelCaller | None = None
    """Caller of the model that writes the queries; None to use `caller`."""
    dry_run: bool = False
    """Whether calls are only estimated; `caller` then makes a dry run."""
    on_progress: Callable[[int, int], None] | None = None
    """Function that is called with the finished and the total number of documents."""
    listener: Listener | None = None
    """Callbacks for the steps."""

    def run(self, question: str) -> DocumentAnswers:
        """Return the answers of all documents.

        Raises:
            QueryError: If the question contains no words.
            CostLimitError: If the cost limit is reached before any document was read.
            ModelError: If the model fails for all documents.
            SpanwiseError: If the scope is invalid.
        """
        timer = StepTimer(self.listener, prefix="ask_each.")
        records = records_in_scope(self.store, self.scope)
        written = self._write_queries(question)
        request = read_request(written.standalone)
        queries = written if request is None else replace(written, standalone=request.topic)
        timer.done("queries")
        readings = self._read_all(question, queries, records)
        documents = tuple(self._compose(question, records, readings))
        timer.done("documents", documents=len(records))
        answers = DocumentAnswers(
            question=question,
            text="",
            documents=documents,
            queries=(queries.standalone, *queries.more_queries),
            where="" if self.scope.where is None else str(self.scope.where),
            model=self.caller.model.name,
            usage=sum((reading.usage for reading in readings), self._usage),
            cost_limit_reached=any(map(_is_limit, readings)),
            warnings=(*written.warnings, *self._warnings(documents, readings)),
            seconds=timer.seconds,
        )
        return replace(answers, text=list_text(answers))

    @property
    def _usage(self) -> Usage:
        """Usage of the models."""
        queries = Usage() if self.query_caller is None else self.query_caller.usage
        return queries + self.caller.usage

    def _write_queries(self, question: str) -> WrittenQueries:
        if self.query_options is None:
            return WrittenQueries(question=question, standalone=question, more_queries=())
        return write_queries(
            question,
            caller=self.query_caller or self.caller,
            store=self.store,
            options=replace(self.query_options, filters=False),
            scope=self.scope,
        )

    def _read_all(
        self, question: str, queries: WrittenQueries, records: Sequence[DocumentRecord]
    ) -> list[_Reading]:
        """Return the reading of each document.

        Raises:
            SpanwiseError: If no document was read because of errors; the first error.
        """
        asked = Question(text=question, options=self.options)
        # The real queries are unknown before they are written, and may find longer passages.
        is_bound = (
            self.dry_run and self.query_options is not None and not queries.usage.cached_calls
        )
        finished = _Progress(total=len(records), notify=self.on_progress)

        def read(record: DocumentRecord) -> _Reading:
            reading = self._read(asked, queries, record, is_bound=is_bound)
            finished.add_one()
            return reading

        readings = map_bounded(read, records, limit=self.caller.model.concurrency)
        errors = [reading.error for reading in readings if reading.error is not None]
        if errors and all(reading.draft is None for reading in readings):
            raise errors[0]
        return readings

    def _read(
        self, question: Question, queries: WrittenQueries, record: DocumentRecord, *, is_bound: bool
    ) -> _Reading:
        """Return the passages that the model reads of one document, and its draft or its error."""
        reading = _Reading()
        try:
            result = self.search(queries, record.id)
            evidence = _of_document(sources_of(result), record)
            reading = _Reading(
                evidence=replace(evidence, warnings=result.warnings), usage=result.usage
            )
            if not evidence.sources and not is_bound:
                return reading
            context = evidence.context
            if is_bound and _read_share(record, evidence) < 1:
                context += _FILLER * (self.options.budget_tokens - result.tokens)
            first = evidence.sources[0].spans[0].text if evidence.sources else _FILLER
            request = document_request(question, context=context, first=first)
            draft = self.caller.call(request, read=read_document_draft)
            return replace(reading, draft=draft, request=request)
        except (ModelKeyError, OptionError):
            raise  # every document would fail
        except SpanwiseError as error:
            return replace(reading, error=error)

    def _compose(
        self, question: str, records: Sequence[DocumentRecord], readings: Sequence[_Reading]
    ) -> Iterator[DocumentAnswer]:
        """Yield the answer of each document, with citations numbered over all documents."""
        citer = Citer(self.read_cited)
        citations = 0
        for record, reading in zip(records, readings, strict=True):
            answer = DocumentAnswer(
                document_id=record.id,
                title=record.title,
                verdict="not read",
                knowledge_base=record.knowledge_base,
                warnings=() if reading.evidence is None else reading.evidence.warnings,
            )
            if reading.evidence is None or reading.draft is None or self.dry_run:
                yield _unread(answer, reading, dry_run=self.dry_run)
                continue
            composer = Composer(
                reading.evidence.sources,
                citer=citer,
                question=question,
                first_number=citations + 1,
            )
            statements = tuple(map(composer.render, reading.draft.statements))
            statements = tuple(" ".join(statement.split()) for statement in statements)
            citations += len(composer.citations)
            answer = replace(
                answer,
                verdict=reading.draft.verdict,
                value=reading.draft.value,
                statements=statements,
                citations=composer.citations,
                read_share=_read_share(record, reading.evidence),
            )
            if reading.request is not None and statements and not answer.verified:
                self.caller.forget(reading.request)
            warnings = (*answer.warnings, *composer.warnings(), *_value_warnings(answer, composer))
            yield replace(answer, warnings=warnings)

    def _warnings(
        self, documents: Sequence[DocumentAnswer], readings: Sequence[_Reading]
    ) -> Iterator[str]:
        """Yield the warnings about the whole list."""
        if not documents and self.scope.where is not None:
            yield unmatched_filter(self.scope.where, self.store, documents=self.scope.documents)
        limits = [one.error for one in readings if _is_limit(one)]
        if limits:
            yield f"{_counted(len(limits))} not read because of the cost limit: {limits[0]}"
        missed = sum(document.reason == _NOTHING_FOUND for document in documents)
        if missed:
            yield f"{_counted(missed)} not read, because no passage matches the question"
        answered = [document for document in documents if document.verdict in ("yes", "no")]
        unproved = sum(not document.verified for document in answered)
        if unproved:
            yield f"{_counted(unproved)} counted without a quote that was found in the text"
        requested = self.caller.model.name
        others = [name for name in self.caller.answered_by if name != requested]
        yield from (f"{requested} failed, and {name} answered instead" for name in others)


def _counted(number: int) -> str:
    return "1 document was" if number == 1 else f"{number:,} documents were"


@dataclass(slots=True, kw_only=True)
class _Progress:
    """Number of finished documents. Thread-safe."""

    total: int
    notify: Callable[[int, int], None] | None
    _done: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add_one(self) -> None:
        """Count one document, and notify the caller."""
        with self._lock:
            self._done += 1
            if self.notify is not None:
                self.notify(self._done, self.total)


def _of_document(evidence: AnswerSources, record: DocumentRecord) -> AnswerSources:
    """Return the sources without those of documents with the same id in other knowledge bases."""
    base = record.knowledge_base
    sources = tuple(one for one in evidence.sources if one.citation.knowledge_base == base)
    if len(sources) == len(evidence.sources):
        return evidence
    context = render_segments(
        [source.text for source in sources],
        citations=[source.citation for source in sources],
        headers=[source.header for source in sources],
    )
    return replace(evidence, sources=sources, context=context)


def _read_share(record: DocumentRecord, evidence: AnswerSources) -> float:
    """Return the share of a document's characters in its sources, in [0, 1]."""
    chars = sum(map(_chars, evidence.sources))
    return min(1.0, chars / max(1, record.chars))


def _chars(source: Source) -> int:
    return sum(len(span.text) for span in source.spans)


def _is_limit(reading: _Reading) -> bool:
    """Return whether a document was not read because of the cost limit."""
    return isinstance(reading.error, CostLimitError)


def _unread(answer: DocumentAnswer, reading: _Reading, *, dry_run: bool) -> DocumentAnswer:
    """Return the answer of a document that the model did not read, or that failed."""
    if reading.error is None:
        reason = _DRY_RUN if dry_run and reading.draft is not None else _NOTHING_FOUND
        return replace(answer, reason=reason)
    if _is_limit(reading):
        return replace(answer, reason=str(reading.error))
    return replace(answer, verdict="failed", reason=str(reading.error))


def _value_warnings(answer: DocumentAnswer, composer: Composer) -> Iterator[str]:
    """Yield a warning if a number, date or name of the value is in no quote that was found."""
    claims = ", ".join(composer.unsupported_in(answer.value))
    if claims:
        yield f"the value {answer.value!r} is not supported by its quotes: {claims}"


def list_text(answers: DocumentAnswers) -> str:
    """Return the counts, and the documents of each verdict with their statements and markers."""
    summary = answers.summary
    parts = [f"{summary[:1].upper()}{summary[1:]}."]
    for verdict, heading in _HEADINGS:
        lines = [_line(one) for one in answers.documents if one.verdict == verdict]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    for verdict, heading in _REASONED:
        documents = [one for one in answers.documents if one.verdict == verdict]
        if documents:
            lines = [f"- {_plain(one.name)}: {_plain(one.reason)}" for one in documents]
            parts.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join(parts)


def _line(answer: DocumentAnswer) -> str:
    value = f"{_plain(answer.value)}." if answer.value else ""
    text = " ".join(part for part in (value, *answer.statements) if part)
    return f"- {_plain(answer.name)}: {text}" if text else f"- {_plain(answer.name)}"


def _plain(text: str) -> str:
    """Return a title, value or reason as one line that cannot imitate a list item or a marker."""
    return " ".join(without_markers(text).split())

"""Enrichment of documents by a language model: sections, title, summaries, chunk contexts.

Rules:
    A document is complete without the model: parts that cannot be made keep their plain form, and a
        warning names them.
    If the model is unreachable, no more requests are made for the same document. After several such
    documents in a row, no requests are made for the others, because each would wait for all
    retries.
    A cost limit or a rejected key ends the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import CostLimitError, ModelAnswerError, ModelError, ModelKeyError
from spanwise.ingest.replaced_pages import PageReading, parse_without_model, read_pages
from spanwise.ingest.stoppable import StoppableModel
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.prompts.chunk_contexts import make_chunk_contexts
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.sections import make_sections
from spanwise.models.prompts.summaries import make_section_summaries, make_summary, make_title
from spanwise.models.registry import make_checked_model
from spanwise.packs.known_kinds import document_headings, document_title
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from spanwise.ingest.prepare import Outline
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import LanguageModel, OutputCache
    from spanwise.options import ContextOptions, ModelOptions, SectionOptions
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.types import Chunk, Document, Section


_MAX_UNREACHED = 3  # consecutive documents for which the model was unreachable
_SUMMARISED_CHARS = 400  # a shorter section is its own summary
_NOT_FOUND = 404  # the model does not exist
_DOCUMENTS_AT_ONCE = 8  # their texts are in memory; concurrent calls are limited by the model
_DOCUMENTS_AT_ONCE_IN_BATCHES = 32  # each waits for hours, with one thread per call


@dataclass(slots=True, kw_only=True)
class Enricher:
    """Makes the requested parts of the documents of one ingest. Safe for several threads."""

    caller: ModelCaller
    options: ContextOptions
    stopped: threading.Event
    """Set when the run ends; the model of the caller makes no calls then."""
    documents_at_once: int
    """Number of documents enriched in parallel."""
    _unreached: set[str] = field(default_factory=set)
    """Ids of consecutive documents for which the model was unreachable."""
    _unread: set[str] = field(default_factory=set)
    """Ids of documents with pages to request again in a later run."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def model(self) -> str:
        """Vendor and model."""
        return self.caller.model.name

    @property
    def ledger(self) -> Ledger:
        """Ledger of all model calls by task."""
        return self.caller.ledger

    def reads(self, document_id: str) -> bool:  # noqa: ARG002 - same for all documents
        """Return whether the model reads pages of documents."""
        return self.options.read_pages

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,
        *,
        draw: Callable[[int], bytes],
        parse: Callable[[], Document],
    ) -> Document:
        """Return a document with the text that the model reads on some of its pages.

        Args:
            document: Document, parsed for a page reader.
            pages: Pages to read.
            draw: Returns a page as a PNG file, by its number from 1.
            parse: Parses the document without a model, if no page can be read.

        Raises:
            CostLimitError: If reading would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
            ParseError: If the document cannot be parsed without a model either.
        """
        if self._is_reached(document.id):
            reading = read_pages(document, pages, draw=draw, caller=self.caller)
        else:
            failure = f"no page read by {self.model}, which could not be reached"
            reading = PageReading(failure=failure, is_reached=False, is_unfinished=True)
        if reading.is_unfinished:
            with self._lock:
                self._unread.add(document.id)
        self._note_reached(document.id, is_reached=reading.is_reached)
        return reading.document or parse_without_model(parse, failure=reading.failure)

    def start(
        self,
        document: Document,
        *,
        given: GivenParts,
        language: str,
        count_tokens: Callable[[Sequence[str]], list[int]],
    ) -> Enrichment:
        """Return the enrichment of one document.

        Args:
            document: Document with text.
            given: Parts given by the caller, which are not made.
            language: Language of the text.
            count_tokens: Returns the number of tokens of each text.
        """
        prompt_context = PromptContext(
            caller=self.caller, options=self.options, language=language, count_tokens=count_tokens
        )
        return Enrichment(
            document=document,
            given=given,
            prompt_context=prompt_context,
            is_reached=self._is_reached(document.id),
            note_reached=partial(self._note_reached, document.id),
            retry_parts={"pages"} if document.id in self._unread else set(),
        )

    def _is_reached(self, document_id: str) -> bool:
        """Return whether requests about a document are still made."""
        with self._lock:
            return len(self._unreached) < _MAX_UNREACHED and document_id not in self._unreached

    def _note_reached(self, document_id: str, *, is_reached: bool) -> None:
        """Count consecutive documents for which the model was unreachable."""
        with self._lock:
            if is_reached:
                self._unreached.clear()
            else:
                self._unreached.add(document_id)


@dataclass(slots=True, kw_only=True)
class Enrichment:
    """Parts of one document made by a model, with warnings about missing ones."""

    document: Document
    given: GivenParts
    prompt_context: PromptContext
    is_reached: bool
    """Whether requests are still made; False once the model was unreachable."""
    note_reached: Callable[..., None]
    warnings: list[str] = field(default_factory=list)
    """Readable descriptions of missing parts."""
    retry_parts: set[str] = field(default_factory=set)
    """Parts to request again in a later run, because the model was unreachable."""
    _is_answered: bool = False
    """Whether the model answered any request."""

    def outline(self, plain: Outline, *, limits: SectionOptions) -> Outline:
        """Return title, summary and sections; requested parts that are not given are made.

        Args:
            plain: Outline made without a model, or given.
            limits: Length limits of sections.

        Raises:
            CostLimitError: If a request would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
        """
        options, title, summary = self.prompt_context.options, plain.title, plain.summary
        if options.headers and not self.given.title:
            title = self._generate("title", self._title, otherwise=title)
        if options.headers and not self.given.summary:
            summary = self._generate("summary", lambda: self._summary(title), otherwise=summary)
        sections = plain.sections
        if options.sections and not self.given.sections:
            sections = self._sections(sections, limits)
        if options.headers:
            sections = self._with_summaries(sections, title)
        return plain._replace(title=title, summary=summary, sections=sections)

    def with_contexts(
        self, chunks: tuple[Chunk, ...], *, sections: Sequence[Section], title: str
    ) -> tuple[Chunk, ...]:
        """Return the chunks with their contexts, made if requested and not given.

        Raises:
            CostLimitError: If a request would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
        """
        if not self.prompt_context.options.chunk_contexts or self.given.contexts:
            return chunks
        if not self._may_ask("chunk contexts"):
            return chunks
        made = make_chunk_contexts(
            chunks, sections=sections, title=title, context=self.prompt_context
        )
        self._note_some("chunk contexts", made, "{lost} of {all} chunks have no context")
        return tuple(
            chunk if isinstance(context, ModelError) else replace(chunk, context=context)
            for chunk, context in zip(chunks, made, strict=True)
        )

    def finish(self) -> None:
        """Record reachability, and add a warning about parts that were not requested."""
        self.note_reached(is_reached=self.is_reached or self._is_answered)
        if self.retry_parts and not self.is_reached:
            missing = ", ".join(sorted(self.retry_parts))
            self.warnings.append(
                f"{self.prompt_context.caller.model.name} could not be reached for {missing}; the "
                "document is stored without them, and the same command adds them"
            )

    def _title(self) -> str:
        return make_title(self.document, context=self.prompt_context)

    def _summary(self, title: str) -> str:
        return make_summary(self.document, title=title, context=self.prompt_context)

    def _sections(self, plain: tuple[Section, ...], limits: SectionOptions) -> tuple[Section, ...]:
        if not self._may_ask("sections"):
            return plain
        made = make_sections(
            self.document,
            title=document_title(self.document),
            headings=document_headings(self.document),
            context=self.prompt_context,
            limits=limits,
            fallback=plain,
        )
        self.warnings += made.warnings
        self._note_errors("sections", made.errors)
        self._is_answered = self._is_answered or made.is_answered
        return made.sections

    def _with_summaries(self, sections: tuple[Section, ...], title: str) -> tuple[Section, ...]:
        long_sections = [
            at
            for at, section in enumerate(sections)
            if not section.summary and section.end - section.start >= _SUMMARISED_CHARS
        ]
        if not long_sections or not self._may_ask("section summaries"):
            return sections
        made = make_section_summaries(
            self.document,
            [sections[at] for at in long_sections],
            title=title,
            context=self.prompt_context,
        )
        self._note_some("section summaries", made, "{lost} of {all} sections have no summary")
        summaries = dict(zip(long_sections, made, strict=True))
        return tuple(
            replace(section, summary=summary)
            if isinstance(summary := summaries.get(at), str)
            else section
            for at, section in enumerate(sections)
        )

    def _may_ask(self, part: str) -> bool:
        """Return whether the model may be called; otherwise record the part as missing."""
        if not self.is_reached:
            self.retry_parts.add(part)
        return self.is_reached

    def _generate(self, part: str, make: Callable[[], str], *, otherwise: str) -> str:
        if not self._may_ask(part):
            return otherwise
        try:
            made = make()
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            self.warnings.append(f"its {part} was made without a model: {error}")
            self._note_errors(part, [error])
            return otherwise
        self._is_answered = True
        return made

    def _note_some(self, part: str, results: Sequence[str | ModelError], message: str) -> None:
        errors = [result for result in results if isinstance(result, ModelError)]
        if errors:
            self.warnings.append(
                f"{message.format(lost=len(errors), all=len(results))}: {errors[0]}"
            )
        self._note_errors(part, errors)
        self._is_answered = self._is_answered or len(errors) < len(results)

    def _note_errors(self, part: str, errors: Sequence[ModelError]) -> None:
        """Record parts to request again; an unusable answer would be unusable again."""
        unreached = [error for error in errors if not isinstance(error, ModelAnswerError)]
        if unreached:
            self.retry_parts.add(part)
        if any(error.retryable or error.status == _NOT_FOUND for error in unreached):
            self.is_reached = False


def make_enricher(
    llm: str | LanguageModel,
    options: ContextOptions,
    *,
    models: ModelOptions,
    cache: OutputCache,
    ledger: Ledger,
    dry_run: bool,
) -> Enricher:
    """Return the enricher of one ingest, checked before anything is read.

    Args:
        llm: Vendor and model, or an object.
        options: Parts that the model makes.
        models: Options of the calls.
        cache: Cache of the answers.
        ledger: Ledger that counts the calls and holds the cost limit.
        dry_run: Whether calls are only estimated.

    Raises:
        OptionError: If the model is unknown, has no batch interface although `models.batch` is set,
            or has no known price although a cost limit applies.
        ModelKeyError: If its API key is missing.
    """
    stopped = threading.Event()
    checked = make_checked_model(llm, options=models, cache=cache, ledger=ledger)
    model = StoppableModel(model=checked, stopped=stopped)
    if dry_run:
        caller = dry_run_caller(model, cache=cache, listener=ledger.listener)
    else:
        caller = ModelCaller(
            model=model, cache=cache, answer_retries=models.answer_retries, ledger=ledger
        )
    most = _DOCUMENTS_AT_ONCE_IN_BATCHES if models.batch else _DOCUMENTS_AT_ONCE
    return Enricher(
        caller=caller,
        options=options,
        stopped=stopped,
        documents_at_once=min(checked.concurrency, most),
    )

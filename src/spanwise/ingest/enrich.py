"""Parts of documents made by a language model: sections, title, summaries and chunk contexts.

Rules:
    A document is complete without the model. If the model cannot make a part, the part is made
    without a model or left out, and a warning names it.
    If the model is unreachable, no more requests are made for the same document. After several such
    documents in a row, no requests are made for the others, because each would wait for all
    retries.
    A request that would exceed the cost limit, or a rejected key, ends the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from spanwise.core.documents.figure_texts import caption_images, is_image
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError, ModelKeyError
from spanwise.ingest.model_figure_reader import FigureReading, describe_figures
from spanwise.ingest.model_page_reader import PageReading, parse_without_model, read_pages
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.ports import WrappedModel
from spanwise.models.prompts.chunk_contexts import make_chunk_contexts
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.sections import make_sections
from spanwise.models.prompts.summaries import make_section_summaries, make_summary, make_title
from spanwise.models.registry import make_checked_model
from spanwise.packs.known_kinds import document_headings, document_title
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from spanwise.ingest.prepare import Outline
    from spanwise.ingest.reader import PageRequest
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
    from spanwise.options import ContextOptions, ModelOptions, SectionOptions
    from spanwise.types import Chunk, Document, Section
    from spanwise.types.output_cache import OutputCache


_MAX_UNREACHED = 3  # consecutive documents for which the model was unreachable
_SUMMARISED_CHARS = 400  # shorter sections need no summary
_NOT_FOUND = 404  # the model does not exist
_DOCUMENTS_AT_ONCE = 8  # their texts are in memory; concurrent calls are limited by the model
_DOCUMENTS_AT_ONCE_IN_BATCHES = 32  # each waits for hours, with one thread per call


@dataclass(slots=True, kw_only=True)
class Enricher:
    """Makes parts of the documents of one ingest with a language model. Thread-safe."""

    caller: ModelCaller
    options: ContextOptions
    stopped: threading.Event
    """Event that is set when the run ends; the model of the caller then rejects further calls."""
    documents_at_once: int
    """Number of documents that are enriched in parallel."""
    _unreached: set[str] = field(default_factory=set)
    """Ids of the latest consecutive documents for which the model was unreachable."""
    _unfinished_parts: dict[str, set[str]] = field(default_factory=dict)
    """Parts to request again in a later run ("pages", "figures"), by document id."""
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
        """Return whether the model reads pages; the answer is the same for every document."""
        return self.options.read_pages or self.options.describe_figures

    @property
    def describes_figures(self) -> bool:
        """Whether the model describes figures."""
        return self.options.describe_figures

    def read_pages(self, request: PageRequest) -> Document:
        """Return a document with the text that the model reads on some of its pages.

        Raises:
            CostLimitError: If a call would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
            ParseError: If no page can be read, and the document cannot be parsed without a model.
        """
        document_id = request.document.id
        document = request.document
        if request.pages.numbers:
            document = self._read_scans(request) if self.options.read_pages else request.parse()
            if is_image(document):
                captioned = caption_images(
                    document.text, figures=document.figures, pages=document.pages
                )
                document = replace(document, figures=captioned)
        if not (self.options.describe_figures and document.figures):
            return document
        reachable = self._is_reachable(document_id)
        if not reachable:
            failure = f"no figure described by {self.model}, which could not be reached"
            reading = FigureReading(document=document, failure=failure, is_unfinished=True)
        else:
            reading = describe_figures(document, request.draw_figure, caller=self.caller)
            self._record_reachable(document_id, is_reachable=reading.is_reachable)
        if reading.is_unfinished:
            with self._lock:
                self._unfinished_parts.setdefault(document_id, set()).add("figures")
        if not reading.document.text:
            return parse_without_model(request.parse, failure=reading.failure)
        failures = (reading.failure,) if reading.failure else ()
        return replace(reading.document, warnings=(*reading.document.warnings, *failures))

    def _read_scans(self, request: PageRequest) -> Document:
        document_id = request.document.id
        if self._is_reachable(document_id):
            reading = read_pages(request, caller=self.caller)
        else:
            failure = f"no page read by {self.model}, which could not be reached"
            reading = PageReading(failure=failure, is_reachable=False, is_unfinished=True)
        if reading.is_unfinished:
            with self._lock:
                self._unfinished_parts.setdefault(document_id, set()).add("pages")
        self._record_reachable(document_id, is_reachable=reading.is_reachable)
        return reading.document or parse_without_model(request.parse, failure=reading.failure)

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
            document: Document with a text that is not empty.
            given: Parts supplied by the caller, which the model does not make.
            language: Language of the text (ISO 639-1); empty if unknown.
            count_tokens: Function that returns the number of tokens of each text.
        """
        prompt_context = PromptContext(
            caller=self.caller, options=self.options, language=language, count_tokens=count_tokens
        )
        return Enrichment(
            document=document,
            given=given,
            prompt_context=prompt_context,
            is_reachable=self._is_reachable(document.id),
            record_reachable=partial(self._record_reachable, document.id),
            retry_parts=set(self._unfinished_parts.get(document.id, ())),
        )

    def _is_reachable(self, document_id: str) -> bool:
        """Return whether the model may be called for a document."""
        with self._lock:
            return len(self._unreached) < _MAX_UNREACHED and document_id not in self._unreached

    def _record_reachable(self, document_id: str, *, is_reachable: bool) -> None:
        """Update the consecutive documents for which the model was unreachable."""
        with self._lock:
            if is_reachable:
                self._unreached.clear()
            else:
                self._unreached.add(document_id)


@dataclass(slots=True, kw_only=True)
class Enrichment:
    """Makes the parts of one document with a model, and collects warnings about missing parts."""

    document: Document
    given: GivenParts
    prompt_context: PromptContext
    is_reachable: bool
    """Whether the model is called; False once it was unreachable."""
    record_reachable: Callable[..., None]
    """Function that records at the end whether the model was reachable (`is_reachable`)."""
    warnings: list[str] = field(default_factory=list)
    """Human-readable messages about missing parts."""
    retry_parts: set[str] = field(default_factory=set)
    """Names of parts to request again in a later run, because the model was unreachable."""
    _is_answered: bool = False
    """Whether the model answered any request."""
    _cause: str = ""
    """Message of the error that showed that the model is unreachable; empty for none."""

    def outline(self, plain: Outline, *, limits: SectionOptions) -> Outline:
        """Return title, summary and sections, made by the model if requested.

        Args:
            plain: Outline without a model. Parts supplied by the caller are kept.
            limits: Length limits of sections.

        Raises:
            CostLimitError: If a request would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
        """
        options, title, summary = self.prompt_context.options, plain.title, plain.summary
        if options.headers and not self.given.title:
            make = partial(make_title, self.document, context=self.prompt_context)
            title = self._generate("title", make, otherwise=title)
        if options.headers and not self.given.summary:
            make = partial(make_summary, self.document, title=title, context=self.prompt_context)
            summary = self._generate("summary", make, otherwise=summary)
        sections = plain.sections
        if options.sections and not self.given.sections:
            sections = self._sections(sections, limits, title=title)
        elif options.headers:
            sections = self._with_summaries(sections, title)
        return plain._replace(title=title, summary=summary, sections=sections)

    def with_contexts(
        self, chunks: Sequence[Chunk], *, sections: Sequence[Section], title: str
    ) -> Sequence[Chunk]:
        """Return the chunks with contexts made by the model, if requested and not supplied.

        Raises:
            CostLimitError: If a request would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
        """
        if not self.prompt_context.options.chunk_contexts or self.given.contexts:
            return chunks
        if not self._may_request("chunk contexts"):
            return chunks
        contexts = make_chunk_contexts(
            chunks, sections=sections, title=title, context=self.prompt_context
        )
        self._record_results("chunk contexts", contexts, "{lost} of {all} chunks have no context")
        return tuple(
            chunk if isinstance(context, ModelError) else replace(chunk, context=context)
            for chunk, context in zip(chunks, contexts, strict=True)
        )

    def finish(self) -> None:
        """Record whether the model was reachable, and add a warning about missing parts."""
        self.record_reachable(is_reachable=self.is_reachable or self._is_answered)
        if self.retry_parts and not self.is_reachable:
            missing = ", ".join(sorted(self.retry_parts))
            cause = self._cause or f"{self.prompt_context.caller.model.name} cannot be reached"
            self.warnings.append(f"stored without {missing}; the same command adds them: {cause}")

    def _sections(
        self, plain: tuple[Section, ...], limits: SectionOptions, *, title: str
    ) -> tuple[Section, ...]:
        """Return the sections that the model finds, with their summaries if they are requested."""
        if not self._may_request("sections"):
            return plain
        headers = self.prompt_context.options.headers
        result = make_sections(
            self.document,
            title=title if headers else document_title(self.document),
            headings=document_headings(self.document),
            context=self.prompt_context,
            limits=limits,
            fallback=plain,
        )
        self.warnings += result.warnings
        lost = sum(not section.summary for section in result.sections if _is_long(section))
        if headers and lost:
            self.warnings.append(f"{lost} of {len(result.sections)} sections have no summary")
        self._record_errors("sections", result.errors)
        self._is_answered = self._is_answered or result.is_answered
        return result.sections

    def _with_summaries(self, sections: tuple[Section, ...], title: str) -> tuple[Section, ...]:
        long_sections = [
            at for at, section in enumerate(sections) if not section.summary and _is_long(section)
        ]
        if not long_sections or not self._may_request("section summaries"):
            return sections
        results = make_section_summaries(
            self.document,
            [sections[at] for at in long_sections],
            title=title,
            context=self.prompt_context,
        )
        message = "{lost} of {all} sections have no summary"
        self._record_results("section summaries", results, message)
        summaries = dict(zip(long_sections, results, strict=True))
        return tuple(
            replace(section, summary=summary)
            if isinstance(summary := summaries.get(at), str)
            else section
            for at, section in enumerate(sections)
        )

    def _may_request(self, part: str) -> bool:
        """Return whether the model may be called; if not, record the part as missing."""
        if not self.is_reachable:
            self.retry_parts.add(part)
        return self.is_reachable

    def _generate(self, part: str, make: Callable[[], str], *, otherwise: str) -> str:
        """Return a part made by the model; `otherwise` if the model is unreachable or fails."""
        if not self._may_request(part):
            return otherwise
        try:
            text = make()
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            self._record_errors(part, [error])
            if self.is_reachable:
                self.warnings.append(f"its {part} was made without a model: {error}")
            else:
                self._cause = str(error)
            return otherwise
        self._is_answered = True
        return text

    def _record_results(self, part: str, results: Sequence[str | ModelError], message: str) -> None:
        """Record the results of concurrent requests, with one warning about all errors."""
        errors = [result for result in results if isinstance(result, ModelError)]
        if errors:
            self.warnings.append(
                f"{message.format(lost=len(errors), all=len(results))}: {errors[0]}"
            )
        self._record_errors(part, errors)
        self._is_answered = self._is_answered or len(errors) < len(results)

    def _record_errors(self, part: str, errors: Sequence[ModelError]) -> None:
        """Record a part for a later request; an unusable answer would be unusable again."""
        failures = [error for error in errors if not isinstance(error, ModelAnswerError)]
        if failures:
            self.retry_parts.add(part)
        if any(error.retryable or error.status == _NOT_FOUND for error in failures):
            self.is_reachable = False


def _is_long(section: Section) -> bool:
    """Return whether a section needs a summary."""
    return section.end - section.start >= _SUMMARISED_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppableModel(WrappedModel):
    """Language model that makes no further calls once an event is set."""

    stopped: threading.Event

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        return self.model.generate(request)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        yield from self.model.stream(request)

    def _check(self) -> None:
        if self.stopped.is_set():
            raise CancelledError


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
        ModelKeyError: If its API key is missing, except in a dry run.
    """
    stopped = threading.Event()
    checked = make_checked_model(
        llm, options=models, cache=cache, ledger=ledger, needs_key=not dry_run
    )
    model = StoppableModel(model=checked, stopped=stopped)
    if dry_run:
        caller = dry_run_caller(
            model,
            cache=cache,
            answer_retries=models.answer_retries,
            listener=ledger.listener,
        )
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

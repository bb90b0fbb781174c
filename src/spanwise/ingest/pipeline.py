"""Ingest pipeline: reads and parses sources in parallel, and stores documents one by one, in order.

If a language model makes parts of documents, it does so for several documents in parallel, before
they are stored in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from spanwise.core.documents.versions import text_version
from spanwise.errors import CostLimitError, DocumentError, ModelError, ModelKeyError, SpanwiseError
from spanwise.ingest.compare import compare, conflict, stored_fields, with_types
from spanwise.ingest.counter import (
    EmbeddingFailures,
    IngestCounter,
    Outcome,
    embedding_failure,
    note_not_begun,
    note_too_costly,
    out_of_memory,
)
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.given_parts import given_document, stored_parts
from spanwise.ingest.local_files import Downloader, TemporarySpace
from spanwise.ingest.prepare import Draft, DraftRequest, Outline
from spanwise.ingest.reader import ComparedSource, PageRequest, Reader, ReadSource
from spanwise.ingest.recipes import (
    Recipe,
    has_recipe,
    plain_title,
    reads_pages,
    requested_recipe,
    stored_recipe,
)
from spanwise.ingest.sources import Source
from spanwise.ingest.sync import empty_folder_error
from spanwise.models.ledger import Ledger
from spanwise.packs.known_kinds import cover_fields, cover_title, document_title
from spanwise.parsers.pdf.ocr import has_engine
from spanwise.parsers.process.isolation import ParserPool
from spanwise.threads import map_ahead
from spanwise.types import Document, GivenParts, IngestProgress, IngestReport, Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.enrich import Enricher
    from spanwise.ingest.prepare import Preparer
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord
    from spanwise.types.listener import Listener

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """Sources and options of one ingest run."""

    sources: Sequence[Source | DocumentError] = ()
    """Sources, and an error for each source that could not be opened."""
    deleted: Sequence[DocumentRecord] = ()
    """Stored documents to remove after the sources are added."""
    metadata: Mapping[str, Scalar] | None = None
    """Metadata fields of every document; None to keep the stored fields."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Callback after each document; None for no callback."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Patterns that select members of containers."""
    expected: Sequence[DocumentRecord] = ()
    """Stored documents of the sources and their members; removed if this run does not find them."""
    allow_empty: bool = False
    """Whether the expected documents may be removed even if the run finds no document at all."""
    given: Mapping[str, GivenParts] = field(default_factory=dict)
    """Parts supplied by the caller, by document id."""
    enricher: Enricher | None = None
    """Enricher that makes parts with a language model; None for no model."""

    def recipe(self, document_id: str) -> Recipe:
        """Return the requested recipe of a document; empty if no parts are requested."""
        given = self.given.get(document_id)
        if self.enricher is None:
            return requested_recipe(given=given)
        return requested_recipe(
            model=self.enricher.model, options=self.enricher.options, given=given
        )

    def draft_request(self, document_id: str) -> DraftRequest:
        """Return the parts of a document that the model makes or the caller supplies."""
        return DraftRequest(
            recipe=self.recipe(document_id),
            given=self.given.get(document_id, GivenParts()),
            enricher=self.enricher,
        )

    def is_outdated(self, record: DocumentRecord, *, reads_pictures: bool) -> bool:
        """Return whether a document must be processed again although its file is unchanged.

        Args:
            record: Stored record.
            reads_pictures: Whether an OCR engine is available now. Documents that need OCR are then
                processed again, unless a model has read their pages.
        """
        needs_ocr = reads_pictures and record.status == "needs_ocr" and not reads_pages(record)
        return needs_ocr or not has_recipe(record, self.recipe(record.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """Page reader without a model: reuses the pages that a model read for the stored document."""

    store: Store
    job: IngestJob

    def reads(self, document_id: str) -> bool:
        """Return whether the stored document has such pages, and no model is requested now."""
        record = self.store.get_record(document_id)
        return record is not None and reads_pages(record) and not self.job.recipe(document_id)

    def read_pages(self, request: PageRequest) -> Document:
        """Return the document with the stored text; a changed file is parsed without a model.

        Raises:
            ParseError: If the file has changed and cannot be parsed without a model.
        """
        stored = self.store.get_document(request.document.id)
        if stored is None or stored.content_hash != request.document.content_hash:
            return request.parse()
        return replace(
            request.document,
            text=stored.text,
            pages=stored.pages,
            headings=stored.headings,
            blocks=stored.blocks,
            status=stored.status,
            warnings=stored.warnings,
        )


_AHEAD_PER_WORKER = 2  # documents that are read before they are stored, per parser process
_OUTDATED = (
    "its text has changed, and the parts made by a model or given by the caller are lost; add it "
    "again with the same options to restore them"
)
_NO_VECTORS = "no vectors: this knowledge base has no embedder and is searched by keywords alone"
_FEW = 50  # up to this number of sources, records are read one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestor:
    """Adds documents to one knowledge base, and removes them."""

    store: Store
    preparer: Callable[[], Preparer]
    """Function that returns the preparer; called only when needed, because it loads models."""
    embeds: bool
    """Whether the knowledge base has an embedder."""
    parse: ParseOptions
    fetch: FetchOptions
    workers: int = 2
    """Number of parser processes."""
    max_cost: float | None = None
    """Maximum cost of model calls per run in US dollars; None for no limit."""
    budget: Ledger | None = None
    """Budget shared by several runs; None if each run has its own budget."""
    listener: Listener | None = None
    """Callback interface for model calls."""

    def run(
        self, job: IngestJob, *, records: Mapping[str, DocumentRecord] | None = None
    ) -> IngestReport:
        """Add all sources, then remove deleted documents; failures are reported per document.

        Unchanged sources come first, then the others in their order. Removals come last, so that
        the vectors of a renamed document can be reused, and a search during the run or after a kill
        finds the document at least once.

        If a model call would exceed the cost limit, or the embedder fails for several documents in
        a row, the remaining sources are reported as failed and nothing is removed: a missing
        document may have been renamed and not added yet, or be in a container that was not opened.

        Args:
            job: Sources and options.
            records: Stored records by id; None to look them up.

        Raises:
            StoreError: If the store fails; documents stored before are kept.
            OptionError: If supplied parts do not fit their document; documents stored before are
                kept.
            ModelKeyError: If the provider of a model rejects the key; documents stored before are
                kept.
        """
        counter = self._new_counter(job)
        with self.store.group_commits() as commit, counter.reporting_after_commit(commit):
            self._add_and_remove(job, counter, records)
        return self._report(job, counter)

    def _add_and_remove(
        self, job: IngestJob, counter: IngestCounter, records: Mapping[str, DocumentRecord] | None
    ) -> None:
        """Add new and changed documents, then remove deleted ones."""
        changed = []
        with closing(self._compared(job.sources, job, records)) as compared:
            for source, verdict in compared:
                if verdict == "unchanged":
                    counter.note(source, "unchanged")
                else:
                    changed.append((source, verdict))
        if changed and not self._store_all(changed, job, counter, records):
            return
        counter.commit_and_report()  # additions are on disk and reported before any removal
        for record in _documents_to_remove(job, counter):
            # Not deleted if another process has replaced the document meanwhile.
            if self.store.delete_document(record.id, record=record):
                counter.note(record, "removed")

    def renew(self, record: DocumentRecord) -> None:
        """Prepare and store a document again from its stored text and parts, without a model."""
        document = self.store.get_document(record.id)
        given = stored_parts(self.store, record)
        if document is None or self.store.get_record(record.id) != record:
            return  # another process has changed it
        request = DraftRequest(recipe=stored_recipe(record), given=given)
        preparer = self.preparer()
        entry = preparer.entry(
            preparer.draft(document, request=request),
            known={},
            packs=self._packs(),
            ledger=Ledger(),
        )
        self.store.put_document(entry, replace=True)

    def estimate(
        self, job: IngestJob, *, records: Mapping[str, DocumentRecord] | None = None
    ) -> IngestReport:
        """Return the report of a dry run: nothing is changed.

        Without remote models, documents are not parsed, so parse errors are not reported. With
        remote models, documents are parsed and the usage is estimated; the caller of the language
        model must be in dry-run mode. Containers are opened in temporary space, so their members
        are included.

        Args:
            job: Sources and options.
            records: As `run`.
        """
        counter = self._new_counter(job, is_dry_run=True)
        parses = job.enricher is not None or (self.embeds and self.preparer().is_remote)
        with (
            closing(self._compared(job.sources, job, records)) as compared,
            self._reading(compared, job, counter, records=records, parses=parses) as readings,
            closing(
                _ahead(
                    partial(
                        self._estimate, job=job, ledger=counter.ledger, renamed=_removed_ids(job)
                    ),
                    readings,
                    job.enricher,
                )
            ) as outcomes,
        ):
            for (source, _), outcome in outcomes:
                try:
                    counter.note(source, outcome())
                except DocumentError as error:
                    counter.note_failure(source, error)
                except MemoryError:
                    counter.note_failure(source, out_of_memory(source))
        for record in _documents_to_remove(job, counter):
            counter.note(record, "removed")
        return self._report(job, counter)

    def add_document(self, document: Document, *, job: IngestJob | None = None) -> IngestReport:
        """Add one parsed document.

        Args:
            document: Parsed document.
            job: Options; its sources are ignored. None for the defaults.

        Raises:
            DocumentError: If the document has no text, its id belongs to another source, or its
                chunks cannot be embedded.
            OptionError: If supplied parts do not fit the document.
            CostLimitError: If a model call would exceed the cost limit.
            ModelKeyError: If the provider of a model rejects the key.
        """
        job = job or IngestJob()
        counter = self._new_counter(job)
        draft = self._draft(document, job)
        outcome = "unchanged" if draft is None else self._put(draft, job, counter, renamed={})
        counter.note_given(document.id, outcome)
        return self._report(job, counter)

    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        media_type: Literal["text/plain", "text/markdown"] = "text/plain",
        job: IngestJob | None = None,
    ) -> IngestReport:
        """Add a document with exactly this text.

        Args:
            text: Text of the document.
            document_id: Id of the document.
            title: Title; if empty, the title in the front matter, or else the words of the id.
            media_type: "text/markdown" to parse headings, tables, code and front matter.
            job: Options, as for `add_document`.

        Raises:
            DocumentError: As `add_document`.
            OptionError: As `add_document`.
            CostLimitError: As `add_document`.
            ModelKeyError: As `add_document`.
        """
        job = job or IngestJob()
        metadata = job.metadata
        if metadata is None:
            metadata = stored_fields(self.store.get_record(document_id), root="")
        document = given_document(
            text,
            document_id=document_id,
            title=title,
            media_type=media_type,
            metadata=metadata,
        )
        return self.add_document(document, job=job)

    def _report(self, job: IngestJob, counter: IngestCounter) -> IngestReport:
        counter.warnings += [
            f"parts are given for {document_id!r}, which is not a document of this run"
            for document_id in job.given
            if not counter.has_seen(document_id)
        ]
        return counter.report(embeds=self.embeds)

    def _records(self, sources: Sequence[Source | DocumentError]) -> dict[str, DocumentRecord]:
        """Return the stored records of the sources by id."""
        if len(sources) > _FEW:
            return {record.id: record for record in self.store.list_records()}
        ids = [source.document_id for source in sources if isinstance(source, Source)]
        records = [self.store.get_record(document_id) for document_id in ids]
        return {record.id: record for record in records if record is not None}

    def _compared(
        self,
        sources: Sequence[Source | DocumentError],
        job: IngestJob,
        records: Mapping[str, DocumentRecord] | None,
    ) -> Generator[ComparedSource]:
        return compare(
            sources,
            records=self._records(sources) if records is None else records,
            metadata=job.metadata,
            replace_other=job.replace_other,
            threads=self.workers if len(sources) > _FEW else 1,
            is_outdated=partial(job.is_outdated, reads_pictures=has_engine(self.parse.ocr)),
        )

    def _new_counter(self, job: IngestJob, *, is_dry_run: bool = False) -> IngestCounter:
        """Return the counter of a run; a dry run has no cost limit and no warning about vectors."""
        readable = [source for source in job.sources if isinstance(source, Source)]
        containers = sum(source.members_only for source in readable)
        if job.enricher is not None:
            ledger = job.enricher.ledger
        elif is_dry_run:
            ledger = Ledger(listener=self.listener)
        else:
            ledger = Ledger(max_cost=self.max_cost, listener=self.listener, parent=self.budget)
        return IngestCounter(
            total=len(job.sources) - containers + len(job.deleted),
            bytes_total=sum(source.bytes for source in readable),
            on_document=job.on_document,
            warnings=[] if self.embeds or is_dry_run else [_NO_VECTORS],
            ledger=ledger,
        )

    def _store_all(
        self,
        sources: Sequence[ComparedSource],
        job: IngestJob,
        counter: IngestCounter,
        records: Mapping[str, DocumentRecord] | None,
    ) -> bool:
        """Parse and store new and changed sources; return whether all were processed."""
        renamed = _removed_ids(job)
        failures = EmbeddingFailures()
        with (
            self._reading(sources, job, counter, records=records, parses=True) as readings,
            closing(_ahead(partial(self._draft_of, job=job), readings, job.enricher)) as drafts,
        ):
            for (source, _), get_draft in drafts:
                outcome: Outcome = "unchanged"
                draft = None  # do not hold a large draft while the next one is made
                try:
                    draft = get_draft()
                    counter.check_id(source)
                    if draft is not None:
                        outcome = self._put(draft, job, counter, renamed=renamed)
                except DocumentError as error:
                    counter.note_failure(source, error)
                    if failures.is_limit_reached(error):
                        note_not_begun(sources, source, counter)
                        _finish_drafts(drafts, job.enricher)
                        return False
                except MemoryError:
                    counter.note_failure(source, out_of_memory(source))
                except CostLimitError as error:
                    note_too_costly(sources, source, counter, error)
                    _finish_drafts(drafts, job.enricher)
                    return False
                else:
                    counter.note(source, outcome)
                    if draft is not None:
                        failures.reset()
        return True

    def _draft_of(self, read_source: ReadSource, *, job: IngestJob) -> Draft | None:
        """Return the draft of a document; None if the document is already stored in this form.

        Raises:
            DocumentError: If the document could not be read, or has no text.
            CostLimitError: If a call of a language model would exceed the cost limit.
        """
        _, reading = read_source
        if isinstance(reading, DocumentError | CostLimitError):
            raise reading
        if not isinstance(reading, Document):
            return None
        record = self.store.get_record(reading.id)
        return self._draft(_with_fields(reading, job.metadata, record=record), job)

    def _estimate(
        self, read_source: ReadSource, *, job: IngestJob, ledger: Ledger, renamed: Mapping[str, str]
    ) -> Outcome:
        """Return the expected outcome for a source, and add the estimated usage to the ledger.

        Raises:
            DocumentError: If the document could not be read, or has no text.
        """
        _, reading = read_source
        if isinstance(reading, Document):
            draft = self._draft_of(read_source, job=job)
            if draft is None:
                return "unchanged"
            if self.embeds:
                known = self._known_vectors(draft, renamed)
                self.preparer().estimate(draft, known=known, packs=self._packs(), ledger=ledger)
            return "added" if self.store.get_record(reading.id) is None else "replaced"
        if isinstance(reading, DocumentError | CostLimitError):
            raise reading
        expected: Mapping[str, Outcome] = {"new": "added", "changed": "replaced"}
        return expected.get(reading, "unchanged")

    def _draft(self, document: Document, job: IngestJob) -> Draft | None:
        """Return the draft of a document; None if it is stored in the requested form.

        Raises:
            DocumentError: If the document has no text, or its id belongs to another source.
        """
        record = self.store.get_record(document.id)
        root = document.source_root
        if record is not None and record.source_root != root and not job.replace_other:
            raise conflict(record, location=document.source or document.id, root=root)
        if (
            record is not None
            and _is_same(record, document)
            and has_recipe(record, job.recipe(document.id))
        ):
            return None
        request, warnings = job.draft_request(document.id), tuple[str, ...]()
        if record is not None and record.recipe and not request.recipe:
            if record.version == text_version(document.text):
                given = stored_parts(self.store, record)
                request = DraftRequest(recipe=stored_recipe(record), given=given)
            else:
                warnings = (_OUTDATED,)
        draft = self.preparer().draft(document, request=request)
        return replace(draft, warnings=(*draft.warnings, *warnings))

    @contextmanager
    def _reading(
        self,
        sources: Iterable[ComparedSource],
        job: IngestJob,
        counter: IngestCounter,
        *,
        records: Mapping[str, DocumentRecord] | None,
        parses: bool,
    ) -> Iterator[Generator[ReadSource]]:
        """Open a reader, and yield a generator of the sources and members with their results.

        Args:
            sources: Sources to read, with their verdicts.
            job: Options for members of containers.
            counter: Counter that records container members.
            records: Stored records by id; None to look them up.
            parses: Whether documents are parsed.
        """
        with (
            TemporarySpace() as space,
            ParserPool(options=self.parse, workers=self.workers) as pool,
            ThreadPoolExecutor(self.workers, thread_name_prefix="spanwise-parse") as threads,
        ):
            reader = Reader(
                pool=pool,
                threads=threads,
                space=space,
                counter=counter,
                downloader=Downloader(space=space, fetch=self.fetch, parse=self.parse),
                compared=lambda members: self._compared(members, job, records),
                limits=self.parse,
                patterns=job.patterns,
                ahead=self.workers * _AHEAD_PER_WORKER,
                parses=parses,
                page_reader=job.enricher or StoredPages(store=self.store, job=job),
            )
            with closing(reader.read(sources)) as readings:
                yield readings

    def _put(
        self, draft: Draft, job: IngestJob, counter: IngestCounter, *, renamed: Mapping[str, str]
    ) -> Literal["added", "replaced"]:
        """Embed and store a document.

        Raises:
            DocumentError: If its chunks cannot be embedded.
            CostLimitError: If embedding would exceed the cost limit.
            ModelKeyError: If the provider of the embedder rejects the key.
        """
        known, preparer = self._known_vectors(draft, renamed), self.preparer()
        try:
            entry = preparer.entry(draft, known=known, packs=self._packs(), ledger=counter.ledger)
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            raise embedding_failure(draft.entry.document, error) from error
        outcome = self.store.put_document(entry, replace=job.replace_other)
        outline = Outline(entry.title, entry.summary, entry.sections)
        reused = sum(text in known for text in preparer.embedded_texts(entry.chunks, outline))
        counter.count(entry, kept_vectors=reused, warnings=draft.warnings)
        return outcome

    def _packs(self) -> str:
        """Return the recorded packs of the knowledge base."""
        return self.store.ensure_settings({}).get("packs", "")

    def _known_vectors(
        self, draft: Draft, renamed: Mapping[str, str]
    ) -> dict[str, NDArray[np.float32]]:
        """Return stored vectors by text, for reuse.

        They are the vectors of the earlier version, or else of a removed document with the same
        content, which was probably renamed.
        """
        document = draft.entry.document
        for document_id in (document.id, renamed.get(document.content_hash)):
            record = None if document_id is None else self.store.get_record(document_id)
            embedded = None if record is None else self.store.get_embedded(record.id)
            if record is None or embedded is None:
                continue
            chunks, vectors = embedded
            outline = Outline(record.title, record.summary, self.store.get_sections(record.id))
            if self.store.get_record(record.id) != record:  # another process has replaced it
                return {}
            texts = self.preparer().embedded_texts(chunks, outline)
            return dict(zip(texts, vectors, strict=True))
        return {}


def _ahead(
    function: Callable[[ReadSource], _Result],
    readings: Iterable[ReadSource],
    enricher: Enricher | None,
) -> Generator[tuple[ReadSource, Callable[[], _Result]]]:
    """Yield each read source with its result; several run in parallel if there is an enricher."""
    try:
        threads = 0 if enricher is None else enricher.documents_at_once
        stopped = None if enricher is None else enricher.stopped
        yield from map_ahead(function, readings, threads=threads, stopped=stopped)
    finally:
        if enricher is not None:
            enricher.stopped.set()


def _finish_drafts(
    drafts: Iterable[tuple[ReadSource, Callable[[], object]]], enricher: Enricher | None
) -> None:
    """Wait for running model calls, so that paid answers are cached and counted."""
    if enricher is None:
        return
    enricher.stopped.set()
    for _, get_draft in drafts:
        with suppress(SpanwiseError, CancelledError):
            get_draft()


def _documents_to_remove(job: IngestJob, counter: IngestCounter) -> list[DocumentRecord]:
    """Return the documents to remove after the sources are added.

    Raises:
        OptionError: If the run found no document, and documents would be removed: a pattern may be
            mistyped.
    """
    members = counter.not_found(job.expected)
    if members and not counter.has_found and not job.allow_empty:
        raise empty_folder_error(members[0].source_root, len(members))
    return [*job.deleted, *members]


def _removed_ids(job: IngestJob) -> dict[str, str]:
    """Return the ids of the documents to remove, by content hash."""
    return {record.content_hash: record.id for record in job.deleted}


def _with_fields(
    document: Document, metadata: Mapping[str, Scalar] | None, *, record: DocumentRecord | None
) -> Document:
    """Return a parsed document with metadata from its first page and from the caller.

    The caller's fields take precedence. A title found on the first page replaces the title of the
    file, which is often set by the program that created the file.
    """
    cover = cover_fields(document.text)
    given = stored_fields(record, root=document.source_root) if metadata is None else metadata
    return replace(
        document,
        title=(cover and cover_title({**cover, **given})) or document.title,
        metadata={**cover, **document.metadata, **given},
        given_fields=tuple(sorted(given)),
    )


def _is_same(record: DocumentRecord, document: Document) -> bool:
    """Return whether a document is stored in exactly this form."""
    return (
        record.content_hash == document.content_hash
        and record.version == text_version(document.text)
        and record.status == document.status
        and record.source_root == document.source_root
        and record.media_type == document.media_type
        and record.given_fields == document.given_fields
        and with_types(record.metadata) == with_types(document.metadata)
        and plain_title(record) == document_title(document)
    )

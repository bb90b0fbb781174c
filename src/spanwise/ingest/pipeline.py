"""Ingest pipeline: reads and parses sources in parallel, and stores documents one by one, in order.

If a language model makes parts of documents, it does so for several documents in parallel, before
they are stored in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from spanwise.core.documents.versions import text_version
from spanwise.errors import (
    CostLimitError,
    DocumentError,
    FormatError,
    ModelError,
    ModelKeyError,
    OptionError,
    StoreBusyError,
)
from spanwise.ingest.compare import compare_with_stored, conflict
from spanwise.ingest.counter import (
    EmbeddingFailures,
    IngestCounter,
    Outcome,
    StepEvents,
    embedding_failure,
    note_not_begun,
    note_too_costly,
    out_of_memory,
)
from spanwise.ingest.drafts import Drafter, drafts_ahead, finish_drafts, open_drafter
from spanwise.ingest.edit import MetadataEditor
from spanwise.ingest.fields import FieldChanges, stored_origins, unused_values, with_origins
from spanwise.ingest.given_parts import given_document, parts_of, stored_parts, stored_vectors
from spanwise.ingest.job import IngestJob, Preparation, StoredPages, is_stored, with_fields
from spanwise.ingest.local_files import Downloader, TemporarySpace
from spanwise.ingest.prepare import Draft, DraftRequest, Outline
from spanwise.ingest.reader import ComparedSource, Reader, ReadSource
from spanwise.ingest.rebuild import stored_draft
from spanwise.ingest.recipes import (
    has_given_vectors,
    has_parts,
    has_recipe,
    stored_recipe,
    with_parser,
    without_vectors,
)
from spanwise.ingest.sources import Source
from spanwise.ingest.sync import empty_folder_error
from spanwise.models.ledger import Ledger
from spanwise.parsers.plugins import parser_recipe
from spanwise.parsers.process.isolation import ParserPool
from spanwise.stores.port import with_latest
from spanwise.threads import available_cores
from spanwise.types import Document, IngestReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.exchange import Export, ExportedDocument
    from spanwise.ingest.prepare import Preparer
    from spanwise.ingest.workers import WorkerSettings
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.stores.port import PutOutcome, Store
    from spanwise.types import DocumentRecord, MetadataChange, MetadataValue
    from spanwise.types.listener import Listener

_AHEAD_PER_WORKER = 2  # documents that are read before they are stored, per parser process
_OUTDATED = (
    "its text has changed, and the parts made by a model or given by the caller are lost; add it "
    "again with the same options to restore them"
)
_NO_VECTORS = "no vectors: this knowledge base has no embedder and is searched by keywords alone"
_NOTHING_RENAMED: Mapping[str, str] = {}
_MAX_ATTEMPTS = 20  # while others keep changing the fields of the same document


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
    workers: int | str = 2
    """Number of processes for parsing and for preparing documents, or the address of a Ray
    cluster."""
    worker_settings: Callable[[], WorkerSettings] | None = None
    """Function that returns the settings of worker processes; None to prepare all documents in this
    process."""
    max_cost: float | None = None
    """Maximum cost of model calls per run in US dollars; None for no limit."""
    budget: Ledger | None = None
    """Budget shared by several runs; None if each run has its own budget."""
    listener: Listener | None = None
    """Callback interface for model calls."""
    latest: Callable[[], Ingestor] | None = None
    """Function that returns the ingestor of the current state, which a rebuild changes."""

    @property
    def steps(self) -> StepEvents:
        """Sender of events about the progress inside documents."""
        return StepEvents(self.listener)

    @property
    def _parsers(self) -> int:
        """Number of parser processes of this machine."""
        return self.workers if isinstance(self.workers, int) else available_cores()

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
                elif verdict == "updated" and isinstance(source, Source):
                    counter.note(source, self._change_fields(source, job))
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
        request, preparer = self._stored_request(record), self.preparer()
        draft = stored_draft(self.store, record, preparer=preparer, request=request)
        if draft is None:
            return
        entry = preparer.entry(draft, known={}, packs=self.packs(), ledger=Ledger())
        # Not stored if another process has replaced the document meanwhile.
        self.store.put_document(entry, replace=True, accept=lambda now: now == record)

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
                drafts_ahead(
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
        return self._add_drafted(
            document.id, job, Preparation(draft=lambda present: present._draft(document, job))
        )

    def add_given(
        self,
        make: Callable[[Mapping[str, MetadataValue]], Document],
        *,
        document_id: str,
        title: str,
        job: IngestJob,
    ) -> IngestReport:
        """Add a document that the caller made. Updates of its metadata are kept.

        Args:
            make: Function of the fields of the caller that returns the document. It is called again
                if an update changes the stored fields before the document is stored.
            document_id: Id of the document.
            title: Title from the caller; empty for none.
            job: Options, as for `add_document`; without metadata, the stored fields are kept.

        Raises:
            SpanwiseError: The errors of `add_document`.
        """
        changes = FieldChanges(given=job.metadata)

        def draft(present: Ingestor) -> Draft | None:
            before = stored_origins(present.store.get_record(document_id), root="")
            origins = changes.applied(before)
            document = make(origins.given)
            file = stored_origins(document).file
            return present._draft(with_origins(document, replace(origins, file=file)), job)

        report = self._add_drafted(document_id, job, Preparation(draft=draft, changes=changes))
        record = self._present().store.get_record(document_id)
        unused = unused_values(record, job.metadata or {}, title=title)
        return replace(report, warnings=(*report.warnings, *unused))

    def _add_drafted(
        self, document_id: str, job: IngestJob, preparation: Preparation
    ) -> IngestReport:
        counter = self._new_counter(job)
        draft = preparation.draft(self)
        outcome: Outcome = "unchanged"
        if draft is not None:
            outcome = self._put(draft, job, counter, preparation, renamed={})
        counter.note_given(document_id, outcome)
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
            title: Title; empty for that of the front matter, a heading, or the words of the id.
            media_type: "text/markdown" to parse headings, tables, code and front matter.
            job: Options, as for `add_document`.

        Raises:
            SpanwiseError: The errors of `add_document`.
        """

        def make(fields: Mapping[str, MetadataValue]) -> Document:
            return given_document(
                text, document_id=document_id, title=title, media_type=media_type, metadata=fields
            )

        job = job or IngestJob()
        return self.add_given(make, document_id=document_id, title=title, job=job)

    def import_documents(self, export: Export, job: IngestJob) -> IngestReport:
        """Add the documents of an export. Documents with the same text and fields are unchanged.

        Args:
            export: Export; its vectors are reused if they are of the same embedder.
            job: Options; its sources are ignored.

        Raises:
            FormatError: If the export is damaged; documents stored before are kept.
            CostLimitError: If embedding would exceed the cost limit; as above.
            ModelKeyError: If the provider of the embedder rejects the key; as above.
        """
        counter = self._new_counter(job)
        counter.total = export.total
        self.preparer()  # its errors are not those of the export
        settings = self.store.ensure_settings({})
        names = ("embedder", "embedder_version", "dimension")
        failures = EmbeddingFailures()
        reuses = self.embeds and all(export.settings.get(k) == settings.get(k) for k in names)
        with self.store.group_commits() as commit, counter.reporting_after_commit(commit):
            for exported in export.documents(max_text_bytes=self.parse.max_text_bytes):
                outcome: Outcome = "failed"
                try:
                    outcome = self._import(exported, job, counter, failures, reuses=reuses)
                except DocumentError as error:
                    failures.count(error)
                    counter.fail(error)
                except MemoryError:
                    counter.fail(out_of_memory(exported.document))
                except OptionError as error:
                    raise FormatError(f"the export is damaged: {error}") from error
                counter.note(exported.record, outcome)
        return self._report(job, counter)

    def _import(
        self,
        exported: ExportedDocument,
        job: IngestJob,
        counter: IngestCounter,
        failures: EmbeddingFailures,
        *,
        reuses: bool,
    ) -> Outcome:
        """Store a document of an export.

        Raises:
            DocumentError: If it has no text, its id belongs to another source, its chunks cannot be
                embedded, or the embedder failed for the documents before it.
            OptionError: If its parts do not fit its text.
        """
        document, record = exported.document, self.store.get_record(exported.document.id)
        if record is not None and is_stored(record, document):
            return "unchanged"
        failures.check(document)
        recipe = stored_recipe(exported.record)
        keeps_vectors = reuses and has_given_vectors(exported.record)
        request = DraftRequest(
            recipe=recipe if keeps_vectors else without_vectors(recipe),
            given=parts_of(exported.record, exported.sections, exported.chunks),
            vectors=exported.vectors if keeps_vectors else None,
        )
        preparer = self.preparer()
        draft, known = preparer.draft(document, request=request), {}
        if reuses and exported.vectors is not None:
            outline = Outline(exported.record.title, exported.record.summary, exported.sections)
            texts = preparer.embedded_texts(exported.chunks, outline)
            known = dict(zip(texts, exported.vectors, strict=True))
        again = Preparation(draft=lambda present: present._draft_again(document, request))
        outcome = self._put(draft, job, counter, again, renamed={}, known=known)
        failures.reset()
        return outcome

    def _report(self, job: IngestJob, counter: IngestCounter) -> IngestReport:
        counter.warnings += [
            f"parts are given for {document_id!r}, which is not a document of this run"
            for document_id in job.given
            if not counter.has_seen(document_id)
        ]
        return counter.report(embeds=self.embeds)

    def change_metadata(
        self, document_id: str, changes: FieldChanges, *, dry_run: bool = False
    ) -> MetadataChange | None:
        """Change the metadata and the title of a document, see `MetadataEditor.change`."""

        def change(present: Ingestor) -> MetadataChange | None:
            editor = MetadataEditor(store=present.store, preparer=present.preparer)
            return editor.change(document_id, changes, dry_run=dry_run)

        return with_latest(self, Ingestor._present, change)

    def _change_fields(self, source: Source, job: IngestJob) -> Outcome:
        """Change the fields of the document of an unchanged file; return the outcome."""
        change = self.change_metadata(source.document_id, job.changes(source))
        return "unchanged" if change is None else "updated"

    def _present(self) -> Ingestor:
        """Return the ingestor of the current state; this one if there was no rebuild."""
        return self.latest() if self.latest is not None and self.store.rebuilt else self

    def _compared(
        self,
        sources: Sequence[Source | DocumentError],
        job: IngestJob,
        records: Mapping[str, DocumentRecord] | None,
    ) -> Generator[ComparedSource]:
        """Yield each source with its verdict."""
        return compare_with_stored(
            sources,
            store=self.store,
            job=job,
            parse=self.parse,
            threads=self._parsers,
            records=records,
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
        counter = IngestCounter(
            total=len(job.sources) - containers + len(job.deleted),
            bytes_total=sum(source.bytes for source in readable),
            on_document=job.on_document,
            warnings=[] if self.embeds or is_dry_run else [_NO_VECTORS],
            ledger=ledger,
        )
        counter.warnings += job.sidecars.warnings
        for error in job.sidecars.errors:
            counter.fail(error)
        return counter

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
        make = partial(self._draft_of, job=job)
        with (
            open_drafter(self, sources, job, renamed=renamed, make=make) as drafter,
            self._reading(
                sources, job, counter, records=records, parses=True, drafter=drafter
            ) as readings,
            closing(
                drafts_ahead(make, readings, job.enricher)
                if drafter is None
                else drafter.drafts(readings)
            ) as drafts,
        ):
            for (source, reading), get_draft in drafts:
                outcome: Outcome = "unchanged"
                draft = None  # do not hold a large draft while the next one is made
                try:
                    draft = get_draft()
                    counter.check_id(source)
                    if draft is not None:
                        again = self._preparation((source, reading), job)
                        outcome = self._put(draft, job, counter, again, renamed=renamed)
                    elif reading == "updated" and isinstance(source, Source):
                        outcome = self._change_fields(source, job)
                except DocumentError as error:
                    counter.note_failure(source, error)
                    failures.count(error)
                    if failures.is_limit_reached:
                        note_not_begun(sources, source, counter)
                        finish_drafts(drafts, job.enricher)
                        return False
                except MemoryError:
                    counter.note_failure(source, out_of_memory(source))
                except CostLimitError as error:
                    note_too_costly(sources, source, counter, error)
                    finish_drafts(drafts, job.enricher)
                    return False
                else:
                    counter.note(source, outcome)
                    if draft is not None:
                        failures.reset()
        return True

    def _preparation(self, read_source: ReadSource, job: IngestJob) -> Preparation:
        """Return the preparation of the document of a source."""
        source, _ = read_source
        return Preparation(
            draft=lambda present: present._draft_of(read_source, job=job),
            changes=job.changes(source) if isinstance(source, Source) else None,
        )

    def _draft_of(self, read_source: ReadSource, *, job: IngestJob) -> Draft | None:
        """Return the draft of a document; None if the document is already stored in this form.

        Raises:
            DocumentError: If the document could not be read, or has no text.
            CostLimitError: If a call of a language model would exceed the cost limit.
        """
        source, reading = read_source
        if isinstance(reading, DocumentError | CostLimitError):
            raise reading
        if not isinstance(reading, Document) or not isinstance(source, Source):
            return None
        before = stored_origins(self.store.get_record(reading.id), root=reading.source_root)
        return self._draft(with_fields(reading, job.changes(source), before=before), job)

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
                known = self.known_vectors(draft, renamed)
                self.preparer().estimate(draft, known=known, packs=self.packs(), ledger=ledger)
            return "added" if self.store.get_record(reading.id) is None else "replaced"
        if isinstance(reading, DocumentError | CostLimitError):
            raise reading
        expected: Mapping[str, Outcome] = {
            "new": "added", "changed": "replaced", "updated": "updated"
        }  # fmt: skip
        return expected.get(reading, "unchanged")

    def _draft(self, document: Document, job: IngestJob) -> Draft | None:
        """Return the draft of a document; None if it is stored in the requested form.

        Raises:
            DocumentError: If the document has no text, or its id belongs to another source.
        """
        record = self.store.get_record(document.id)
        root, parser = document.source_root, parser_recipe(self.parse.parser, document)
        if record is not None and record.source_root != root and not job.replace_other:
            raise conflict(record, location=document.source or document.id, root=root)
        if (
            record is not None
            and is_stored(record, document)
            and has_recipe(record, job.recipe(document.id), parser=parser)
        ):
            return None
        request, warnings = job.draft_request(document.id), tuple[str, ...]()
        if record is not None and has_parts(record) and not request.recipe:
            if record.version == text_version(document.text):
                request = self._stored_request(record)
            else:
                warnings = (_OUTDATED,)
        request = replace(request, recipe=with_parser(request.recipe, parser))
        draft = self.preparer().draft(document, request=request)
        return replace(draft, warnings=(*draft.warnings, *warnings))

    def _stored_request(self, record: DocumentRecord) -> DraftRequest:
        """Return the parts of a stored document, to prepare it again from the same text."""
        return DraftRequest(
            recipe=stored_recipe(record),
            given=stored_parts(self.store, record),
            vectors=stored_vectors(self.store, record),
        )

    @contextmanager
    def _reading(
        self,
        sources: Iterable[ComparedSource],
        job: IngestJob,
        counter: IngestCounter,
        *,
        records: Mapping[str, DocumentRecord] | None,
        parses: bool,
        drafter: Drafter | None = None,
    ) -> Iterator[Generator[ReadSource]]:
        """Open a reader, and yield a generator of the sources and members with their results.

        Args:
            sources: Sources to read, with their verdicts.
            job: Options for members of containers.
            counter: Counter that records container members.
            records: Stored records by id; None to look them up.
            parses: Whether documents are parsed.
            drafter: Drafter whose workers may parse too; None without workers.
        """
        remote = None if drafter is None else drafter.parser
        ahead = self._parsers * _AHEAD_PER_WORKER if remote is None else remote.ahead
        with (
            TemporarySpace() as space,
            ParserPool(
                options=self.parse, workers=self._parsers, on_step=self.steps.on_parser_step
            ) as pool,
            ThreadPoolExecutor(
                self._parsers if remote is None else ahead, thread_name_prefix="spanwise-parse"
            ) as threads,
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
                ahead=ahead,
                parses=parses,
                page_reader=job.enricher or StoredPages(store=self.store, job=job),
                remote=remote,
            )
            with closing(reader.read(sources)) as readings:
                yield readings

    def _put(
        self,
        draft: Draft,
        job: IngestJob,
        counter: IngestCounter,
        preparation: Preparation,
        *,
        renamed: Mapping[str, str],
        known: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> Outcome:
        """Embed and store a document.

        It is prepared again after a rebuild, and after a change of stored fields that it keeps.

        Args:
            draft: Draft of the document.
            job: Options.
            counter: Counter of the run.
            preparation: See `Preparation`.
            renamed: Ids of the documents to remove, by content hash.
            known: Vectors by text, which are reused; None for the stored ones.

        Raises:
            DocumentError: If its chunks cannot be embedded.
            CostLimitError: If embedding would exceed the cost limit.
            ModelKeyError: If the provider of the embedder rejects the key.
            StoreBusyError: If others keep changing the fields of the stored document.
        """

        def put(present: Ingestor) -> Outcome:
            made = draft if present is self else preparation.draft(present)
            reused = known if present is self else None
            for _ in range(_MAX_ATTEMPTS):
                if made is None:
                    return "unchanged"
                outcome = present._store_entry(
                    made, job, counter, preparation, renamed=renamed, known=reused
                )
                if outcome != "refused":
                    return outcome
                made = preparation.draft(present)
            raise StoreBusyError(
                f"others keep changing the metadata of {draft.entry.document.id!r}; try again"
            )

        return with_latest(self._present(), Ingestor._present, put)

    def _draft_again(self, document: Document, request: DraftRequest) -> Draft:
        """Return a draft with the settings after a rebuild.

        Vectors of the request are left out, because they may be those of another embedder.
        """
        request = replace(request, recipe=without_vectors(request.recipe), vectors=None)
        return self.preparer().draft(document, request=request)

    def _store_entry(
        self,
        draft: Draft,
        job: IngestJob,
        counter: IngestCounter,
        preparation: Preparation,
        *,
        renamed: Mapping[str, str],
        known: Mapping[str, NDArray[np.float32]] | None,
    ) -> PutOutcome:
        """Embed and store a document, unless the stored fields that it keeps were changed.

        Raises:
            StoreRebuiltError: If the knowledge base was rebuilt meanwhile; nothing is stored.
            SpanwiseError: The errors of `_put`.
        """
        if draft.kept_vectors is None:
            draft = self._completed(draft, counter, renamed=renamed, known=known)
        entry = draft.entry
        outcome = self.store.put_document(
            entry, replace=job.replace_other, accept=partial(preparation.accepts, entry.document)
        )
        if outcome != "refused":
            counter.count(entry, kept_vectors=draft.kept_vectors or 0, warnings=draft.warnings)
        return outcome

    def _completed(
        self,
        draft: Draft,
        counter: IngestCounter,
        *,
        renamed: Mapping[str, str],
        known: Mapping[str, NDArray[np.float32]] | None,
    ) -> Draft:
        """Return a draft with vectors and signals; arguments and errors as for `_put`."""
        if known is None:
            known = self.known_vectors(draft, renamed)
        try:
            return self.preparer().completed(
                draft,
                known=known,
                packs=self.packs(),
                ledger=counter.ledger,
                on_embedded=self.steps.on_embedded,
            )
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            raise embedding_failure(draft.entry.document, error) from error

    def packs(self) -> str:
        """Return the recorded packs of the knowledge base."""
        return self.store.ensure_settings({}).get("packs", "")

    def known_vectors(
        self, draft: Draft, renamed: Mapping[str, str] = _NOTHING_RENAMED
    ) -> dict[str, NDArray[np.float32]]:
        """Return stored vectors by text, for reuse.

        They are the vectors of the earlier version, or else of a removed document with the same
        content, which was probably renamed. Vectors that the caller supplied are not reused,
        because another embedder may have made them.
        """
        if draft.vectors is not None:
            return {}
        return self.stored_vectors_of(draft.entry.document, renamed)

    def stored_vectors_of(
        self, document: Document, renamed: Mapping[str, str]
    ) -> dict[str, NDArray[np.float32]]:
        """Return stored vectors by text that a document may reuse, see `known_vectors`."""
        for document_id in (document.id, renamed.get(document.content_hash)):
            record = None if document_id is None else self.store.get_record(document_id)
            embedded = None if record is None else self.store.get_embedded(record.id)
            if record is None or embedded is None or has_given_vectors(record):
                continue
            chunks, vectors = embedded
            outline = Outline(record.title, record.summary, self.store.get_sections(record.id))
            if self.store.get_record(record.id) != record:  # another process has replaced it
                return {}
            texts = self.preparer().embedded_texts(chunks, outline)
            return dict(zip(texts, vectors, strict=True))
        return {}


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

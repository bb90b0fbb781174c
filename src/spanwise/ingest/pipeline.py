"""From sources to stored documents: parsed side by side, stored one transaction each, in order."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from spanwise.core.titles import document_title
from spanwise.errors import DocumentError
from spanwise.ingest.compare import Verdict, compare, kept_fields, typed
from spanwise.ingest.sources import Source
from spanwise.ingest.stopping import run_until_stopped
from spanwise.parsers.isolation import ParserPool
from spanwise.types import Document, IngestFailure, IngestProgress, IngestReport, Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.prepare import Preparer
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.ports import Store
    from spanwise.types import DocumentRecord

__all__ = ["IngestJob", "Ingestor"]

Outcome = Literal["added", "replaced", "unchanged", "removed", "failed"]
_Parsed = Document | Literal["unchanged"]
_Compared = tuple[Source | DocumentError, Verdict]
_AHEAD = 2  # documents that each parsing process may be ahead of the store
_FEW = 50  # sources whose records are read one by one, not with those of all documents


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """What is to be taken in, and how."""

    sources: Sequence[Source | DocumentError] = ()
    """What was found, and what could not be opened."""
    gone: Sequence[DocumentRecord] = ()
    """Documents to remove, once the sources are in."""
    metadata: Mapping[str, Scalar] | None = None
    """Fields that every document gets beside its own; None for those it was given before."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Called after each document."""


@dataclass(slots=True)
class _Tally:
    """Counts for the report and for the progress."""

    job: IngestJob
    started: float = field(default_factory=time.perf_counter)
    done: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    chunks: int = 0
    chars: int = 0
    ids: dict[Outcome, list[str]] = field(
        default_factory=lambda: {
            "added": [], "replaced": [], "unchanged": [], "removed": [], "failed": []
        }
    )  # fmt: skip
    failures: list[IngestFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bytes_total = sum(s.bytes for s in self.job.sources if isinstance(s, Source))

    def fail(self, error: DocumentError) -> None:
        self.failures.append(
            IngestFailure(source=error.source, code=error.code, message=str(error))
        )

    def note(self, source: Source | DocumentError | DocumentRecord, outcome: Outcome) -> None:
        """Count what became of a source, or of a document that is gone, and tell it."""
        if isinstance(source, DocumentError):
            document_id = source.source
        elif isinstance(source, Source):
            document_id = source.document_id
            self.bytes_done += source.bytes
        else:
            document_id = source.id
        self.ids[outcome].append(document_id)
        self.done += 1
        if self.job.on_document is not None:
            self.job.on_document(
                IngestProgress(
                    documents_done=self.done,
                    documents_total=len(self.job.sources) + len(self.job.gone),
                    bytes_done=self.bytes_done,
                    bytes_total=self.bytes_total,
                    chunks=self.chunks,
                    document_id=document_id,
                    outcome=outcome,
                )
            )

    def report(self) -> IngestReport:
        return IngestReport(
            added=tuple(self.ids["added"]),
            replaced=tuple(self.ids["replaced"]),
            unchanged=tuple(self.ids["unchanged"]),
            removed=tuple(self.ids["removed"]),
            failed=tuple(self.failures),
            warnings=tuple(self.warnings),
            chunks=self.chunks,
            chars=self.chars,
            seconds=time.perf_counter() - self.started,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestor:
    """Takes documents into one knowledge base, and out of it."""

    store: Store
    preparer: Callable[[], Preparer]
    """Called when a document is to be prepared: models are loaded only then."""
    embeds: bool
    """Whether the knowledge base has an embedder."""
    parse: ParseOptions
    fetch: FetchOptions
    workers: int = 2
    """Parsing processes."""

    def carry_out(
        self, job: IngestJob, *, records: Mapping[str, DocumentRecord] | None = None
    ) -> IngestReport:
        """Take in all sources, then remove what is gone; what fails is reported alone.

        Unchanged sources come first, then the others in their order. Removals come last: in
        between, and after a kill, a search may find a renamed document twice, but never not at
        all; and its vectors are there to be taken over.

        Args:
            job: What is to be done.
            records: What is stored, by id; looked up where it is None.

        Raises:
            StoreError: If the store fails; what was stored before stays.
        """
        tally = _Tally(job, warnings=self._lacks())
        if records is None:
            records = self._records(job.sources)
        changed = []
        with closing(self._compared(job, records)) as compared:
            for source, verdict in compared:
                if verdict == "unchanged":
                    tally.note(source, "unchanged")
                else:
                    changed.append((source, verdict))
        if changed:
            self._take_in(changed, tally, records)
        for record in job.gone:
            # What came again meanwhile, from another process, is not what was to be removed.
            if self.store.delete_document(record.id, record=record):
                tally.note(record, "removed")
        return tally.report()

    def foresee(self, job: IngestJob, *, records: Mapping[str, DocumentRecord]) -> IngestReport:
        """Return the report of a job without doing it; what cannot be parsed is not known yet."""
        tally = _Tally(job)
        with closing(self._compared(job, records)) as compared:
            for source, verdict in compared:
                if isinstance(verdict, DocumentError):
                    tally.fail(verdict)
                    tally.note(source, "failed")
                else:
                    foreseen: Mapping[str, Outcome] = {"new": "added", "changed": "replaced"}
                    tally.note(source, foreseen.get(verdict, "unchanged"))
        for record in job.gone:
            tally.note(record, "removed")
        return tally.report()

    def add_document(self, document: Document, *, replace_other: bool = False) -> IngestReport:
        """Take in one document that is parsed already.

        Raises:
            DocumentError: If it holds no text, or its id belongs to another source.
        """
        tally = _Tally(IngestJob(replace_other=replace_other), warnings=self._lacks())
        record = self.store.get_record(document.id)
        if record is not None and _is_same(record, document):
            tally.ids["unchanged"].append(document.id)
        else:
            outcome = self._put(document, tally, twins={})
            tally.ids[outcome].append(document.id)
        return tally.report()

    def _records(self, sources: Sequence[Source | DocumentError]) -> dict[str, DocumentRecord]:
        """Return what is stored under the ids of the sources."""
        if len(sources) > _FEW:
            return {record.id: record for record in self.store.list_records()}
        ids = [source.document_id for source in sources if isinstance(source, Source)]
        found = [self.store.get_record(document_id) for document_id in ids]
        return {record.id: record for record in found if record is not None}

    def _compared(
        self, job: IngestJob, records: Mapping[str, DocumentRecord]
    ) -> Generator[_Compared]:
        return compare(
            job.sources,
            records=records,
            metadata=job.metadata,
            replace_other=job.replace_other,
            threads=self.workers,
        )

    def _lacks(self) -> list[str]:
        """Return what the knowledge base does without, for people."""
        if self.embeds:
            return []
        return ["no vectors: this knowledge base has no embedder and is searched by keywords alone"]

    def _take_in(
        self,
        sources: Sequence[_Compared],
        tally: _Tally,
        records: Mapping[str, DocumentRecord],
    ) -> None:
        """Parse and store what is new or changed; note what cannot be opened."""
        twins = {record.content_hash: record.id for record in tally.job.gone}
        with (
            ParserPool(options=self.parse, workers=self.workers) as pool,
            closing(self._parsed(sources, pool, tally.job, records)) as parsed_sources,
        ):
            for source, parsed in parsed_sources:
                outcome: Outcome = "unchanged"
                try:
                    if isinstance(parsed, DocumentError):
                        raise parsed
                    if isinstance(parsed, Document):
                        outcome = self._put(parsed, tally, twins=twins)
                except DocumentError as error:
                    outcome = "failed"
                    tally.fail(error)
                tally.note(source, outcome)

    def _parsed(
        self,
        sources: Sequence[_Compared],
        pool: ParserPool,
        job: IngestJob,
        records: Mapping[str, DocumentRecord],
    ) -> Generator[tuple[Source | DocumentError, _Parsed | DocumentError]]:
        """Yield each source with what became of it, in order, parsed ahead by some threads."""
        waiting: deque[tuple[Source | DocumentError, Future[_Parsed]]] = deque()
        stopped = threading.Event()

        def read(source: Source | DocumentError, verdict: Verdict) -> _Parsed:
            if isinstance(verdict, DocumentError):
                raise verdict
            if isinstance(source, DocumentError):
                raise source
            document = self._read(source, pool, stopped)
            return _with_fields(document, job.metadata, record=records.get(source.document_id))

        with ThreadPoolExecutor(self.workers, thread_name_prefix="spanwise-parse") as threads:
            try:
                for source, verdict in sources:
                    waiting.append((source, threads.submit(read, source, verdict)))
                    if len(waiting) > self.workers * _AHEAD:
                        yield _settled(*waiting.popleft())
                while waiting:
                    yield _settled(*waiting.popleft())
            except BaseException:  # interrupted: nobody waits for what is being read
                stopped.set()
                for _, future in waiting:
                    future.cancel()
                pool.close()
                raise

    def _read(self, source: Source, pool: ParserPool, stopped: threading.Event) -> Document:
        """Return the parsed document of a source.

        Raises:
            DocumentError: If it cannot be opened, fetched or parsed.
        """
        if source.path is not None:
            return pool.parse(
                source.path,
                document_id=source.document_id,
                source=source.location,
                source_root=source.root,
            )
        from spanwise.parsers.fetch import fetch  # an HTTP client, loaded where a URL is named

        fetched = run_until_stopped(
            lambda: fetch(source.location, options=self.fetch), stopped=stopped
        )
        return pool.parse_bytes(
            fetched.data,
            media_type=fetched.media_type,
            charset=fetched.charset,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
        )

    def _put(
        self, document: Document, tally: _Tally, *, twins: Mapping[str, str]
    ) -> Literal["added", "replaced"]:
        """Store a document; `twins` are ids of documents that go, by the hash of their bytes."""
        known = self._known_vectors(document.id, twins.get(document.content_hash))
        entry = self.preparer().entry(document, known=known)
        outcome = self.store.put_document(entry, replace=tally.job.replace_other)
        tally.chunks += len(entry.chunks)
        tally.chars += len(document.text)
        tally.warnings += [f"{document.source or document.id}: {w}" for w in document.warnings]
        return outcome

    def _known_vectors(self, *document_ids: str | None) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, by text, of the chunks of the first of these that is stored."""
        for document_id in document_ids:
            embedded = None if document_id is None else self.store.get_embedded(document_id)
            if embedded is not None:
                return {chunk.text: vector for chunk, vector in zip(*embedded, strict=True)}
        return {}


def _settled(
    source: Source | DocumentError, future: Future[_Parsed]
) -> tuple[Source | DocumentError, _Parsed | DocumentError]:
    """Return a source with its result, waiting for it; a document's error is a result."""
    try:
        return source, future.result()
    except DocumentError as error:
        return source, error


def _with_fields(
    document: Document, metadata: Mapping[str, Scalar] | None, *, record: DocumentRecord | None
) -> _Parsed:
    """Return a parsed document with what the caller gives; say if it is stored just so."""
    given = kept_fields(record, root=document.source_root) if metadata is None else metadata
    document = replace(
        document,
        metadata={**document.metadata, **given},
        given_fields=tuple(sorted(given)),
    )
    return "unchanged" if record is not None and _is_same(record, document) else document


def _is_same(record: DocumentRecord, document: Document) -> bool:
    """Return whether a document is stored exactly as it is."""
    return (
        record.content_hash == document.content_hash
        and record.source_root == document.source_root
        and record.media_type == document.media_type
        and record.given_fields == document.given_fields
        and typed(record.metadata) == typed(document.metadata)
        and record.title == document_title(document)
    )

"""Drafts of documents by worker processes: the requests, and the use of their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from spanwise.errors import DocumentError, SpanwiseError
from spanwise.ingest.fields import FieldChanges, stored_origins
from spanwise.ingest.recipes import has_parts, has_recipe, with_parser
from spanwise.ingest.sources import Source
from spanwise.ingest.workers import KnownVectors, ParsingWorkers, Prepared, PrepareRequest
from spanwise.parsers.plugins import parser_recipe
from spanwise.stores.port import IndexedStore
from spanwise.threads import map_ahead
from spanwise.types import Document, FieldOrigins

if TYPE_CHECKING:
    from threading import Event

    from spanwise.ingest.enrich import Enricher
    from spanwise.ingest.job import IngestJob
    from spanwise.ingest.local_files import LocalFile
    from spanwise.ingest.pipeline import Ingestor
    from spanwise.ingest.prepare import Draft
    from spanwise.ingest.reader import ComparedSource, ReadSource, RemoteParser
    from spanwise.ingest.workers import Workers, WorkerSettings
    from spanwise.models.ports import Embedder
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Limit
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord


_Result = TypeVar("_Result")
_MIN_BYTES = 4_000_000
"""Total size of the sources from which processes are started: a second of work."""
_BYTES_OF_UNKNOWN = 30_000
"""Assumed size of a source of unknown size, such as a URL."""


def is_worth_workers(sources: Sequence[ComparedSource]) -> bool:
    """Return whether the preparation of some sources takes longer than the start of processes."""
    sizes = (s.bytes or _BYTES_OF_UNKNOWN for s, _ in sources if isinstance(s, Source))
    return sum(sizes) >= _MIN_BYTES


def connected_workers(workers: int | str) -> AbstractContextManager[None]:
    """Connect to the Ray cluster of an address during a block; do nothing for local processes.

    Raises:
        OptionError: If Ray is not installed, or the cluster cannot be reached.
    """
    if isinstance(workers, int):
        return nullcontext()
    from spanwise.ingest.ray_workers import connected_cluster

    return connected_cluster(workers)


def open_workers(
    workers: int | str, options: ParseOptions, embedder: Callable[[], Embedder | None]
) -> Workers:
    """Return the workers of one run.

    Args:
        workers: Number of processes of this machine, or the address of a Ray cluster.
        options: Limits of each file.
        embedder: Function that returns the embedder of the knowledge base.

    Raises:
        OptionError: If Ray is not installed, or its cluster cannot be used.
    """
    if isinstance(workers, int):
        from spanwise.ingest.process_workers import ProcessWorkers

        return ProcessWorkers(workers)
    from spanwise.ingest.ray_workers import RayWorkers

    return RayWorkers(workers, options=options, embedder=embedder())


def index_elsewhere(store: Store) -> AbstractContextManager[None]:
    """Write the index of a store in another process during a block, if the store can do so."""
    return store.flushes_elsewhere() if isinstance(store, IndexedStore) else nullcontext()


@contextmanager
def open_drafter(
    ingestor: Ingestor,
    sources: Sequence[ComparedSource],
    job: IngestJob,
    *,
    renamed: Mapping[str, str],
    make: Callable[[ReadSource], Draft | None],
) -> Iterator[Drafter | None]:
    """Open the workers of a run. None if there is not enough work for them.

    Args:
        ingestor: Ingestor of the knowledge base.
        sources: New and changed sources.
        job: Options.
        renamed: Ids of the documents to remove, by content hash.
        make: Function that returns the draft of a reading without workers.

    Raises:
        OptionError: If a Ray cluster cannot be used.
    """
    settings, workers = ingestor.worker_settings, ingestor.workers
    has_work = isinstance(workers, str) or (workers > 1 and is_worth_workers(sources))
    if job.enricher is not None or settings is None or not has_work:
        yield None
        return
    opened = open_workers(workers, ingestor.parse, lambda: ingestor.preparer().embedder)
    with closing(opened), index_elsewhere(ingestor.store):
        yield Drafter(
            ingestor=ingestor,
            job=job,
            settings=settings(),
            renamed=renamed,
            make=make,
            workers=opened,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkersParser:
    """Parser on the machines of the workers, which prepare new documents in the same step."""

    workers: ParsingWorkers
    template: Callable[[Source], PrepareRequest | None]

    @property
    def ahead(self) -> int:
        """Number of documents that are parsed at once."""
        return self.workers.ahead

    def parse(
        self, source: Source, file: LocalFile | None, *, text_limit: Limit, stopped: Event
    ) -> Document:
        """Return a parsed document, see `RemoteParser.parse`."""
        template = self.template(source)
        return self.workers.parse(
            source, file, text_limit=text_limit, template=template, stopped=stopped
        )


class _Begun(NamedTuple):
    """Document that a worker is preparing."""

    read_source: ReadSource
    record: DocumentRecord | None
    """Record of the stored document at that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Passes the documents of one run to workers, and returns the prepared ones."""

    ingestor: Ingestor
    job: IngestJob
    settings: WorkerSettings
    """Settings of the knowledge base."""
    renamed: Mapping[str, str]
    """Ids of the documents to remove, by content hash."""
    make: Callable[[ReadSource], Draft | None]
    """Function that returns the draft of a reading without workers."""
    workers: Workers

    @property
    def parser(self) -> RemoteParser | None:
        """Parser on the machines of the workers; None if files are parsed on this machine."""
        if not isinstance(self.workers, ParsingWorkers) or not isinstance(
            self.ingestor.parse.parser, str
        ):
            return None
        return _WorkersParser(workers=self.workers, template=self._template)

    def _template(self, source: Source) -> PrepareRequest | None:
        """Return the request of a new document before it is parsed; None for a stored document."""
        placeholder = Document(
            id=source.document_id, text="", source=source.location, source_root=source.root
        )
        record, request = self._request((source, placeholder))
        return request if record is None and request.document is not None else None

    def drafts(
        self, readings: Iterable[ReadSource]
    ) -> Generator[tuple[ReadSource, Callable[[], Draft | None]]]:
        """Yield each reading, in order, with a function that returns its draft."""
        begun: deque[_Begun] = deque()

        def requests() -> Iterator[PrepareRequest]:
            for read_source in readings:
                record, request = self._request(read_source)
                begun.append(_Begun(read_source, record))
                yield request

        with closing(self.workers.map(requests())) as results:
            for prepared in results:
                reading = begun.popleft()
                yield reading.read_source, partial(self._draft, reading, prepared)

    def _draft(self, begun: _Begun, prepared: Prepared) -> Draft | None:
        """Return the draft of a result; it is made again if the stored state has changed.

        Raises:
            DocumentError: If the document cannot be prepared.
        """
        source, reading = begun.read_source
        if prepared.outcome == "lost":
            location = source.location if isinstance(source, Source) else source.source
            raise DocumentError(
                f"{location}: not added, because a worker process died at it, twice; leave it out, "
                "or add it with workers=1",
                source=location,
                code="crashed",
            )
        if prepared.outcome == "refused" or not isinstance(reading, Document):
            return self.make(begun.read_source)
        if self.ingestor.store.get_record(reading.id) != begun.record:
            return self.make(begun.read_source)
        draft = prepared.draft
        if draft is not None and draft.kept_vectors is not None:
            if draft.entry.packs != self.ingestor.packs():
                return self.make(begun.read_source)
            new = len(draft.entry.chunks) - draft.kept_vectors
            self.ingestor.steps.on_embedded(new, new)
        return draft

    def _request(self, read_source: ReadSource) -> tuple[DocumentRecord | None, PrepareRequest]:
        """Return the request of a reading, and the record of the stored document."""
        source, document = read_source
        if not isinstance(document, Document) or not isinstance(source, Source):
            return None, self._nothing()
        record = self.ingestor.store.get_record(document.id)
        parser = parser_recipe(self.ingestor.parse.parser, document)
        wanted = self.job.draft_request(document.id)
        if wanted.recipe or (record is not None and not self._is_plain(record, document)):
            return record, self._nothing()
        is_same = record is not None and has_recipe(record, {}, parser=parser)
        return record, PrepareRequest(
            settings=self.settings,
            document=document,
            changes=self.job.changes(source),
            before=stored_origins(record, root=document.source_root),
            record=record if is_same else None,
            recipe=with_parser({}, parser),
            packs=self.ingestor.packs(),
            known=self._known(document),
        )

    def _is_plain(self, record: DocumentRecord, document: Document) -> bool:
        """Return whether a document replaces a stored one of its source without further parts."""
        is_own = record.source_root == document.source_root or self.job.replace_other
        return is_own and not has_parts(record)

    def _known(self, document: Document) -> KnownVectors | None:
        """Return the stored vectors that the document may reuse."""
        if self.settings.embedder != "wordllama":
            return None
        known = self.ingestor.stored_vectors_of(document, self.renamed)
        if not known:
            return None
        return KnownVectors(texts=tuple(known), vectors=np.stack(list(known.values())))

    def _nothing(self) -> PrepareRequest:
        """Return a request for nothing, for a reading that workers do not prepare."""
        return PrepareRequest(
            settings=self.settings,
            document=None,
            changes=FieldChanges(),
            before=FieldOrigins(),
            record=None,
            recipe={},
            packs="",
        )


def drafts_ahead(
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


def finish_drafts(
    drafts: Iterable[tuple[ReadSource, Callable[[], object]]], enricher: Enricher | None
) -> None:
    """Wait for running model calls, so that paid answers are cached and counted."""
    if enricher is None:
        return
    enricher.stopped.set()
    for _, get_draft in drafts:
        with suppress(SpanwiseError, CancelledError):
            get_draft()

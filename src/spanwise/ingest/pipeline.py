"""From sources to stored documents: parsed side by side, stored one transaction each, in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from spanwise.core.titles import document_title
from spanwise.errors import DocumentError
from spanwise.ingest.sources import Source, file_hash
from spanwise.parsers.isolation import ParserPool
from spanwise.types import Document, IngestFailure, IngestProgress, IngestReport, Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.prepare import Preparer
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.ports import Store
    from spanwise.types import DocumentRecord

__all__ = ["Ingestor"]

Outcome = Literal["added", "replaced", "unchanged", "failed"]
_Parsed = Document | Literal["unchanged"]
_AHEAD = 2  # documents that each parsing process may be ahead of the store


@dataclass(slots=True)
class _Tally:
    """Counts for the report and for the progress."""

    sources_total: int = 0
    bytes_total: int = 0
    done: int = 0
    bytes_done: int = 0
    chunks: int = 0
    chars: int = 0
    ids: dict[Outcome, list[str]] = field(
        default_factory=lambda: {"added": [], "replaced": [], "unchanged": [], "failed": []}
    )
    failures: list[IngestFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def report(self, seconds: float) -> IngestReport:
        return IngestReport(
            added=tuple(self.ids["added"]),
            replaced=tuple(self.ids["replaced"]),
            unchanged=tuple(self.ids["unchanged"]),
            failed=tuple(self.failures),
            warnings=tuple(self.warnings),
            chunks=self.chunks,
            chars=self.chars,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestor:
    """Takes documents into one knowledge base."""

    store: Store
    preparer: Preparer
    parse: ParseOptions
    fetch: FetchOptions
    workers: int = 2
    """Parsing processes."""

    def add_sources(
        self,
        sources: Sequence[Source | DocumentError],
        *,
        metadata: Mapping[str, Scalar],
        replace_other: bool = False,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Take in all sources; one that fails is reported, and the others go in.

        Args:
            sources: What was found, and what could not be opened.
            metadata: Fields that every document gets beside its own.
            replace_other: Whether documents from other roots may be replaced.
            on_document: Called after each document.

        Raises:
            StoreError: If the store fails; what was stored before stays.
        """
        started = time.perf_counter()
        tally = _Tally(
            sources_total=len(sources),
            bytes_total=sum(s.bytes for s in sources if isinstance(s, Source)),
            warnings=self._lacks(),
        )
        with (
            ParserPool(options=self.parse, workers=self.workers) as pool,
            closing(self._parsed(sources, pool, metadata)) as parsed_sources,
        ):
            for source, parsed in parsed_sources:
                outcome = self._finish(source, parsed, tally, replace_other=replace_other)
                tally.done += 1
                tally.bytes_done += source.bytes if isinstance(source, Source) else 0
                if on_document is not None:
                    on_document(_progress(tally, source, outcome))
        return tally.report(time.perf_counter() - started)

    def add_document(self, document: Document, *, replace_other: bool = False) -> IngestReport:
        """Take in one document that is parsed already.

        Raises:
            DocumentError: If it holds no text, or its id belongs to another source.
        """
        started = time.perf_counter()
        tally = _Tally(sources_total=1, warnings=self._lacks())
        record = self.store.get_record(document.id)
        if record is not None and _is_same(record, document):
            tally.ids["unchanged"].append(document.id)
        else:
            outcome = self._put(document, tally, replace_other=replace_other)
            tally.ids[outcome].append(document.id)
        return tally.report(time.perf_counter() - started)

    def _lacks(self) -> list[str]:
        """Return what the knowledge base does without, for people."""
        if self.preparer.embedder is not None:
            return []
        return ["no vectors: this knowledge base has no embedder and is searched by keywords alone"]

    def _parsed(
        self,
        sources: Sequence[Source | DocumentError],
        pool: ParserPool,
        metadata: Mapping[str, Scalar],
    ) -> Generator[tuple[Source | DocumentError, _Parsed | DocumentError]]:
        """Yield each source with what became of it, in order, parsed ahead by some threads."""
        waiting: deque[tuple[Source | DocumentError, Future[_Parsed]]] = deque()
        with ThreadPoolExecutor(self.workers, thread_name_prefix="spanwise-parse") as threads:
            try:
                for source in sources:
                    waiting.append((source, threads.submit(self._read, source, pool, metadata)))
                    if len(waiting) > self.workers * _AHEAD:
                        yield _settled(*waiting.popleft())
                while waiting:
                    yield _settled(*waiting.popleft())
            except BaseException:  # interrupted: nobody waits for what is being parsed
                for _, future in waiting:
                    future.cancel()
                pool.close()
                raise

    def _read(
        self, source: Source | DocumentError, pool: ParserPool, metadata: Mapping[str, Scalar]
    ) -> _Parsed:
        """Return the parsed document of a source, or say that it is stored as it is.

        Raises:
            DocumentError: If it cannot be opened, fetched or parsed.
        """
        if isinstance(source, DocumentError):
            raise source
        record = self.store.get_record(source.document_id)
        if source.path is None:
            document = self._fetch(source, pool)
        elif record is not None and _is_stored(record, source, file_hash(source.path), metadata):
            return "unchanged"
        else:
            document = pool.parse(
                source.path,
                document_id=source.document_id,
                source=source.location,
                source_root=source.root,
            )
        document = replace(document, metadata={**document.metadata, **metadata})
        return "unchanged" if record is not None and _is_same(record, document) else document

    def _fetch(self, source: Source, pool: ParserPool) -> Document:
        from spanwise.parsers.fetch import fetch  # an HTTP client, loaded where a URL is named

        fetched = fetch(source.location, options=self.fetch)
        return pool.parse_bytes(
            fetched.data,
            media_type=fetched.media_type,
            charset=fetched.charset,
            document_id=source.document_id,
            source=source.location,
            source_root=source.root,
        )

    def _finish(
        self,
        source: Source | DocumentError,
        parsed: _Parsed | DocumentError,
        tally: _Tally,
        *,
        replace_other: bool,
    ) -> Outcome:
        """Store what was parsed, and note what became of it."""
        document_id = source.document_id if isinstance(source, Source) else source.source
        outcome: Outcome = "unchanged"
        try:
            if isinstance(parsed, DocumentError):
                raise parsed
            if isinstance(parsed, Document):
                outcome = self._put(parsed, tally, replace_other=replace_other)
        except DocumentError as error:
            outcome = "failed"
            tally.failures.append(
                IngestFailure(source=error.source, code=error.code, message=str(error))
            )
        tally.ids[outcome].append(document_id)
        return outcome

    def _put(
        self, document: Document, tally: _Tally, *, replace_other: bool
    ) -> Literal["added", "replaced"]:
        entry = self.preparer.entry(document, known=self._known_vectors(document.id))
        outcome = self.store.put_document(entry, replace=replace_other)
        tally.chunks += len(entry.chunks)
        tally.chars += len(document.text)
        tally.warnings += [f"{document.source or document.id}: {w}" for w in document.warnings]
        return outcome

    def _known_vectors(self, document_id: str) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of the chunks of the document that is to be replaced, by text."""
        embedded = self.store.get_embedded(document_id)
        if embedded is None:
            return {}
        return {chunk.text: vector for chunk, vector in zip(*embedded, strict=True)}


def _settled(
    source: Source | DocumentError, future: Future[_Parsed]
) -> tuple[Source | DocumentError, _Parsed | DocumentError]:
    """Return a source with its result, waiting for it; a document's error is a result."""
    try:
        return source, future.result()
    except DocumentError as error:
        return source, error


def _is_stored(
    record: DocumentRecord, source: Source, content_hash: str, metadata: Mapping[str, Scalar]
) -> bool:
    """Return whether a file's bytes are stored already, from this root and with these fields."""
    return (
        record.content_hash == content_hash
        and record.source_root == source.root
        and _typed(metadata).items() <= _typed(record.metadata).items()
    )


def _is_same(record: DocumentRecord, document: Document) -> bool:
    """Return whether a document is stored exactly as it is."""
    return (
        record.content_hash == document.content_hash
        and record.source_root == document.source_root
        and _typed(record.metadata) == _typed(document.metadata)
        and record.title == document_title(document)
    )


def _typed(metadata: Mapping[str, Scalar]) -> dict[str, tuple[type, Scalar]]:
    """Return fields with the types of their values: 1, 1.0 and True are equal, and not the same."""
    return {name: (type(value), value) for name, value in metadata.items()}


def _progress(tally: _Tally, source: Source | DocumentError, outcome: Outcome) -> IngestProgress:
    return IngestProgress(
        documents_done=tally.done,
        documents_total=tally.sources_total,
        bytes_done=tally.bytes_done,
        bytes_total=tally.bytes_total,
        chunks=tally.chunks,
        document_id=source.document_id if isinstance(source, Source) else source.source,
        outcome=outcome,
    )

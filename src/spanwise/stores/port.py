"""Store protocol and the data types it exchanges with the rest of the library.

A store returns counts and raw scores. All arithmetic on them is done in `core`, so every store
gives the same segments for the same question. `spanwise.testing.stores` has the conformance suite
for authors of a store, and `stores.memory` the reference implementation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    runtime_checkable,
)

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.errors import OptionError, StoreChangedError, StoreRebuiltError, shown
from spanwise.types.output_cache import CachedOutput, OutputCache

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind, Filter
    from spanwise.types import (
        Block,
        CheckReport,
        Chunk,
        Document,
        DocumentRecord,
        FieldOrigins,
        Figure,
        MetadataValue,
        Page,
        Section,
        Thread,
        ThreadInfo,
        Turn,
        WholeDocument,
    )


PutOutcome = Literal["added", "replaced", "refused"]
"""Outcome of `Store.put_document`."""
Accept = Callable[["DocumentRecord | None"], bool]
"""Function that returns whether a document may replace the stored record; None for no record."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_MAX_READS = 20


def repeated_read(read: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that repeats a read after a StoreChangedError, at most 20 times."""

    @wraps(read)
    def repeated(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for _ in range(_MAX_READS - 1):
            with suppress(StoreChangedError):
                return read(*args, **kwargs)
        return read(*args, **kwargs)

    return repeated


def with_latest(state: _S, latest: Callable[[_S], _S], action: Callable[[_S], _R]) -> _R:
    """Return the result of an action; after a rebuild, repeat it with the current state.

    Args:
        state: Object with the store and the settings that the action uses.
        latest: Function that returns the object of the current state; the same one if there was no
            rebuild.
        action: Function of the object. It may raise StoreRebuiltError and be called again.

    Raises:
        StoreRebuiltError: If the action raises it although there was no rebuild.
    """
    while True:
        try:
            return action(state)
        except StoreRebuiltError:
            before, state = state, latest(state)
            if state is before:
                raise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DocumentEntry:
    """A complete document, ready to be written in one transaction."""

    document: Document
    title: str
    summary: str
    title_words: str
    """Words of the title, file name and path; questions are matched against this field."""
    sections: tuple[Section, ...]
    chunks: Sequence[Chunk]
    vectors: NDArray[np.floating] | None
    """One vector per chunk, of any norm; None in a knowledge base without an embedder."""
    language: str = ""
    """Language of the text (ISO 639-1), used to stem its terms; empty if unknown."""
    signals: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)
    """Signals of pack landmarks by landmark name: one number per chunk."""
    packs: str = ""
    """Recorded packs with which the signals were computed."""
    recipe: str = ""
    """Recipe of the document, see `DocumentRecord.recipe`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedParts:
    """Parts of a document that depend on its title and metadata and affect searches."""

    title_words: str
    """See `DocumentEntry.title_words`."""
    language: str
    """See `DocumentEntry.language`."""
    header_tokens: tuple[int, ...]
    """Value of `Section.header_tokens` for each section, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentUpdate:
    """New title and metadata of a stored document, whose text, chunks and vectors stay the same."""

    title: str
    metadata: Mapping[str, MetadataValue]
    given_fields: tuple[str, ...]
    """See `Document.given_fields`."""
    origins: FieldOrigins | None
    """See `Document.origins`."""
    searched: SearchedParts | None = None
    """Parts that affect searches; None if they stay the same."""


@runtime_checkable
class SharedStore(Protocol):
    """Store that servers on several machines share, with the files that were uploaded to them."""

    def check_format(self) -> None:
        """Check that this program can still use the store.

        Raises:
            FormatError: If a newer program has changed its format.
            StoreError: If the store cannot be reached.
        """
        ...

    def read_file(self, record: DocumentRecord) -> bytes | None:
        """Return the original file of a document; None if the store does not have it.

        Raises:
            StoreError: If the store cannot be read.
        """
        ...


@runtime_checkable
class TenantStore(Protocol):
    """Store that grants tenants to roles of its server."""

    def grant_tenant(self, tenant: str, *, role: str) -> None:
        """Let a role read and write the documents of a tenant.

        Raises:
            OptionError: If the tenant is empty.
            StoreError: If the role does not exist, or this one does not own the tables.
        """
        ...

    def revoke_tenant(self, tenant: str, *, role: str) -> bool:
        """Revoke a tenant from a role; return whether the role had it."""
        ...

    def list_tenants(self) -> list[tuple[str, str]]:
        """Return the granted tenants with their roles, ascending."""
        ...


@runtime_checkable
class IndexedStore(Protocol):
    """Store whose index another process can write."""

    def flushes_elsewhere(self) -> AbstractContextManager[None]:
        """Write the index in another process during the block, so that this one only adds rows.

        The end of the block waits until all its documents are in the index.
        """
        ...


class Searchable(Protocol):
    """Read access to one consistent set of documents."""

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Score all chunks in scope and return the best hits.

        The keyword score of chunk u is `sum over terms t of weight(t) * (impact(t, u) + title(t))`.
        `title(t)` is 1 if the title words of the document contain t, otherwise 0. `weight(t)` is
        the inverse document frequency over all live chunks, or over document titles if no chunk
        contains t. Terms that are variants of one word (`query.words`) share one frequency: the sum
        of their counts, at most the number of chunks or titles. Terms are computed by `core.text`
        in the language of the document.

        A filter sees metadata, title, language and status (`filters.filter_fields`).

        Hits are the union of the best `query.hits` chunks by keyword score (above 0), by cosine,
        and, if `query.keyword_share` s is below 1, by `s z(keyword) + (1 - s) z(cosine)`. Ties go
        to the older document, then to the earlier chunk. Hits are ordered by document, then by
        chunk.

        Raises:
            FilterError: If the filter names a field that no document has or had, or compares a
                field with a value of another type.
            DocumentNotFoundError: If `documents` contains an unknown id.
        """

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw features of chunk ranges for query terms and query vectors.

        Args:
            ranges: Ranges of chunks.
            terms: Query terms.
            vectors: Query vectors of unit length, (m, dimension).
        """

    def similar_words(
        self, handles: Sequence[int], words: Sequence[str]
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return, for each word, the most similar words of some documents by meaning.

        At most 32 words with a cosine above 0.25 are returned, one for each term, best first; ties
        go to the shorter word, then to the first in the alphabet (see
        `core.ranking.similar_words`). The word itself is left out, and so are words that share a
        term with it in the languages of the live documents. The result is empty for a word that
        does not consist of three or more letters, and without word vectors.

        Args:
            handles: Handles of documents.
            words: Words of a question.

        Raises:
            DocumentNotFoundError: If there is no document with one of the handles.
        """

    def similar_spellings(self, words: Sequence[str]) -> tuple[SimilarWord | None, ...]:
        """Return, for each word, the word of all documents with the nearest spelling, or None.

        Words of four to seven letters may differ by one edit, longer ones by two (see
        `core.ranking.similar_words.nearest_spellings`).
        """

    def packs(self) -> str:
        """Return the recorded packs (see `packs.pack_file`), "" for none."""

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n).

        A signal is 0 if the document lacks the landmark. Ranges must lie within their documents.
        """


class Snapshot(Searchable, Protocol):
    """Consistent view of a store at one point in time.

    The handle of a document is an integer, valid in this snapshot. A document that was stored
    later, also in place of another one, has a higher handle.
    """

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document by the handle from a scan of this snapshot."""

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""


class JointSnapshot(Snapshot, Protocol):
    """Snapshot that can be searched together with snapshots of other stores (`stores.several`).

    Handles are from 0 to 2**48 - 1.
    """

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that a filter may name."""

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search; all steps in order give the result of `scan`.

        Args:
            query: Terms and vector of the query.
            where: Metadata filter. It has been checked against the fields of all stores, so it may
                name a field that no document of this store has.
            documents: Handles of the documents to search; None for all.
        """

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the similar words of some documents; see `Searchable.similar_words`.

        Args:
            handles: Handles of documents.
            words: Words of a question.
            languages: Languages of the live documents of all stores; None for those of this store.
        """

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the words with the nearest spelling; see `Searchable.similar_spellings`.

        Args:
            words: Words of a question.
            count_chunks: Function that returns the number of live chunks of all stores that contain
                each of some terms; None to count the chunks of this store.
        """


class StoreRebuild(OutputCache, Protocol):
    """New state of a store, which is prepared next to the current one and replaces it at once.

    Outputs that are cached in the new state are in the cache of the store after the switch.
    """

    def outdated(self) -> list[tuple[str, str]]:
        """Return id and version of each document to prepare, oldest first.

        These are the documents that are missing in the new state, or were prepared from another
        version. Documents that the store has no longer are removed from the new state. If the packs
        of the store were changed, all documents are outdated.
        """

    def version(self, document_id: str) -> str:
        """Return the current version of a document in the store; empty if it does not exist."""

    def put(self, entry: DocumentEntry, *, version: str) -> None:
        """Store a prepared document in the new state.

        Args:
            entry: Document, prepared with the settings of the new state.
            version: Version from which it was prepared.
        """

    def hold_writers(self) -> AbstractContextManager[None]:
        """Block writers of the store, but not searches, until the block ends."""

    def switch(self) -> None:
        """Replace documents and settings of the store by the new state, in one step.

        Must be called inside of `hold_writers`, when no document is outdated. The step is complete
        when that block ends. Conversations and cached outputs stay.

        Raises:
            StoreError: If a document is outdated, or the store cannot be written; nothing changes.
        """


class Store(OutputCache, Protocol):
    """Storage for documents, conversations and cached model outputs, with search.

    A store is safe for use by several threads and, if it is on disk, by several processes. A
    document is stored completely or not at all. A search sees every document whose `put_document`
    has returned. Callers may change the mappings in what `get_record`, `list_records` and
    `get_document` return without changing the store.
    """

    @property
    def rebuilt(self) -> bool:
        """Whether a rebuild replaced the settings since they were first read from this store.

        `snapshot`, `put_document`, `get_embedded` and `update_document` with `update.searched` then
        raise StoreRebuiltError, because their callers work with the earlier settings. Other reads
        and writes continue.
        """

    def reopened(self) -> Store:
        """Return a store of the current state after a rebuild; this one must be closed too."""

    def open_rebuild(self, settings: Mapping[str, str]) -> AbstractContextManager[StoreRebuild]:
        """Open the new state of a rebuild. The current state stays in use until the switch.

        An unfinished rebuild with the same settings is continued; one with other settings is
        discarded. The block may end without a switch.

        Args:
            settings: All settings of the new state, with another "revision" than the current one.

        Raises:
            StoreBusyError: If another process is rebuilding.
            StoreError: If the store cannot be written.
        """

    def discard_rebuild(self) -> bool:
        """Delete the new state of an unfinished rebuild, and return whether there was one.

        Raises:
            StoreBusyError: If another process is rebuilding.
        """

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record settings that are not recorded yet, and return all recorded settings."""

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings and overwrite existing values; other settings stay.

        Raises:
            OptionError: If the settings include "dimension" or "reference_terms", which are fixed
                once recorded because stored data depends on them, or "packs", which is set by
                `record_packs`.
        """

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents in one transaction.

        Args:
            packs: Packs to record (see `packs.pack_file`).
            make: Function that computes the signals of a document from the texts of its chunks.
        """

    def list_signals(self) -> Mapping[str, Sequence[str]]:
        """Return the sorted landmarks of each document with signals, by document id."""

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        """Store a document in one transaction and replace a document with the same id.

        Args:
            entry: Document; its concatenated chunks are its text.
            replace: Whether a document from another source root may be replaced.
            accept: Function that is called in the transaction with the stored record of the id, or
                None if there is none. If it returns False, nothing is stored, for example because
                others have changed the document meanwhile. None accepts every record.

        Returns:
            "refused" if `accept` returned False; otherwise whether a document was replaced.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False, or if
                the signals were computed with packs other than the recorded ones.
            StoreFullError: If the disk is full; nothing of the document is stored.
        """

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document in one transaction.

        Args:
            document_id: Id of the document.
            record: Expected record of the document. The document is kept if its record differs
                because another process replaced it. None deletes it unconditionally.

        Returns:
            Whether a document was deleted.
        """

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        """Change the title and metadata of a document in one transaction; its text stays the same.

        If `update.searched` is given, the document then counts as the newest one, as after a
        replacement.

        Args:
            document_id: Id of the document.
            update: New title and metadata.
            record: Expected record of the document. Nothing is changed if its record differs
                because another process changed it.

        Returns:
            Whether the document was changed.

        Raises:
            OptionError: If the metadata cannot be stored, or `update.searched` has another number
                of sections than the document.
            StoreRebuiltError: If `update.searched` is given, and the store was rebuilt since it was
                opened.
        """

    def group_commits(self) -> AbstractContextManager[Callable[[], None]]:
        """Flush the writes of this thread to disk only when the caller requests it.

        Outside of the block, a write to a durable store is on disk when it returns. Inside, a write
        is visible at once. It is on disk when the caller has called the yielded function, or the
        block has ended.
        """

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, ordered by id.

        Raises:
            FilterError: As `Snapshot.scan`.
        """

    def ids_from(self, roots: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the ids of the documents from some source roots, ascending, by source root.

        Source roots without documents are left out.
        """

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was stored, or None."""

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, read consistently, or None."""

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document; empty if there is no such document."""

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document; empty if there is no such document."""

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return the chunks and stored vectors, (chunks, dimension), of a document.

        Both are read consistently. Returns None if there is no such document or no embedder.
        """

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        """Return a document with all its parts, read consistently, or None.

        `put_document` of the entry in another store with the same settings stores the same
        document: its vectors are the stored ones, bit for bit, and its packs the recorded ones.

        Raises:
            StoreRebuiltError: If the store was rebuilt since it was opened.
        """

    def record_former_fields(self, names: Iterable[str]) -> None:
        """Record names of metadata fields that documents had earlier; other names stay."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a snapshot; close it soon, because it holds a read transaction.

        Raises:
            StoreRebuiltError: If the store was rebuilt since it was opened.
            StoreChangedError: On exit, if the store is read without locks and has changed; discard
                the results and retry (`repeated_read`).
        """

    def count_outputs(self) -> tuple[int, int]:
        """Return the number of cached model outputs and their size in UTF-8 bytes."""

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        """Return cached model outputs, ordered by the code points of their keys.

        Args:
            after: Key after which the list begins.
            limit: Maximum number of outputs.
        """

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number."""

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation in one transaction; the first turn creates it.

        Raises:
            OptionError: If the id or the question contains a lone surrogate.
            StoreError: If the turn cannot be written.
        """

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None.

        Raises:
            FormatError: If a turn is missing or damaged.
        """

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""

    def reclaimable_bytes(self) -> int:
        """Return the number of bytes on disk that `compact` would return: an estimate."""

    def compact(self) -> None:
        """Update and compact derived data, and return the space of deleted data to the disk.

        Searches and writers continue. A store that is closed after large deletions should return
        most of their space without this call.

        Raises:
            StoreError: If the store cannot be written.
        """

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return the defects of the stored documents and of the derived data.

        Args:
            repair: Whether to rebuild derived data; documents are never changed.

        Raises:
            StoreError: If the store cannot be read, or cannot be written for a repair.
        """

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy a consistent state of the store to a new folder, completely or not at all.

        Args:
            target: Folder to create.
            on_progress: Callback with the bytes copied and the total bytes of the documents.

        Raises:
            OptionError: If the target exists, or its parent does not.
            StoreFullError: If the disk of the target is full; the partial copy is removed.
            StoreError: If the target cannot be written, or the store is not on disk.
        """

    def close(self) -> None:
        """Release all resources; later calls raise StoreError."""


def check_store(store: object) -> None:
    """Check that an object has the methods of `Store`, before it is used.

    Raises:
        OptionError: If it is a class, or methods or their keyword arguments are missing; the
            message names them.
    """
    if isinstance(store, type):
        raise OptionError(f"store is the class {store.__name__!r}; give an instance of it")
    _check_methods(store, Store, name="store")


def check_snapshot(store: Store) -> None:
    """Check that the snapshots of a store have the methods of `Snapshot`.

    Raises:
        OptionError: As `check_store`.
    """
    with store.snapshot() as snapshot:
        _check_methods(snapshot, Snapshot, name="the snapshot of the store")


def _check_methods(value: object, protocol: type, *, name: str) -> None:
    missing = list(_missing_parts(value, protocol))
    if missing:
        raise OptionError(
            f"{name} is {shown(value)}, which does not implement "
            f"`spanwise.stores.port.{protocol.__name__}`; missing: {', '.join(missing)}"
        )


def _missing_parts(value: object, protocol: type) -> Iterator[str]:
    """Yield the methods of a protocol that an object lacks, and their missing arguments."""
    for method in sorted({m for kind in protocol.__mro__ for m in vars(kind) if m[0] != "_"}):
        if isinstance(getattr(protocol, method), property):
            if not hasattr(value, method):
                yield method
            continue
        function = getattr(value, method, None)
        if not callable(function):
            yield method
            continue
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):  # a method of an extension module has no signature
            continue
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            continue
        expected = inspect.signature(getattr(protocol, method)).parameters.values()
        keywords = [part.name for part in expected if part.kind is part.KEYWORD_ONLY]
        yield from (f"{method}({word}=)" for word in keywords if word not in parameters)

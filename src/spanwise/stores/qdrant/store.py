"""Store on a Qdrant server or cluster; implements `Store`.

Small knowledge bases are searched exactly, from an index that each process keeps (`known`). Larger
ones are searched approximately, by queries to Qdrant (`approximate`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanwise.config import find_secret
from spanwise.config.network_addresses import is_inside, resolve
from spanwise.errors import OptionError, StoreBusyError, StoreError
from spanwise.filters import document_test, known_fields, record_fields
from spanwise.stores.build import Vocabulary
from spanwise.stores.entries import (
    check_changeable,
    check_entry,
    check_known,
    check_packs,
    check_sections,
    check_turn,
    check_update,
    detached,
    ids_by_root,
    stored_record,
)
from spanwise.stores.memory import read_settings
from spanwise.stores.port import DocumentEntry
from spanwise.stores.qdrant.address import QdrantAddress, read_address
from spanwise.stores.qdrant.approximate import ApproximateSnapshot, Samples
from spanwise.stores.qdrant.collections import index_field, open_chunks, open_collections
from spanwise.stores.qdrant.fields import field_payload
from spanwise.stores.qdrant.known import KnownDocuments
from spanwise.stores.qdrant.meta import Meta, change_meta, load_meta
from spanwise.stores.qdrant.points import (
    CHUNKS,
    DENSE,
    DOCUMENTS,
    STATE,
    VERSION_FIELDS,
    Layout,
    StoredVersion,
    index_entry,
    live_documents,
    read_version,
)
from spanwise.stores.qdrant.requests import Requests
from spanwise.stores.qdrant.signals import signal_points
from spanwise.stores.qdrant.snapshot import ExactSnapshot, VersionReader
from spanwise.stores.qdrant.state import Outputs, Threads
from spanwise.stores.qdrant.ticks import Ticks
from spanwise.stores.qdrant.updates import text_finding, updated_entry, updated_record
from spanwise.stores.qdrant.writes import (
    GRACE_SECONDS,
    Preparation,
    Writer,
    check_replace,
    stored_rows,
)
from spanwise.types import CheckFinding, CheckReport, Document, WholeDocument

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.port import Accept, DocumentUpdate, PutOutcome, Snapshot, StoreRebuild
    from spanwise.types import Chunk, DocumentRecord, Section, Thread, ThreadInfo, Turn
    from spanwise.types.output_cache import CachedOutput

_logger = logging.getLogger("spanwise")
_SWEEP_SECONDS = 60
_MODE_SECONDS = 60
_LARGER = 1.25  # an exact index is kept until the knowledge base is this much larger than the limit


def open_qdrant(
    address: str,
    *,
    create: bool = True,
    client: Any = None,
    clock: Callable[[], float] = time.time,
) -> QdrantStore:
    """Open a knowledge base on a Qdrant server.

    The API key is read from the environment variable or keyring entry QDRANT_API_KEY.

    Args:
        address: Address such as "qdrant://host:6333/reports".
        create: Whether to create a missing knowledge base.
        client: Client to use, for example `QdrantClient(":memory:")`; None to connect to the
            address.
        clock: Function that returns the time in seconds since 1970.

    Raises:
        OptionError: If the address is not valid, or `qdrant-client` is not installed.
        FormatError: If there is no such knowledge base and `create` is False.
        StoreError: If the server cannot be reached or refuses the key.
    """
    place = read_address(address)
    connected = _connect(place) if client is None else client
    requests = Requests(connected, place, is_shared=client is None)
    open_collections(requests, place, create=create)
    store = QdrantStore(requests, place, clock=clock)
    if create:
        store.try_sweep()
    return store


def _connect(address: QdrantAddress) -> Any:
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise OptionError(
            f"the client for {address} is not installed; install spanwise[qdrant]"
        ) from error
    key = find_secret("QDRANT_API_KEY")
    if key is not None and not address.https:
        _check_private(address)
    return QdrantClient(
        host=address.host,
        port=6333 if address.grpc else address.port,
        grpc_port=address.port if address.grpc else 6334,
        prefer_grpc=address.grpc,
        https=address.https,
        headers={} if key is None else {"api-key": key.reveal()},
        timeout=address.timeout_seconds,
        check_compatibility=False,
    )


def _check_private(address: QdrantAddress) -> None:
    """Check that a key may be sent without encryption.

    Raises:
        OptionError: If the server is not on this machine or in a private network.
        StoreBusyError: If the name of the server has no address.
    """
    try:
        found = resolve(address.host, address.port, timeout_seconds=address.timeout_seconds)
    except OSError as error:
        raise StoreBusyError(f"{address} cannot be reached ({error}); check the name") from error
    if not all(map(is_inside, found)):
        raise OptionError(
            f"QDRANT_API_KEY would be sent to {address} without encryption; use qdrants://, or "
            "unset the key"
        )


class QdrantStore:
    """Documents on a Qdrant server; implements `Store`. Safe for several threads and processes."""

    def __init__(
        self, requests: Requests, address: QdrantAddress, *, clock: Callable[[], float]
    ) -> None:
        self._requests = requests
        self._address = address
        self._ticks = Ticks(clock)
        self._writer = Writer(requests, self._ticks)
        self._known = KnownDocuments(requests, self._ticks)
        self._samples = Samples()
        self._outputs = Outputs(requests)
        self._threads = Threads(requests, self._ticks)
        self._lock = threading.Lock()
        self._vocabulary = Vocabulary()
        self._is_closed = False
        self._has_chunks = False
        self._swept_at = self._ticks.now()
        self._is_large: tuple[bool, float] | None = None

    @property
    def rebuilt(self) -> bool:
        """Always False, because the settings are never replaced."""
        return False

    def reopened(self) -> QdrantStore:
        """Return this store."""
        return self

    def open_rebuild(self, settings: Mapping[str, str]) -> AbstractContextManager[StoreRebuild]:
        """Raise an error, because a knowledge base on Qdrant is rebuilt as a copy.

        Raises:
            StoreError: Always.
        """
        _ = settings
        self._live()
        raise StoreError(
            f"{self._address} cannot be rebuilt in place; copy it to a folder "
            f"(`spanwise copy {self._address} FOLDER`), rebuild that, and copy the folder to an "
            "address with another name"
        )

    def discard_rebuild(self) -> bool:
        """Return False, because there are no rebuilds."""
        self._live()
        return False

    def _live(self) -> None:
        if self._is_closed:
            raise StoreError("the store is closed; open it again")

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record settings that are not recorded yet, and return all recorded settings."""
        self._live()

        def change(meta: Meta) -> Meta:
            return replace(meta, settings={**settings, **meta.settings})

        recorded = change_meta(self._requests, self._ticks, change).settings
        if "dimension" in recorded:
            self._open_chunks(int(recorded["dimension"]))
        return dict(sorted(recorded.items()))

    def _open_chunks(self, dimension: int) -> None:
        if not self._has_chunks:
            open_chunks(self._requests, self._address, dimension=dimension)
            self._has_chunks = True

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings and overwrite existing values.

        Raises:
            OptionError: If a setting is fixed once recorded.
        """
        check_changeable(settings)
        self._live()
        change_meta(
            self._requests,
            self._ticks,
            lambda meta: replace(meta, settings={**meta.settings, **settings}),
        )

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents.

        The signals are written first, next to the earlier ones; recording the packs switches to
        them. Documents that were added in the meantime follow, and versions that may become visible
        at any moment (see the rules of `writes`).
        """
        self._live()

        def write(token: str, point: str, texts: Sequence[str]) -> None:
            points = signal_points(token, point, packs, make(texts))
            if points:
                self._requests.upsert(STATE, points)
            done.add(token)

        done: set[str] = set()
        named: dict[str, str] = {}
        for is_recorded in (False, True):
            for version in self._versions(None):
                if version.token not in done:
                    texts = [chunk.text for chunk in self._read_chunks(version)]
                    write(version.token, version.point, texts)
            if not is_recorded:
                change_meta(
                    self._requests,
                    self._ticks,
                    lambda meta: replace(meta, settings={**meta.settings, "packs": packs}),
                )
                named = self._writer.named_versions()
        for token in named.keys() - done:
            write(token, named[token], self._writer.texts(token))

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        """Return the sorted landmarks of each document with signals, by document id."""
        self._live()
        packs = load_meta(self._requests).settings.get("packs", "")
        versions = self._versions(None)
        signals = VersionReader(self._requests).signals(versions, packs)
        return {
            version.record.id: tuple(sorted(own))
            for version, own in sorted(
                zip(versions, signals, strict=True), key=lambda pair: pair[0].record.id
            )
            if own
        }

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        """Store a document and replace a document with the same id.

        Raises:
            ConflictError, OptionError: As `Store.put_document`.
            StoreBusyError: If the server cannot be reached, or the document is changed by others
                all the time.
            StoreFullError: If the disk of the server is full.
        """
        self._live()

        def accept_version(before: StoredVersion | None) -> bool:
            root = entry.document.source_root
            check_replace(entry.document.id, before, root, replace=replace)
            return accept is None or accept(None if before is None else before.record)

        before, is_stored = self._put(entry, accept_version)
        if not is_stored:
            return "refused"
        return "added" if before is None else "replaced"

    def _put(
        self, entry: DocumentEntry, accept: Callable[[StoredVersion | None], bool]
    ) -> tuple[StoredVersion | None, bool]:
        meta = load_meta(self._requests)
        dimension, reference_terms = read_settings(meta.settings)
        check_entry(entry, dimension=dimension)
        check_packs(entry, recorded=meta.settings.get("packs", ""))
        self._open_chunks(dimension)
        with self._lock:
            self._vocabulary.forget_many()
            part = index_entry(
                entry,
                vocabulary=self._vocabulary,
                dimension=dimension,
                reference_terms=reference_terms,
            )

        def before_switch() -> None:
            current = load_meta(self._requests)
            check_packs(entry, recorded=current.settings.get("packs", ""))
            self._learn_fields(current, entry)

        written = self._writer.put(
            Preparation(entry, part), accept=accept, before_switch=before_switch
        )
        self._sweep_sometimes()
        return written

    def _learn_fields(self, meta: Meta, entry: DocumentEntry) -> None:
        """Record and index the fields of a document that is about to be written."""
        fields = record_fields(stored_record(entry))
        self._record_fields(meta, fields)

    def _record_fields(self, meta: Meta, fields: Mapping[str, Any]) -> None:
        if not meta.lacks(fields):
            return
        for key in field_payload(fields):
            if key != "tags":
                index_field(self._requests, key)
        change_meta(self._requests, self._ticks, lambda known: known.with_fields(fields))

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document, see `Store.delete_document`; return whether it was deleted."""
        self._live()
        while True:
            version = self._find(document_id)
            if version is None or record not in (None, version.record):
                return False
            if self._writer.delete(version):
                self._sweep_sometimes()
                return True

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        """Change title and metadata, see `Store.update_document`; return whether it was changed.

        Raises:
            OptionError: As `Store.update_document`.
        """
        check_update(document_id, update)
        self._live()
        version = self._find(document_id)
        if version is None or version.record != record:
            return False
        if update.searched is None:
            changed = updated_record(record, update)
            self._record_fields(load_meta(self._requests), record_fields(changed))
            return self._writer.update(version, changed)
        entry = self._read_entry(version)
        check_sections(document_id, update, entry.sections)
        _, is_changed = self._put(
            updated_entry(entry, update),
            lambda before: before is not None and before.changed == version.changed,
        )
        return is_changed

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Yield a function that does nothing, because every write is durable when it returns."""
        yield lambda: None

    def _find(self, document_id: str) -> StoredVersion | None:
        """Return the live version of a document, or None."""
        self._live()
        version = self._writer.current(document_id)
        return None if version is None or version.gone else version

    def _versions(self, where: Filter | None) -> list[StoredVersion]:
        """Return the live versions that match a filter, from oldest to newest."""
        self._live()
        if self._searches_exactly():
            known = self._known.refresh()
            versions = list(known.handles.values())
            fields, kinds = known.fields, known.meta.kinds
        else:
            points = self._requests.scroll(DOCUMENTS, live_documents(), fields=VERSION_FIELDS)
            versions = [read_version(str(point.id), point.payload or {}) for point in points]
            versions.sort(key=lambda version: version.number)
            kinds = load_meta(self._requests).kinds
            fields = known_fields(record_fields(version.record) for version in versions)
        if where is None:
            return versions
        check_known(where, fields, former=lambda: frozenset(kinds))
        test = document_test(where)
        return [version for version in versions if test(record_fields(version.record))]

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""
        version = self._find(document_id)
        return None if version is None else version.record

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, ordered by id.

        Raises:
            FilterError: As `Snapshot.scan`.
        """
        records = [detached(version.record) for version in self._versions(where)]
        return sorted(records, key=lambda record: record.id)

    def ids_from(self, roots: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the documents from some source roots, ascending, by source root."""
        return ids_by_root(self.list_records(), roots)

    def _read_chunks(self, version: StoredVersion) -> tuple[Chunk, ...]:
        return VersionReader(self._requests).chunks([(version, 0, version.chunks)])[0]

    def _read_layout(self, version: StoredVersion) -> Layout:
        return VersionReader(self._requests).layout(version)

    def _read_document(self, version: StoredVersion, reader: VersionReader) -> Document:
        record = version.record
        (chunks,) = reader.chunks([(version, 0, version.chunks)])
        return replace(
            reader.layout(version).document,
            text="".join(chunk.text for chunk in chunks),
            metadata=dict(record.metadata),
            given_fields=record.given_fields,
            origins=record.origins,
        )

    def _read_entry(self, version: StoredVersion) -> DocumentEntry:
        """Return a version as it was added."""
        packs = load_meta(self._requests).settings.get("packs", "")
        reader = VersionReader(self._requests)
        (signals,) = reader.signals([version], packs)
        (chunks,) = reader.chunks([(version, 0, version.chunks)])
        return DocumentEntry(
            document=self._read_document(version, reader),
            title=version.record.title,
            summary=version.record.summary,
            title_words=version.title_words,
            sections=reader.layout(version).sections,
            chunks=chunks,
            vectors=self._read_vectors(version),
            language=version.record.language,
            signals=signals,
            packs=packs,
            recipe=version.record.recipe,
        )

    def _read_vectors(self, version: StoredVersion) -> NDArray[np.float16] | None:
        """Return the stored vectors of a version; None without an embedder."""
        ids = version.chunk_ids(0, version.chunks)
        found = self._requests.retrieve(CHUNKS, ids, fields=["index"], vectors=True)
        vectors = [found[one].vector if one in found else None for one in ids]
        rows: list[Any] = [one[DENSE] for one in vectors if isinstance(one, dict) and DENSE in one]
        return stored_rows(rows) if len(rows) == len(ids) else None

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        """Return a document as it was added, with the stored vectors, or None."""
        version = self._find(document_id)
        return None if version is None else self._read_entry(version)

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was stored, or None."""
        version = self._find(document_id)
        reader = VersionReader(self._requests)
        return None if version is None else self._read_document(version, reader)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, or None."""
        version = self._find(document_id)
        if version is None:
            return None
        reader = VersionReader(self._requests)
        return WholeDocument(
            record=version.record,
            document=self._read_document(version, reader),
            sections=reader.layout(version).sections,
        )

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document; empty if there is no such document."""
        version = self._find(document_id)
        return () if version is None else self._read_chunks(version)

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document; empty if there is no such document."""
        version = self._find(document_id)
        return () if version is None else self._read_layout(version).sections

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return the chunks and stored vectors of a document, read consistently, or None."""
        version = self._find(document_id)
        vectors = None if version is None else self._read_vectors(version)
        if version is None or vectors is None:
            return None
        return self._read_chunks(version), vectors.astype("float32")

    def _searches_exactly(self) -> bool:
        """Return whether the knowledge base is small enough for the index of this process."""
        limit = self._address.exact_chunks
        now = time.monotonic()
        if self._is_large is None or now - self._is_large[1] > _MODE_SECONDS:
            chunks = self._requests.count_points(CHUNKS, None) if self._chunks_exist() else 0
            if self._known.is_loaded:
                limit = int(limit * _LARGER)
            self._is_large = chunks > limit, now
            if self._is_large[0]:
                self._known.forget()
        return not self._is_large[0]

    def _chunks_exist(self) -> bool:
        if not self._has_chunks:
            self._has_chunks = bool(self._requests.call("collection_exists", CHUNKS))
        return self._has_chunks

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a snapshot."""
        self._live()
        if self._searches_exactly():
            known = self._known.refresh()
            read_settings(known.meta.settings)
            yield ExactSnapshot(known, self._requests)
            return
        meta = load_meta(self._requests)
        read_settings(meta.settings)
        yield ApproximateSnapshot(meta, self._requests, self._samples)

    def record_former_fields(self, names: Iterable[str]) -> None:
        """Record names of metadata fields that documents had earlier; other names stay."""
        self._live()
        recorded = tuple(names)
        change_meta(self._requests, self._ticks, lambda meta: meta.with_names(recorded))

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        self._live()
        return self._outputs.get(keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs, except for keys that exist."""
        self._live()
        self._outputs.put(outputs)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key, if there is one."""
        self._live()
        self._outputs.remove(key)

    def count_outputs(self) -> tuple[int, int]:
        """Return the number of cached model outputs and their size in bytes."""
        self._live()
        return self._outputs.count()

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        """Return cached model outputs, ordered by the code points of their keys."""
        self._live()
        return self._outputs.page(after=after, limit=limit)

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number."""
        self._live()
        return self._outputs.forget()

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation; the first turn creates it.

        Raises:
            OptionError: If the id or the question contains a lone surrogate.
        """
        check_turn(thread_id, turn)
        self._live()
        self._threads.append(thread_id, turn)

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None."""
        self._live()
        return self._threads.get(thread_id)

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""
        self._live()
        return self._threads.infos()

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        self._live()
        return self._threads.delete(thread_id)

    def reclaimable_bytes(self) -> int:
        """Return 0, because Qdrant reclaims the space of deleted points itself."""
        self._live()
        return 0

    def compact(self) -> None:
        """Delete outdated and unfinished versions that no search can use any more."""
        self._live()
        self.sweep()

    def sweep(self, *, grace_seconds: float = GRACE_SECONDS) -> int:
        """Delete outdated and unfinished versions, and return their number.

        Args:
            grace_seconds: Age from which versions are deleted. Searches of this age, and writes
                that were interrupted for this long, fail.
        """
        self._swept_at = self._ticks.now()
        if not self._chunks_exist():
            return 0
        return self._writer.sweep(grace_seconds=grace_seconds)

    def try_sweep(self) -> None:
        """Delete outdated and unfinished versions; log a failure, such as a key that only reads."""
        try:
            self.sweep()
        except StoreError as error:
            _logger.info("outdated versions of documents were not deleted: %s", error)

    def _sweep_sometimes(self) -> None:
        if self._ticks.now() - self._swept_at > _SWEEP_SECONDS << 16:
            self.try_sweep()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return a report of documents whose points are missing or do not match.

        Args:
            repair: Whether to delete outdated versions; documents are never changed.
        """
        self._live()
        began = time.monotonic()
        if repair:
            self.sweep()
        versions = self._versions(None)
        findings = [one for one in map(self._finding, versions) if one is not None]
        return CheckReport(
            path=str(self._address),
            documents=len(versions),
            chunks=sum(version.chunks for version in versions),
            chars=sum(version.record.chars for version in versions),
            index_parts=0,
            index_chunks=0,
            pending_chunks=0,
            findings=tuple(findings),
            seconds=time.monotonic() - began,
        )

    def _finding(self, version: StoredVersion) -> CheckFinding | None:
        """Return the defect of a document whose points are missing or damaged, or None."""
        try:
            text = "".join(chunk.text for chunk in self._read_chunks(version))
            self._read_layout(version)
        except StoreError as error:
            if self._find(version.record.id) != version:
                return None  # it was replaced or deleted during the check
            return CheckFinding(
                code="chunks",
                document_id=version.record.id,
                message=f"points of {version.record.id!r} are missing or damaged ({error}); add "
                "the document again",
                repaired=False,
            )
        return text_finding(version.record, text)

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Raise an error, because a knowledge base on Qdrant is backed up by the server.

        Raises:
            StoreError: Always.
        """
        _ = on_progress
        self._live()
        raise StoreError(
            f"{self._address} cannot be backed up to the folder {target}; create snapshots of its "
            f"collections in Qdrant, or copy it with `spanwise copy {self._address} {target}`"
        )

    def close(self) -> None:
        """Close the connections; later calls raise StoreError."""
        if not self._is_closed:
            self._is_closed = True
            self._known.forget()
            self._requests.close()

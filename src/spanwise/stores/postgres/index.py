"""Search index of a knowledge base in PostgreSQL: views of transactions, flushes and merges.

Rules:
    A snapshot reads the documents and the parts of its own transaction, so parts that a flush
        deletes later remain readable for it. What a process caches of a part is valid as long as
        the part exists, because parts never change.
    Documents without a part (the delta) are built in memory by the process that searches.
    A flush writes the delta of a knowledge base to parts, and merges small ones. It takes an
        advisory lock without waiting; searches and writers never wait for it.
    A process with a tenant sees, writes and merges the parts of its tenant only.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import sql

from spanwise.core.documents.headers import searched_header, searched_text
from spanwise.core.text.terms import terms_version
from spanwise.errors import (
    FormatError,
    StoreBusyError,
    StoreError,
    StorePermissionError,
    StoreRebuiltError,
)
from spanwise.models.word_vectors import word_vectors_version
from spanwise.stores.build import Vocabulary, batch_documents, build_part
from spanwise.stores.check import make_finding
from spanwise.stores.database import IndexedDocument
from spanwise.stores.doctor import PART_ADVICE, SAMPLE_ROWS, IndexCheck, part_problem
from spanwise.stores.index import IndexSettings
from spanwise.stores.merge import MergeSource, merge_parts
from spanwise.stores.merge_plan import (
    MAX_GONE_SHARE,
    MergeGroup,
    first_run,
    merge_groups,
    merge_small,
    plan_merges,
)
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.postgres.documents import read_chunks, read_rows, read_sections, read_vectors
from spanwise.stores.postgres.flush_process import postgres_flush_process
from spanwise.stores.postgres.parts import (
    EncodedRow,
    Fetch,
    Kind,
    PartCache,
    StoredPart,
    decode_part,
    encode_part,
    fetch_rows,
    part_keys,
    part_name,
    read_all_vectors,
    read_whole,
    row_key,
)
from spanwise.stores.postgres.snapshot import (
    IndexAccess,
    IndexView,
    KnownDocuments,
    PostgresSnapshot,
)
from spanwise.stores.postgres.values import bigints, byte_strings
from spanwise.stores.postgres.vectors import VectorFiles
from spanwise.stores.view import LiveDocuments, View, later_documents, locate
from spanwise.threads import check_cancelled, sleep_unless_cancelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.flush_process import FlushProcess
    from spanwise.stores.part import Part
    from spanwise.stores.postgres.connections import Connection, PostgresConnections
    from spanwise.stores.postgres.settings import ExpectedSettings
    from spanwise.types import CheckFinding

_logger = logging.getLogger("spanwise")

_FLUSH_ROWS = 5_000  # chunks written by this process after which it flushes
_SEARCH_BATCH_ROWS = 5_000  # chunks per part built for a search
_FLUSH_BATCH_ROWS = 10_000  # chunks per part built for the table
_MAX_DELTA_ROWS = 20_000  # if more chunks are missing, a search flushes them first
_MAX_STEPS = 20_000  # after more changes, all documents are listed again
_INSERT_BYTES = 8 << 20
_COMPACT_SECONDS = 600.0
_PAUSE_SECONDS = 0.05
_NO_DOCUMENTS = LiveDocuments(0, 0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0)


class _BehindError(Exception):
    """More chunks are missing from the index than a search may build in memory."""


class _State(NamedTuple):
    """State of the index in one transaction."""

    seq: int
    """Sequence number of the last change of a document."""
    settings: IndexSettings
    packs: str
    parts: tuple[int, ...]
    """Numbers of the parts of this process's tenant, ordered by their first document."""


class PostgresIndex:
    """Index of one store in this process; safe for several threads."""

    def __init__(
        self,
        connections: PostgresConnections,
        expected: ExpectedSettings,
    ) -> None:
        """Create the index; nothing is read yet.

        Args:
            connections: Connections to the knowledge base.
            expected: Settings with which the callers prepare documents and questions.
        """
        self._connections = connections
        self._expected = expected
        self._version = f"{terms_version()} {word_vectors_version()}"
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._vocabulary = Vocabulary()
        self._cache = PartCache()
        self._access = IndexAccess(
            load_vectors=self._load_vectors,
            recover=self._recover,
            cache=self._cache,
            known=KnownDocuments(),
        )
        self._live: LiveDocuments | None = None
        self._stored: dict[int, StoredPart] = {}
        self._vectors: dict[int, NDArray[np.int8]] = {}
        self._files = VectorFiles(connections.address)
        self._delta: tuple[Part, ...] = ()
        self._latest: IndexView | None = None
        self._damaged: set[int] = set()
        self._pending_rows = 0
        self._due_rows = _FLUSH_ROWS
        self._flush_process: FlushProcess | None = None
        self._may_write = True

    # Searches

    @contextmanager
    def open_snapshot(self) -> Iterator[PostgresSnapshot]:
        """Open a snapshot in a read transaction.

        If many chunks are in no part, they are flushed first.

        Raises:
            StoreRebuiltError: If a rebuild changed the settings since the store was opened.
            StoreError: If the database cannot be read.
        """
        behind = False
        with self._connections.reading() as connection:
            try:
                view = self._view(connection, allow_large=not self._may_write)
            except _BehindError:
                behind = True
            else:
                yield self._snapshot(connection, view)
        if behind:
            self.flush()
            with self._connections.reading() as connection:
                yield self._snapshot(connection, self._view(connection, allow_large=True))
        if self._damaged:
            self.flush()

    def _snapshot(self, connection: Connection, view: IndexView) -> PostgresSnapshot:
        return PostgresSnapshot(connection, view, self._access)

    def _view(self, connection: Connection, *, allow_large: bool) -> IndexView:
        """Return the complete view of a transaction: missing documents are built in memory."""
        state = self._read_state(connection)
        live = self._live_documents(connection, state.seq)
        numbers = tuple(number for number in state.parts if number not in self._damaged)
        latest = self._latest
        if latest and latest.view.live is live and latest.numbers == numbers:
            return latest._replace(packs=state.packs)
        with self._lock:
            stored = self._load(connection, numbers)
            view = _located(live, stored, self._delta)
            if len(view.missing):
                rows = int(live.chunks[view.missing].sum())
                if rows > _MAX_DELTA_ROWS:
                    if not allow_large:
                        raise _BehindError
                    _logger.warning("the index lacks %d chunks: they are built in memory", rows)
                built = self._build(
                    connection, live.numbers[view.missing], state, rows=_SEARCH_BATCH_ROWS
                )
                view = _located(live, stored, merge_small((*self._delta, *built), live))
            result = IndexView(view, stored, state.settings.dimension, state.packs)
            self._keep(result)
            return result

    def _keep(self, found: IndexView) -> None:
        """Cache a view for the next search, unless a newer one is cached."""
        view = found.view
        if self._latest is not None and self._latest.view.live.seq > view.live.seq:
            return
        self._latest = found
        self._delta = tuple(
            entry.part for entry in view.parts[len(found.stored) :] if entry.used.any()
        )
        self._stored = {part.number: part for part in found.stored}
        self._vectors = {
            number: vectors for number, vectors in self._vectors.items() if number in self._stored
        }
        self._files.keep(found.stored)

    def _read_state(self, connection: Connection) -> _State:
        row = connection.execute(
            "select (select coalesce(max(seq), 0) from change),"
            " array(select name from setting order by name),"
            " array(select value from setting order by name),"
            " array(select part from index_part where version = %s"
            " and tenant = coalesce(current_setting('spanwise.tenant', true), '')"
            " order by first, part)",
            (self._version,),
        ).fetchone()
        if row is None:
            raise FormatError("the state of the index cannot be read")
        seq, names, values, parts = row
        recorded = dict(zip(names, values, strict=True))
        return _State(
            int(seq),
            self._expected.check(recorded),
            recorded.get("packs", ""),
            tuple(parts),
        )

    def _live_documents(self, connection: Connection, seq: int) -> LiveDocuments:
        known = self._live
        live = read_live_documents(connection, seq=seq, known=known)
        if known is None or live.seq > known.seq:
            self._live = live
        return live

    def _load(self, connection: Connection, numbers: Sequence[int]) -> tuple[StoredPart, ...]:
        """Return stored parts with their small arrays, read in one statement."""
        stored = dict(self._stored)
        missing = [number for number in numbers if number not in stored]
        if missing:
            keys = [row_key(number, Kind.ARRAYS, 0) for number in missing]
            try:
                rows = fetch_rows(connection, keys)
            except DamagedPartError as error:
                _logger.warning("a damaged index part is rebuilt: %s", error)
                self._damaged.add(int(error.name))
                return self._load(connection, [n for n in numbers if n not in self._damaged])
            for number, key in zip(missing, keys, strict=True):
                stored[number] = decode_part(number, rows[key])
        return tuple(stored[number] for number in numbers)

    def _load_vectors(self, stored: StoredPart, fetch: Fetch) -> NDArray[np.int8]:
        """Return the vectors of a part, which are read once per process, or once per machine."""
        held = self._vectors.get(stored.number)
        if held is None:
            held = self._files.load(stored, partial(read_all_vectors, stored, fetch))
            self._vectors[stored.number] = held
        return held

    def _recover(self, connection: Connection, found: IndexView, number: int) -> IndexView:
        """Return a view without a damaged part; its documents are built in memory."""
        _logger.warning("the index part %d is damaged: its documents are built in memory", number)
        with self._lock:
            self._damaged.add(number)
            self._latest = None
            self._stored.pop(number, None)
            stored = tuple(part for part in found.stored if part.number != number)
            live = found.view.live
            kept = tuple(entry.part for entry in found.view.parts[len(found.stored) :])
            delta = tuple(dict.fromkeys((*kept, *self._delta)))
            missing = _located(live, stored, delta).missing
            state = self._read_state(connection)
            built = self._build(connection, live.numbers[missing], state, rows=_SEARCH_BATCH_ROWS)
            self._delta = (*self._delta, *built)
            return found._replace(view=_located(live, stored, (*delta, *built)), stored=stored)

    def _build(
        self, connection: Connection, numbers: NDArray[np.int64], state: _State, *, rows: int
    ) -> list[Part]:
        """Return parts in memory with some live documents, ascending by number."""
        settings = state.settings
        documents = read_indexed(connection, numbers.tolist(), dimension=settings.dimension)
        with self._building:
            return [
                build_part(
                    batch,
                    vocabulary=self._vocabulary,
                    dimension=settings.dimension,
                    reference_terms=settings.reference_terms,
                )
                for batch in batch_documents(documents, rows=rows)
            ]

    # Writes

    def added(self, rows: int) -> None:
        """Count the chunks of a write that was committed; flush if there are many.

        Args:
            rows: Number of chunks that were added and deleted.
        """
        with self._lock:
            self._pending_rows += rows
            pending = self._pending_rows
            if pending < self._due_rows:
                return
            self._due_rows = pending + _FLUSH_ROWS
        process = self._flush_process
        if process is None or process.failed:
            if not self.flush():
                return
        elif not process.start():
            return  # it still writes earlier documents
        self._written(pending)

    def _written(self, rows: int) -> None:
        """Subtract rows that are written, or that another process writes, from the pending ones."""
        with self._lock:
            self._pending_rows -= rows
            self._due_rows = _FLUSH_ROWS

    @contextmanager
    def flushes_elsewhere(self) -> Iterator[None]:
        """Write the parts in another process during the block, so that this one only adds rows.

        The end of the block waits until all its documents are in parts.
        """
        process = postgres_flush_process(self._connections)
        self._flush_process = process
        try:
            yield
            self._flush_process = None
            pending = self._pending_rows
            if process.finish():
                self._written(pending)
        finally:
            self._flush_process = None
            if process.failed:  # `close` writes what it did not write
                self._pending_rows = max(1, self._pending_rows)
            process.close()

    def flush(self) -> bool:
        """Write documents to parts and merge small parts, unless another process is doing so.

        The index is derived: if it cannot be written, a warning is logged and searches continue in
        memory. The next flush tries again, unless the role has no right to write.

        Returns:
            Whether the flush was done.
        """
        if not self._may_write:
            return False
        try:
            return self._write(compact=False)
        except (StoreBusyError, StoreRebuiltError):  # another process did it, or replaced it
            return False
        except StoreError as error:
            self._may_write = not isinstance(error, StorePermissionError)
            _logger.warning("the index cannot be written, searches continue in memory: %s", error)
            return False

    def compact(self) -> None:
        """Write documents to parts, verify all parts, and merge them without deleted documents.

        Raises:
            StoreBusyError: If another process writes the index.
            StoreError: If the index cannot be written.
        """
        until = time.monotonic() + _COMPACT_SECONDS
        while not self._write(compact=True):
            if time.monotonic() > until:
                raise StoreBusyError(
                    f"another process is writing the index of {self._connections.address}; wait "
                    "for it"
                )
            sleep_unless_cancelled(_PAUSE_SECONDS)
        with self._connections.connect() as connection:
            for table in ("part_row", "index_part", "vector", "chunk", "document"):
                connection.execute(
                    sql.SQL("vacuum {}").format(sql.Identifier(self._connections.schema, table))
                )

    def _write(self, *, compact: bool) -> bool:
        """Write all batches of documents to parts; return False if another process has the lock."""
        more = True
        while more:
            if compact:
                check_cancelled()
            try:
                with self._connections.maintaining() as connection:
                    if not self._connections.try_lock(connection, self._lock_purpose):
                        return False
                    more = self._write_batch(connection, compact=compact)
            except DamagedPartError as error:  # nothing was written
                _logger.warning("a damaged index part is rebuilt: %s", error)
                self._damaged.add(int(error.name))
                with self._lock:
                    self._latest = None
        return True

    @property
    def _lock_purpose(self) -> str:
        return f"index {self._connections.address.tenant}"

    def _write_batch(self, connection: Connection, *, compact: bool) -> bool:
        """Write one batch of documents to parts, and return whether more are missing."""
        state = self._read_state(connection)
        damaged = frozenset(self._damaged)
        live = self._live_documents(connection, state.seq)
        with self._lock:
            stored = self._load(connection, [n for n in state.parts if n not in damaged])
        view = _located(live, stored, ())
        if compact:
            _verify(connection, stored)
        batch = first_run(view)
        more = len(batch) < len(view.missing)
        sources = self._sources(connection, live.numbers[batch], state)
        plan = plan_merges(merge_groups(view, sources), compact=compact and not more)
        kept = set()
        known = {id(part.part): part for part in stored}
        for group in plan:
            if group.name and group.gone_share <= (0 if compact else MAX_GONE_SHARE):
                kept.add(int(group.name))
            else:
                self._insert(connection, _merged(connection, group, known))
        _delete_parts(connection, set(state.parts) - kept)
        if compact and not more:
            self._delete_other_versions(connection)
        self._damaged -= damaged & set(state.parts)
        return more

    def _delete_other_versions(self, connection: Connection) -> None:
        """Delete the parts of other versions of terms or word vectors, which nothing else reads."""
        rows = connection.execute(
            "select part from index_part where version <> %s"
            " and tenant = coalesce(current_setting('spanwise.tenant', true), '')",
            (self._version,),
        ).fetchall()
        _delete_parts(connection, [part for (part,) in rows])

    def _sources(
        self, connection: Connection, numbers: NDArray[np.int64], state: _State
    ) -> list[MergeSource]:
        """Return parts in memory with some live documents, as sources of a merge."""
        if not len(numbers):
            return []
        with self._lock:
            delta = self._delta
        sources = [MergeSource(part, np.isin(part.numbers, numbers)) for part in delta]
        sources = [source for source in sources if source.kept.any()]
        held = np.concatenate([s.part.numbers[s.kept] for s in sources] or [numbers[:0]])
        if np.array_equal(held, numbers):
            return sources
        built = self._build(connection, numbers, state, rows=_FLUSH_BATCH_ROWS)
        return [MergeSource(part, np.ones(part.documents, dtype=bool)) for part in built]

    def _insert(self, connection: Connection, part: Part) -> None:
        """Insert the rows of a part under the next number."""
        tenant = self._connections.address.tenant
        row = connection.execute("select nextval('part_number')").fetchone()
        number = 0 if row is None else int(row[0])
        connection.execute(
            "insert into index_part (part, tenant, version, first, last, documents, rows)"
            " values (%s, %s, %s, %s, %s, %s, %s)",
            (
                number,
                tenant,
                self._version,
                int(part.numbers[0]),
                int(part.numbers[-1]),
                part.documents,
                part.rows,
            ),
        )
        for batch in _batches(encode_part(part, number)):
            connection.execute(
                "insert into part_row (tenant, key, crc, data)"
                " select %s, * from unnest(%s::bigint[], %s::bigint[], %s::bytea[])",
                (
                    tenant,
                    bigints(row.key for row in batch),
                    bigints(row.crc for row in batch),
                    byte_strings([row.data for row in batch]),
                ),
            )

    # Maintenance

    def check(self, checked: IndexCheck, *, repair: bool) -> list[CheckFinding]:
        """Return the defects of the parts of this process's tenant.

        Args:
            checked: Counts, to which those of the index are added.
            repair: Whether to delete damaged parts and to write their documents again.

        Raises:
            StoreError: If the index cannot be read, or cannot be written for a repair.
        """
        with self._connections.reading() as connection:
            recorded = connection.execute("select 1 from document limit 1").fetchone()
            if recorded is None:  # an empty knowledge base has no settings and needs none
                return []
            findings = self._defects(connection, checked)
        if not repair or not findings:
            return findings
        self._damaged |= {int(name) for name in checked.damaged}
        with self._lock:
            self._latest = None
        if not self._write(compact=False):
            return findings
        checked.pending_chunks = 0
        return [replace(finding, repaired=True) for finding in findings]

    def _defects(self, connection: Connection, checked: IndexCheck) -> list[CheckFinding]:
        state = self._read_state(connection)
        live = self._live_documents(connection, state.seq)
        is_indexed = np.zeros(len(live.numbers), dtype=bool)
        findings = []
        for number in sorted(state.parts):
            check_cancelled()
            checked.parts += 1
            positions = np.empty(0, dtype=np.int64)
            try:
                keys = [row_key(number, Kind.ARRAYS, 0)]
                stored = decode_part(number, fetch_rows(connection, keys)[keys[0]])
                problem, positions = part_problem(
                    read_whole(stored, lambda keys: fetch_rows(connection, keys)),
                    live,
                    lambda numbers: self._build(connection, numbers, state, rows=SAMPLE_ROWS),
                    checked,
                )
            except (FormatError, ValueError, IndexError, KeyError) as error:
                problem = f"it is damaged ({error})"
            if problem:
                checked.damaged.append(part_name(number))
                findings.append(
                    make_finding("part", f"index part {number}: {problem}; {PART_ADVICE}")
                )
            is_indexed[positions] = True
        checked.pending_chunks = int(live.chunks[~is_indexed].sum())
        return findings

    def reclaimable_bytes(self) -> int:
        """Return the size of deleted documents in parts: an estimate."""
        with self._connections.reading() as connection:
            state = self._read_state(connection)
            live = self._live_documents(connection, state.seq)
            with self._lock:
                stored = self._load(connection, state.parts)
            view = _located(live, stored, ())
            total = 0.0
            for part, entry in zip(stored, view.parts, strict=True):
                gone = 1 - entry.used_rows / max(1, entry.part.rows)
                if gone:
                    keys = part_keys(part.number)
                    (size,) = connection.execute(
                        "select coalesce(sum(length(data)), 0)::bigint from part_row"
                        " where key >= %s and key < %s",
                        (keys.start, keys.stop),
                    ).fetchone() or (0,)
                    total += size * gone
        return round(total)

    def release(self) -> None:
        """Drop all caches."""
        with self._lock:
            self._latest, self._delta, self._stored, self._vectors = None, (), {}, {}
            self._live = None
            self._cache.clear()

    def close(self) -> None:
        """Write pending documents, and clear all caches."""
        if self._pending_rows:
            with suppress(StoreError):
                self.flush()
        self.release()


def _located(live: LiveDocuments, stored: Sequence[StoredPart], delta: Sequence[Part]) -> View:
    names = tuple(part_name(part.number) for part in stored)
    return locate(live, (*(part.part for part in stored), *delta), manifest_parts=names)


def _merged(connection: Connection, group: MergeGroup, known: Mapping[int, StoredPart]) -> Part:
    """Return the part of a group, with all its arrays."""

    def fetch(keys: Sequence[int]) -> dict[int, bytes]:
        return fetch_rows(connection, keys)

    sources = [
        MergeSource(read_whole(known[id(part)], fetch) if id(part) in known else part, kept)
        for part, kept in group.sources
    ]
    if len(sources) == 1 and bool(sources[0].kept.all()):
        return sources[0].part
    return merge_parts(sources)


def _delete_parts(connection: Connection, numbers: Iterable[int]) -> None:
    for number in sorted(numbers):
        keys = part_keys(number)
        connection.execute("delete from index_part where part = %s", (number,))
        connection.execute(
            "delete from part_row where key >= %s and key < %s", (keys.start, keys.stop)
        )


def _verify(connection: Connection, parts: Sequence[StoredPart]) -> None:
    """Read all rows of some parts.

    Raises:
        DamagedPartError: If a row is missing or does not match its checksum.
    """
    for part in parts:
        check_cancelled()
        read_whole(part, lambda keys: fetch_rows(connection, keys))


def _batches(rows: Iterable[EncodedRow]) -> Iterator[list[EncodedRow]]:
    """Yield lists of rows of a few megabytes."""
    batch: list[EncodedRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.data)
        if size >= _INSERT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_live_documents(
    connection: Connection, *, seq: int, known: LiveDocuments | None
) -> LiveDocuments:
    """Return the live documents that a transaction sees.

    Args:
        connection: Connection inside a transaction that sees one state.
        seq: Sequence number of the last change that the transaction sees.
        known: Live documents after an earlier change, to which later changes are applied; None to
            read all. Ignored if it is newer than the transaction.
    """
    if known is not None and known.seq == seq:
        return known
    if known is None or not 0 < seq - known.seq <= _MAX_STEPS:
        known = _NO_DOCUMENTS
    changes = connection.execute(
        "select coalesce(array_agg(document) filter (where gone), '{}'),"
        " coalesce(max(seq) filter (where document < 0), %s) from change where seq > %s",
        (known.updated, known.seq),
    ).fetchone()
    gone, updated = changes if changes is not None else ((), known.updated)
    rows = connection.execute(
        "select number, chunks from document where number > %s order by number", (known.high,)
    ).fetchall()
    return later_documents(
        known,
        seq=seq,
        stays=~np.isin(known.numbers, np.array(gone, dtype=np.int64)),
        rows=rows,
        updated=updated,
    )


def read_indexed(
    connection: Connection, numbers: Sequence[int], *, dimension: int
) -> Iterator[IndexedDocument]:
    """Yield the indexed fields of some documents, ascending by number."""
    found = {row.number: row for row in read_rows(connection, numbers)}
    for number in numbers:
        row = found[number]
        chunks = read_chunks(connection, number)
        yield IndexedDocument(
            number=number,
            language=row.language,
            title_words=row.title_words,
            texts=tuple(chunk.text for chunk in chunks),
            searched=tuple(
                searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)
                for chunk in chunks
            ),
            tokens=tuple(chunk.tokens for chunk in chunks),
            sections=tuple(chunk.section for chunk in chunks),
            headers=tuple(map(searched_header, read_sections(connection, number))),
            vectors=read_vectors(connection, number, dimension=dimension) if dimension else None,
        )

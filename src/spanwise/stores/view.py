"""Live documents of one snapshot, and the index part of each.

Rules:
    `truth.db` alone decides which documents are live; parts do not change when a document is
    deleted.
    A document is searched in exactly one part: the first part that contains it. A live document in
        no part is reported as missing. So no document can be overlooked, even if other processes
        write parts at the same time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import find_places, run_indexes
from spanwise.errors import FormatError
from spanwise.stores.entries import unknown_handle
from spanwise.stores.part import Part
from spanwise.stores.row_checksums import MAX_NUMBER, POSITION_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_STEPS = 20_000  # after more changes, the whole table is read again


class LiveDocuments(NamedTuple):
    """The D documents that are live after a change of `truth.db`."""

    seq: int
    high: int
    """Highest document number ever assigned, as far as known."""
    numbers: NDArray[np.int64]
    """Document numbers, ascending, (D,)."""
    chunks: NDArray[np.int64]
    """Number of chunks of each document, (D,)."""
    updated: int
    """Sequence number of the last change of a record in place; 0 for none. Data of records that was
    read after another change must be read again."""


def read_live_documents(
    connection: sqlite3.Connection, *, known: LiveDocuments | None
) -> LiveDocuments:
    """Return the live documents that a transaction sees.

    Args:
        connection: Connection inside a read transaction.
        known: Live documents after an earlier change, to which later changes are applied; None to
            read all. Ignored if it is newer than the transaction.

    Raises:
        FormatError: If the table of documents is damaged.
    """
    (seq,) = connection.execute("select coalesce(max(seq), 0) from change").fetchone()
    if known is not None and known.seq == seq:
        return known
    if known is None or not 0 < seq - known.seq <= _MAX_STEPS:
        known = LiveDocuments(0, 0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0)
    stays = np.ones(len(known.numbers), dtype=bool)
    if len(stays):
        gone = connection.execute(
            "select document from change where seq > ? and gone", (known.seq,)
        ).fetchall()
        stays = ~np.isin(known.numbers, [number for (number,) in gone])
    (updated,) = connection.execute(
        "select coalesce(max(seq), ?) from change where seq > ? and document < 0",
        (known.updated, known.seq),
    ).fetchone()
    rows = connection.execute(
        "select number, chunks from document where number > ? order by number", (known.high,)
    ).fetchall()
    later = later_documents(known, seq=seq, stays=stays, rows=rows, updated=updated)
    if (later.numbers[-1:] >= MAX_NUMBER).any() or (later.chunks >> POSITION_BITS).any():
        raise _damaged_table()
    return later


def later_documents(
    known: LiveDocuments,
    *,
    seq: int,
    stays: NDArray[np.bool_],
    rows: Sequence[tuple[int, int]],
    updated: int,
) -> LiveDocuments:
    """Return the live documents after a later change.

    Args:
        known: Live documents after an earlier change.
        seq: Sequence number of the last change.
        stays: Whether each known document is still live.
        rows: Number and chunks of each document that was added since, ascending by number.
        updated: See `LiveDocuments.updated`.

    Raises:
        FormatError: If the rows are out of order or hold no numbers.
    """
    try:
        new = np.array(rows, dtype=np.int64).reshape(-1, 2)
        damaged = bool((np.diff(new[:, 0]) <= 0).any())
    except (ValueError, TypeError, OverflowError):
        damaged = True
    if damaged:
        raise _damaged_table()
    return LiveDocuments(
        seq,
        int(new[-1, 0]) if len(new) else known.high,
        np.concatenate((known.numbers[stays], new[:, 0])),
        np.concatenate((known.chunks[stays], new[:, 1])),
        updated,
    )


def _damaged_table() -> FormatError:
    return FormatError(
        "the table of documents is damaged: its rows are out of order, or contain invalid numbers; "
        "restore the knowledge base from a backup"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PartView:
    """Part with d documents as one snapshot sees it."""

    part: Part
    positions: NDArray[np.int64]
    """Position of each document among the live ones; -1 if it is not searched here, (d,)."""

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each document of the part is searched here, (d,)."""
        return self.positions >= 0

    @cached_property
    def whole(self) -> bool:
        """Whether all documents of the part are searched here."""
        return bool(self.used.all())

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the documents that are searched here, ascending."""
        starts = self.part.starts
        return run_indexes(starts[:-1][self.used], np.diff(starts)[self.used])

    @cached_property
    def used_words(self) -> NDArray[np.int64]:
        """Indexes of the words of the documents that are searched here, ascending."""
        words = self.part.words
        return words.distinct(words.entries_of(np.flatnonzero(self.used)))

    @cached_property
    def used_rows(self) -> int:
        """Number of rows of the documents that are searched here."""
        return int(np.diff(self.part.starts)[self.used].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """Index of one snapshot: the D live documents, each in at most one part."""

    live: LiveDocuments
    manifest_parts: tuple[str, ...]
    """File names of the parts in the manifest, which precede the parts in memory in `parts`."""
    parts: tuple[PartView, ...]
    part_of: NDArray[np.int64]
    """Index into `parts` of the part of each document; -1 if no part has it, (D,)."""
    ordinals: NDArray[np.int64]
    """Ordinal of each document in its part, (D,)."""

    @cached_property
    def all_chunks(self) -> int:
        """Number of live chunks."""
        return int(self.live.chunks.sum())

    @property
    def all_documents(self) -> int:
        """Number of live documents."""
        return len(self.live.numbers)

    @cached_property
    def missing(self) -> NDArray[np.int64]:
        """Positions of the documents that are in no part, ascending."""
        return np.flatnonzero(self.part_of < 0)


def locate(live: LiveDocuments, parts: Sequence[Part], *, manifest_parts: tuple[str, ...]) -> View:
    """Return the view in which each live document is searched in the first part that has it.

    A part is not used for a document if their numbers of chunks differ. The document then counts as
    missing, and is verified when it is rebuilt.
    """
    part_of = np.full(len(live.numbers), -1, dtype=np.int64)
    ordinals = np.zeros(len(live.numbers), dtype=np.int64)
    views = []
    for index, part in enumerate(parts):
        positions = _positions(live.numbers, part.numbers, free=part_of < 0)
        if len(live.numbers):
            differs = live.chunks[positions] != np.diff(part.starts)
            positions[differs] = -1
        used = np.flatnonzero(positions >= 0)
        part_of[positions[used]] = index
        ordinals[positions[used]] = used
        views.append(PartView(part=part, positions=positions))
    return View(
        live=live,
        manifest_parts=manifest_parts,
        parts=tuple(views),
        part_of=part_of,
        ordinals=ordinals,
    )


def with_parts(view: View, parts: Sequence[Part]) -> View:
    """Return a view with other contents of its parts, which hold the same documents."""
    views = []
    for entry, part in zip(view.parts, parts, strict=True):
        if part is entry.part:
            views.append(entry)
            continue
        replaced = PartView(part=part, positions=entry.positions)
        replaced.__dict__.update(used=entry.used, whole=entry.whole)  # computed once for a view
        if not entry.whole:
            replaced.__dict__.update(rows=entry.rows)
        views.append(replaced)
    return replace(view, parts=tuple(views))


def _positions(
    live: NDArray[np.int64], numbers: NDArray[np.int64], *, free: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the position of each document number in `live`; -1 if it is absent or not free."""
    if not len(live):
        return np.full(len(numbers), -1, dtype=np.int64)
    positions = np.searchsorted(live, numbers)
    positions[positions == len(live)] = 0
    return np.where((live[positions] == numbers) & free[positions], positions, -1)


def check_handle(view: View, handle: int) -> None:
    """Check that the snapshot has a document; faster than `find_positions` for one document.

    Raises:
        DocumentNotFoundError: If the snapshot has no document with this handle.
    """
    numbers = view.live.numbers
    position = numbers.searchsorted(handle)
    if position == len(numbers) or numbers[position] != handle:
        raise unknown_handle(handle)


def find_positions(view: View, handles: Sequence[int]) -> NDArray[np.int64]:
    """Return the positions of documents among the live documents, in the order of the handles.

    Raises:
        DocumentNotFoundError: If the snapshot has no document with one of the handles.
    """
    positions = find_places(view.live.numbers, np.array(handles, dtype=np.int64))
    if (positions < 0).any():
        raise unknown_handle(handles[int(positions.argmin())])
    return positions

"""SQL reads and writes of landmark signals: one row per document and landmark.

A row has one number per chunk. Connections are used by the rules of the module `database`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.scan import range_signals
from spanwise.stores.row_checksums import (
    chunk_keys,
    damaged_document,
    read_numbered,
    seal_contents,
    signal_checksum,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import PassageRange


_STORED = np.dtype("<f2")
_TEXT = 4  # column of `chunk`


def insert_signals(
    connection: sqlite3.Connection, number: int, signals: Mapping[str, NDArray[np.float16]]
) -> None:
    """Insert the signals of a document, which must have none yet."""
    rows = [
        (number, landmark, np.ascontiguousarray(signals[landmark], dtype=_STORED).tobytes())
        for landmark in sorted(signals)
    ]
    connection.executemany(
        "insert into signal (document, landmark, data, checksum) values (?, ?, ?, ?)",
        [(*row, signal_checksum(*row)) for row in rows],
    )


def delete_signals(connection: sqlite3.Connection, number: int) -> None:
    """Delete the signals of a document."""
    connection.execute("delete from signal where document = ?", (number,))


def renew_signals(
    connection: sqlite3.Connection,
    make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]],
) -> None:
    """Recompute the signals of all documents from the texts of their chunks.

    Raises:
        FormatError: If the texts or the record of a document are damaged.
    """
    connection.execute("delete from signal")
    numbers = connection.execute("select number from document order by number").fetchall()
    for (number,) in numbers:
        keys = chunk_keys(number)
        rows = connection.execute(
            "select * from chunk where key >= ? and key < ? order by key", (keys.start, keys.stop)
        )
        chunks = read_numbered(connection, number, "chunk", rows, places=keys)
        insert_signals(connection, number, make([chunk[_TEXT] for chunk in chunks]))
        seal_contents(connection, number, "signal")


def read_signals(
    connection: sqlite3.Connection, ranges: Sequence[PassageRange], landmarks: Sequence[str]
) -> NDArray[np.float32]:
    """Return the signals of landmarks for the chunks of some ranges, (landmarks, n).

    A signal is 0 if the document lacks the landmark.

    Raises:
        FormatError: If a signal is damaged.
    """
    rows = connection.execute(
        "select document, landmark, data, checksum from signal where document in"
        " (select value from json_each(?)) and landmark in (select value from json_each(?))",
        (json.dumps(sorted({span.handle for span in ranges})), json.dumps(list(landmarks))),
    )
    needed: dict[int, int] = {}
    for span in ranges:
        needed[span.handle] = max(span.end, needed.get(span.handle, 0))
    signals: dict[int, dict[str, NDArray[np.float16]]] = {}
    for number, landmark, data, recorded in rows:
        if signal_checksum(number, landmark, data) != recorded:
            raise damaged_document(number, f"the signal {landmark!r}")
        if len(data) % _STORED.itemsize or len(data) < needed[number] * _STORED.itemsize:
            raise damaged_document(number, f"the signal {landmark!r}", "lacks chunks")
        signals.setdefault(number, {})[landmark] = np.frombuffer(data, dtype=_STORED)
    return range_signals(ranges, landmarks, signals)


def all_signals(connection: sqlite3.Connection, number: int) -> dict[str, NDArray[np.float16]]:
    """Return all signals of a document by landmark.

    Raises:
        FormatError: If a signal is damaged.
    """
    rows = connection.execute(
        "select landmark, data, checksum from signal where document = ?", (number,)
    ).fetchall()
    for landmark, data, recorded in rows:
        if signal_checksum(number, landmark, data) != recorded:
            raise damaged_document(number, f"the signal {landmark!r}")
    return {landmark: np.frombuffer(data, dtype=_STORED) for landmark, data, _ in rows}


def list_signals(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the sorted landmarks of each document with signals, by document id."""
    rows = connection.execute(
        "select id, landmark from signal join document on number = document order by id, landmark"
    )
    found: dict[str, list[str]] = {}
    for document_id, landmark in rows:
        found.setdefault(document_id, []).append(landmark)
    return {document_id: tuple(landmarks) for document_id, landmarks in found.items()}

"""SQL reads and writes of landmark signals in PostgreSQL: one row per document and landmark.

A row has one number per chunk, in half precision. Connections are used by the rules of the module
`documents`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.scan import range_signals
from spanwise.stores.postgres.values import bigints, byte_strings, texts
from spanwise.stores.row_checksums import POSITION_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import PassageRange
    from spanwise.stores.postgres.connections import Connection

_STORED = np.dtype("<f2")


def insert_signals(
    connection: Connection,
    number: int,
    signals: Mapping[str, NDArray[np.float16]],
    *,
    tenant: str,
) -> None:
    """Insert the signals of a document, which must have none yet."""
    if not signals:
        return
    landmarks = sorted(signals)
    data = [np.ascontiguousarray(signals[name], dtype=_STORED).tobytes() for name in landmarks]
    connection.execute(
        "insert into signal (document, tenant, landmark, data)"
        " select %s, %s, * from unnest(%s::text[], %s::bytea[])",
        (number, tenant, texts(landmarks), byte_strings(data)),
    )


def renew_signals(
    connection: Connection, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
) -> None:
    """Recompute the signals of all documents from the texts of their chunks."""
    connection.execute("delete from signal")
    documents = connection.execute("select number, tenant from document order by number")
    for number, tenant in documents.fetchall():
        base = number << POSITION_BITS
        rows = connection.execute(
            "select text from chunk where key >= %s and key < %s order by key",
            (base, base + (1 << POSITION_BITS)),
        )
        insert_signals(connection, number, make([text for (text,) in rows]), tenant=tenant)


def read_signals(
    connection: Connection, ranges: Sequence[PassageRange], landmarks: Sequence[str]
) -> NDArray[np.float32]:
    """Return the signals of landmarks for the chunks of some ranges, (landmarks, n).

    A signal is 0 if the document lacks the landmark.
    """
    rows = connection.execute(
        "select document, landmark, data from signal"
        " where document = any(%s::bigint[]) and landmark = any(%s::text[])",
        (bigints(sorted({span.handle for span in ranges})), texts(list(landmarks))),
    )
    signals: dict[int, dict[str, NDArray[np.float16]]] = {}
    for number, landmark, data in rows:
        signals.setdefault(number, {})[landmark] = np.frombuffer(data, dtype=_STORED)
    return range_signals(ranges, landmarks, signals)


def all_signals(connection: Connection, number: int) -> dict[str, NDArray[np.float16]]:
    """Return all signals of a document by landmark."""
    rows = connection.execute("select landmark, data from signal where document = %s", (number,))
    return {landmark: np.frombuffer(data, dtype=_STORED) for landmark, data in rows}


def list_signals(connection: Connection) -> dict[str, tuple[str, ...]]:
    """Return the sorted landmarks of each document with signals, by document id."""
    rows = connection.execute(
        "select id, landmark from signal join document on number = document"
    ).fetchall()
    found: dict[str, list[str]] = {}
    for document_id, landmark in sorted(rows):
        found.setdefault(document_id, []).append(landmark)
    return {document_id: tuple(landmarks) for document_id, landmarks in found.items()}

"""Integrity checks of the documents, conversations and model outputs in `truth.db`.

The checks use a connection inside a read transaction and change nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import numpy as np

from spanwise.core.documents.versions import text_hash
from spanwise.errors import FormatError
from spanwise.filters import items_of
from spanwise.stores.conversations import read_thread, thread_ids
from spanwise.stores.database import read_former_fields
from spanwise.stores.outputs import damaged_outputs
from spanwise.stores.row_checksums import POSITION_BITS, DocumentRow, differing_contents, stored_row
from spanwise.threads import check_cancelled
from spanwise.types import CheckCode, CheckFinding, DocumentStatus

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_LISTED = 5
_UNIT_TOLERANCE = 0.01  # vectors are rounded to half precision
_HALF_BYTES = 2
_BLOCK_ROWS = 2_048
_RESTORE = "restore the knowledge base from a backup"
_OWNER = f"(key >> {POSITION_BITS})"
_ORPHAN_TABLES = {
    "chunk": _OWNER,
    **dict.fromkeys(
        ("section", "page", "heading", "block", "figure", "signal", "vector"), "document"
    ),
}
"""Tables with rows of documents, and the SQL expression of the document number."""


def make_finding(
    code: CheckCode, message: str, *, document_id: str = "", repaired: bool = False
) -> CheckFinding:
    """Return a finding."""
    return CheckFinding(code=code, document_id=document_id, message=message, repaired=repaired)


@dataclass(slots=True)
class CheckCounts:
    """Numbers of documents, chunks and characters that were checked."""

    documents: int = 0
    chunks: int = 0
    chars: int = 0
    damaged: set[int] = field(default_factory=set)
    """Numbers of documents with findings."""


def check_database(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    """Yield damage of the database file, and defects of the change log, rows and conversations."""
    try:
        messages = [
            row[0] for row in connection.execute(f"pragma integrity_check({_MAX_LISTED:d})")
        ]
        if messages != ["ok"]:
            yield make_finding(
                "database", f"SQLite finds damage: {'; '.join(messages)}; {_RESTORE}"
            )
        yield from _check_changes(connection)
        yield from _check_orphans(connection)
        yield from _check_threads(connection)
        yield from _check_outputs(connection)
        yield from _check_former_fields(connection)
    except sqlite3.DatabaseError as error:
        yield make_finding("database", f"truth.db cannot be read ({error}); {_RESTORE}")


def _check_changes(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    """Check that the log has one addition and no deletion of each document, and valid stamps."""
    rows = connection.execute(
        "select id, total(gone = 0), total(gone) from document left join change"
        " on change.document = number group by number having total(gone = 0) != 1 or total(gone)"
    )
    for document_id, came, gone in rows:
        yield make_finding(
            "changes",
            f"the change log has {came:.0f} additions and {gone:.0f} deletions of {document_id!r}, "
            "so other processes may not see it; remove it and add it again",
            document_id=document_id,
        )
    (odd,) = connection.execute(
        "select count(*) from change where length(stamp) != 8 or typeof(stamp) != 'blob'"
    ).fetchone()
    if odd:
        yield make_finding("changes", f"{odd} changes have no stamp of 8 bytes; {_RESTORE}")


def _check_former_fields(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    try:
        read_former_fields(connection)
    except FormatError as error:
        yield make_finding("settings", str(error))


def _check_orphans(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    for table, owner in _ORPHAN_TABLES.items():
        rows = connection.execute(
            f"select {owner}, count(*) from {table} where {_orphaned(owner)} group by 1"  # noqa: S608
        ).fetchall()
        if rows:
            numbers = ", ".join(str(number) for number, _ in rows[:_MAX_LISTED])
            yield make_finding(
                "orphans",
                f"{sum(row[1] for row in rows)} rows of `{table}` belong to no document (number "
                f"{numbers}): the row of a document is lost; {_RESTORE}, or add that document "
                "again and let a repair delete these rows",
            )


def delete_orphans(connection: sqlite3.Connection) -> None:
    """Delete the rows that belong to no document; the connection is in a write transaction."""
    for table, owner in _ORPHAN_TABLES.items():
        connection.execute(f"delete from {table} where {_orphaned(owner)}")  # noqa: S608


def _orphaned(owner: str) -> str:
    # Table and column names cannot be SQL parameters; all are constants of this module.
    return f"not exists (select 1 from document where number = {owner})"  # noqa: S608


def _check_threads(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    """Check that every turn of every conversation exists and is readable."""
    for thread_id in thread_ids(connection):
        try:
            read_thread(connection, thread_id)
        except FormatError as error:
            yield make_finding("threads", str(error))
    (lost,) = connection.execute(
        "select count(*) from turn where thread not in (select number from thread)"
    ).fetchone()
    if lost:
        yield make_finding(
            "threads", f"{lost} rows of `turn` belong to no conversation; {_RESTORE}"
        )


def _check_outputs(connection: sqlite3.Connection) -> Iterator[CheckFinding]:
    """Check that every cached model output matches its checksum."""
    damaged = damaged_outputs(connection)
    if damaged:
        yield make_finding(
            "outputs",
            f"{len(damaged)} cached model outputs differ from their checksums; a repair deletes "
            "them, and the models are called again",
        )


def check_documents(
    connection: sqlite3.Connection, checked: CheckCounts, *, dimension: int | None
) -> Iterator[CheckFinding]:
    """Yield the defects of the documents, from the oldest to the newest document.

    Args:
        connection: Connection inside a read transaction.
        checked: Counts that are increased.
        dimension: Dimension of the vectors; None if unknown.
    """
    try:
        numbers = [row[0] for row in connection.execute("select number from document order by 1")]
    except sqlite3.DatabaseError as error:
        yield make_finding("database", f"the documents cannot be listed ({error}); {_RESTORE}")
        return
    for number in numbers:
        check_cancelled()
        checked.documents += 1
        for finding in _check_document(connection, number, checked, dimension=dimension):
            checked.damaged.add(number)
            yield finding


def _check_document(
    connection: sqlite3.Connection, number: int, checked: CheckCounts, *, dimension: int | None
) -> Iterator[CheckFinding]:
    row = None
    try:
        row = stored_row(connection, number)
        problems = _problems(connection, row, checked, dimension=dimension)
        for code, problem in problems.items():
            yield make_finding(code, f"{row.id!r}: {problem}; {_advice(row)}", document_id=row.id)
    except (sqlite3.DatabaseError, ArithmeticError, ValueError, TypeError) as error:
        if row is None:
            message = f"the record of document number {number} cannot be read ({error}); {_RESTORE}"
            yield make_finding("record", message)
        else:
            message = f"{row.id!r} cannot be read ({error}); {_advice(row)}"
            yield make_finding("record", message, document_id=row.id)


def _advice(row: DocumentRow) -> str:
    """Return the advice for a damaged document: remove it first, or `add` would skip its source."""
    source = f"from {row.source}" if row.source else "with its text"
    return f"remove the document and add it again {source}, or {_RESTORE}"


def _problems(
    connection: sqlite3.Connection, row: DocumentRow, checked: CheckCounts, *, dimension: int | None
) -> dict[CheckCode, str]:
    """Return the first defect of each kind in a document."""
    sections = connection.execute(
        "select position, start, end, path from section where document = ? order by position",
        (row.number,),
    ).fetchall()
    pages = connection.execute(
        "select position, start, end from page where document = ? order by position",
        (row.number,),
    ).fetchall()
    bounds = [(start, end) for _, start, end, _ in sections]
    by_code: dict[CheckCode, str] = {
        "record": _record_problem(row)
        or _layout_problem(connection, row)
        or _signal_problem(connection, row),
        "chunks": "",
        "text": "",
        "sections": _section_problem(sections, row.chars),
        "pages": _page_problem(pages, row),
        "vectors": "" if dimension is None else _vector_problem(connection, row, dimension),
    }
    texts, by_code["chunks"] = _read_chunks(connection, row, bounds)
    checked.chunks += len(texts)
    checked.chars += sum(map(len, texts))
    if not by_code["chunks"] and text_hash(texts) != row.text_hash:
        by_code["text"] = "its text is not the one that was stored (its hash differs)"
    problems = {code: problem for code, problem in by_code.items() if problem}
    differing = differing_contents(connection, row)
    if differing and not problems:
        problems["checksum"] = (
            f"its stored data ({', '.join(differing)}) differ from their checksums"
        )
    return problems


def _record_problem(row: DocumentRow) -> str:
    fields = json.loads(row.metadata)
    if not isinstance(fields, dict) or not all(
        isinstance(item, str | int | float) for value in fields.values() for item in items_of(value)
    ):
        return f"its metadata {row.metadata!r} are not an object of scalars and lists of them"
    warnings = json.loads(row.warnings)
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        return f"its warnings {row.warnings!r} are not a list of texts"
    if row.status not in get_args(DocumentStatus):
        return f"its status {row.status!r} is none of {', '.join(get_args(DocumentStatus))}"
    return ""


def _layout_problem(connection: sqlite3.Connection, row: DocumentRow) -> str:
    for table in ("heading", "block"):
        # Table names cannot be SQL parameters; both are constants.
        (outside,) = connection.execute(
            f"select count(*) from {table} where document = ?"  # noqa: S608
            " and not (0 <= start and start < end and end <= ?)",
            (row.number, row.chars),
        ).fetchone()
        if outside:
            return f"{outside} rows of `{table}` are outside of its {row.chars} characters"
    return ""


def _signal_problem(connection: sqlite3.Connection, row: DocumentRow) -> str:
    """Return the defect of a document's signals, which have one two-byte number per chunk."""
    odd = connection.execute(
        "select landmark, length(data) from signal where document = ? and length(data) != ?"
        " order by landmark",
        (row.number, row.chunks * _HALF_BYTES),
    ).fetchone()
    return (
        "" if odd is None else f"its signal {odd[0]!r} has {odd[1]} bytes for {row.chunks} chunks"
    )


def _section_problem(sections: Sequence[tuple[int, int, int, str]], chars: int) -> str:
    place = 0
    for index, (position, start, end, path) in enumerate(sections):
        if position != index or start != place or end <= start:
            return f"section {index} is missing, empty, or does not start at character {place}"
        titles = json.loads(path)
        if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
            return f"the path {path!r} of section {index} is not a list of titles"
        place = end
    return "" if place == chars else f"its sections end at {place}, and its text at {chars}"


def _page_problem(pages: Sequence[tuple[int, int, int]], row: DocumentRow) -> str:
    if len(pages) != row.pages:
        return f"{len(pages)} of its {row.pages} pages are there"
    for index, (position, start, end) in enumerate(pages):
        if position != index or not 0 <= start <= end <= row.chars:
            return f"page {index + 1} is missing, or outside of its {row.chars} characters"
    return ""


def _read_chunks(
    connection: sqlite3.Connection, row: DocumentRow, bounds: Sequence[tuple[int, int]]
) -> tuple[list[str], str]:
    """Return the texts of the chunks of a document, and their first defect."""
    base = row.number << POSITION_BITS
    rows = connection.execute(
        "select key, section, start, tokens, text from chunk where key >= ? and key < ?"
        " order by key",
        (base, base + (1 << POSITION_BITS)),
    )
    texts: list[str] = []
    problem = ""
    place = tokens = 0
    for key, section, start, size, text in rows:
        end = place + len(text)
        if key - base != len(texts) or start != place or not text or not isinstance(text, str):
            problem = problem or f"chunk {len(texts)} is missing, no text, or not at {place}"
        elif not 0 <= section < len(bounds):
            problem = problem or f"chunk {len(texts)} is of section {section}, which is missing"
        elif not bounds[section][0] <= start < end <= bounds[section][1]:
            problem = problem or f"chunk {len(texts)} is not inside of its section {section}"
        elif size < 1:
            problem = problem or f"chunk {len(texts)} has {size} tokens"
        place, tokens = end, tokens + size
        texts.append(text)
    actual, expected = (len(texts), place, tokens), (row.chunks, row.chars, row.tokens)
    if not problem and actual != expected:
        problem = f"its chunks, characters and tokens are {actual}, expected {expected}"
    return texts, problem


def _vector_problem(connection: sqlite3.Connection, row: DocumentRow, dimension: int) -> str:
    stored = connection.execute(
        "select data from vector where document = ?", (row.number,)
    ).fetchone()
    if not dimension:
        return "it has vectors, and the knowledge base has none" if stored else ""
    if stored is None:
        return "its vectors are missing"
    expected = row.chunks * dimension * _HALF_BYTES
    if len(stored[0]) != expected:
        return f"its vectors have {len(stored[0])} bytes, expected {expected}"
    halves: NDArray[np.float16] = np.frombuffer(stored[0], dtype="<f2").reshape(-1, dimension)
    for first in range(0, len(halves), _BLOCK_ROWS):
        rows = halves[first : first + _BLOCK_ROWS].astype(np.float32)
        if not np.isfinite(rows).all():
            return "its vectors contain values that are not finite"
        lengths = np.sqrt((rows * rows).sum(axis=1))
        if not ((np.abs(lengths - 1) < _UNIT_TOLERANCE) | (lengths == 0)).all():
            return "its vectors are not of unit length"
    return ""

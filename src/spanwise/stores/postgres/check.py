"""Integrity check of the documents and conversations of a knowledge base in PostgreSQL.

The checks use one read transaction and change nothing. Damage below the rows is found by the server
(data checksums, `pg_amcheck`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spanwise.core.documents.versions import text_hash
from spanwise.errors import FormatError
from spanwise.stores.check import make_finding
from spanwise.stores.doctor import IndexCheck
from spanwise.stores.postgres.conversations import read_thread, read_threads
from spanwise.stores.postgres.documents import DocumentRow, read_chunks, read_row, read_sections
from spanwise.stores.postgres.schema import DOCUMENT_TABLES
from spanwise.stores.postgres.settings import read_settings
from spanwise.stores.row_checksums import POSITION_BITS
from spanwise.threads import check_cancelled
from spanwise.types import CheckReport

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection, PostgresConnections
    from spanwise.stores.postgres.index import PostgresIndex
    from spanwise.types import CheckFinding

_RESTORE = "restore the knowledge base from a backup"
_ADD_AGAIN = "remove it and add it again"
_MAX_LISTED = 5


@dataclass(slots=True)
class CheckCounts:
    """Numbers of documents, chunks and characters that were checked."""

    documents: int = 0
    chunks: int = 0
    chars: int = 0


def check_documents(
    connection: Connection, counts: CheckCounts, *, tenant: str
) -> Iterator[CheckFinding]:
    """Yield the defects of documents and conversations.

    Args:
        connection: Connection inside a read transaction.
        counts: Counts to which those of the documents are added.
        tenant: Tenant of the transaction; empty for none.
    """
    yield from _check_orphans(connection)
    yield from _check_changes(connection)
    yield from _check_threads(connection, tenant=tenant)
    dimension = int(read_settings(connection).get("dimension", "0"))
    numbers = connection.execute("select number from document order by number").fetchall()
    for (number,) in numbers:
        check_cancelled()
        row = read_row(connection, number)
        if row is not None:
            counts.documents += 1
            counts.chunks += row.chunks
            counts.chars += row.chars
            yield from _check_document(connection, row, dimension=dimension)


def _check_document(
    connection: Connection, row: DocumentRow, *, dimension: int
) -> Iterator[CheckFinding]:
    """Yield the defects of one document."""

    def found(code: Any, message: str) -> CheckFinding:
        text = f"{message} of {row.id!r}; {_ADD_AGAIN}"
        return make_finding(code, text, document_id=row.id)

    chunks = read_chunks(connection, row.number)
    starts = [chunk.start for chunk in chunks]
    ends = [chunk.end for chunk in chunks]
    if len(chunks) != row.chunks or starts != [0, *ends[:-1]] or ends[-1:] != [row.chars]:
        yield found("chunks", "the chunks do not add up to the text")
    elif text_hash(chunk.text for chunk in chunks) != row.text_hash:
        yield found("text", "the text differs from its hash")
    sections = read_sections(connection, row.number)
    section_ends = [section.end for section in sections]
    is_partition = [section.start for section in sections] == [0, *section_ends[:-1]]
    if not is_partition or section_ends[-1:] != [row.chars]:
        yield found("sections", "the sections do not partition the text")
    base = row.number << POSITION_BITS
    vectors = connection.execute(
        "select count(*), count(distinct vector_dims(embedding)), "
        "coalesce(max(vector_dims(embedding)), 0) from vector"
        " where key >= %s and key < %s",
        (base, base + (1 << POSITION_BITS)),
    ).fetchone()
    expected = (row.chunks, 1, dimension) if dimension else (0, 0, 0)
    if vectors != expected:
        yield found("vectors", f"vectors are missing, or have not {dimension} dimensions: those")
    pages = connection.execute(
        "select count(*), coalesce(max(stop), 0) from page where document = %s", (row.number,)
    ).fetchone()
    if pages is None or pages[0] != row.pages or pages[1] > row.chars:
        yield found("pages", "pages are missing or outside of the text: those")


def _check_orphans(connection: Connection) -> Iterator[CheckFinding]:
    """Yield a finding for each table with rows that belong to no document."""
    owners = {**dict.fromkeys(DOCUMENT_TABLES, "document"), "vector": "document"}
    owners["chunk"] = f"(key >> {POSITION_BITS})"
    for table, owner in owners.items():
        rows = connection.execute(
            # Names cannot be parameters; all are constants.
            f"select distinct {owner} from {table}"  # noqa: S608
            f" where not exists (select from document where number = {owner})"
        ).fetchall()
        if rows:
            numbers = ", ".join(str(number) for (number,) in rows[:_MAX_LISTED])
            yield make_finding(
                "orphans",
                f"rows of `{table}` belong to no document (number {numbers}): the row of a "
                f"document is lost; {_RESTORE}",
            )


def _check_changes(connection: Connection) -> Iterator[CheckFinding]:
    """Yield a finding for each document that the log of changes does not contain once."""
    rows = connection.execute(
        "select id, count(*) filter (where not gone), count(*) filter (where gone)"
        " from document left join change on change.document = number group by number, id"
        " having count(*) filter (where not gone) <> 1 or count(*) filter (where gone) > 0"
    )
    for document_id, came, gone in rows:
        yield make_finding(
            "changes",
            f"the change log has {came} additions and {gone} deletions of {document_id!r}, so "
            f"other processes may not see it; {_ADD_AGAIN}",
            document_id=document_id,
        )


def _check_threads(connection: Connection, *, tenant: str) -> Iterator[CheckFinding]:
    for info in read_threads(connection, tenant=tenant):
        try:
            read_thread(connection, info.id, tenant=tenant)
        except FormatError as error:
            yield make_finding("threads", str(error))


def check_store(
    connections: PostgresConnections, index: PostgresIndex, *, repair: bool
) -> CheckReport:
    """Return the defects of a knowledge base, and repair those of the index.

    Args:
        connections: Connections to the knowledge base.
        index: Its search index.
        repair: Whether to rebuild damaged parts of the index.
    """
    began = time.monotonic()
    counts = CheckCounts()
    with connections.reading() as connection:
        findings = list(check_documents(connection, counts, tenant=connections.address.tenant))
    parts = IndexCheck()
    findings += index.check(parts, repair=repair)
    return CheckReport(
        path=connections.address.name,
        documents=counts.documents,
        chunks=counts.chunks,
        chars=counts.chars,
        index_parts=parts.parts,
        index_chunks=parts.chunks,
        pending_chunks=parts.pending_chunks,
        findings=tuple(findings),
        seconds=time.monotonic() - began,
    )

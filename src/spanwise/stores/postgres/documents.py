"""SQL reads and writes of documents in PostgreSQL.

Every function uses a connection inside a transaction of `PostgresConnections`. Functions that write
need a write transaction that holds the lock of documents (`lock_documents`).

A document is written by a fixed number of statements, whatever its size: the rows of a table are
parameters of one insert, as arrays. They are sent together (pipeline), in one round trip.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.filters import filter_fields
from spanwise.stores.document_values import (
    document_of,
    entry_values,
    read_fields,
    record_of,
)
from spanwise.stores.port import DocumentEntry
from spanwise.stores.postgres.fields import add_former_fields, insert_fields
from spanwise.stores.postgres.schema import DOCUMENT_TABLES
from spanwise.stores.postgres.settings import SETTINGS
from spanwise.stores.postgres.signals import all_signals, insert_signals
from spanwise.stores.postgres.values import (
    bigints,
    booleans,
    half_vectors,
    read_half_vectors,
    texts,
)
from spanwise.stores.row_checksums import POSITION_BITS, chunk_keys
from spanwise.types import (
    Block,
    Chunk,
    Document,
    DocumentRecord,
    Figure,
    Heading,
    Page,
    Section,
)
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.postgres.connections import Connection

TENANT_FIELD = "tenant"
"""Metadata field with the tenant of a document."""

_Item = TypeVar("_Item")
_BATCH_ROWS = 2_000  # chunks per statement
_MAX_INDEX = (1 << POSITION_BITS) - 1
_COLUMNS = (
    "number, tenant, id, title, summary, title_words, given_title, metadata::text, media_type,"
    " source, source_root, content_hash, text_hash, warnings, chars, chunks, tokens, pages,"
    " given_fields, language, status, recipe, changed"
)


_FIND = (
    f"select {_COLUMNS} from document where id = %s"  # noqa: S608 - constants
    " and tenant = coalesce(%s, tenant) order by tenant limit 1"
)
_NEXT_NUMBER = "select nextval('document_number')"


class DocumentRow(NamedTuple):
    """Row of the table `document`; fields are in the order of its columns."""

    number: int
    tenant: str
    id: str
    title: str
    summary: str
    title_words: str
    given_title: str
    metadata: str
    media_type: str
    source: str
    source_root: str
    content_hash: str
    text_hash: str
    warnings: str
    chars: int
    chunks: int
    tokens: int
    pages: int
    given_fields: str
    language: str
    status: str
    recipe: str
    changed: int

    def record(self) -> DocumentRecord:
        """Return the record of the document."""
        return record_of(self)

    @property
    def version(self) -> str:
        """Text that changes with any change of the document."""
        return f"{self.number} {self.changed}"


def tenant_of(metadata: Any) -> str:
    """Return the tenant that metadata name; empty for none."""
    value = metadata.get(TENANT_FIELD)
    return value if isinstance(value, str) else ""


def find_row(
    connection: Connection, document_id: str, *, tenant: str | None = None
) -> DocumentRow | None:
    """Return the row of a document, or None.

    Tenants may use the same id. A transaction that sees several of them gets the document without a
    tenant, or that of the first tenant.

    Args:
        connection: Connection inside a transaction.
        document_id: Id of the document.
        tenant: Tenant of the document; None for any.
    """
    try:
        row = connection.execute(_FIND, (document_id, tenant)).fetchone()
    except UnicodeEncodeError:  # lone surrogate: no document has such an id
        return None
    return None if row is None else DocumentRow._make(row)


class WriteState(NamedTuple):
    """State of the store at the start of a transaction that writes a document."""

    settings: dict[str, str]
    """All recorded settings."""
    row: DocumentRow | None
    """Row of the stored document with the same id."""
    number: int
    """Number for the new document, which was never used."""


def start_write(connection: Connection, document_id: str, *, tenant: str, lock: int) -> WriteState:
    """Take the lock of documents, and read the state for a write, in one round trip.

    Args:
        connection: Connection inside a write transaction.
        document_id: Id of the document to write.
        tenant: Tenant of the document to write.
        lock: Key of the lock of documents.
    """
    with connection.pipeline():
        connection.execute("select pg_advisory_xact_lock(%s)", (lock,))
        recorded = connection.execute(SETTINGS)
        found = connection.execute(_FIND, (document_id, tenant))
        drawn = connection.execute(_NEXT_NUMBER)
    row, number = found.fetchone(), drawn.fetchone()
    assert number is not None  # noqa: S101 - a select without a table returns one row
    return WriteState(
        dict(recorded.fetchall()),
        None if row is None else DocumentRow._make(row),
        int(number[0]),
    )


def read_row(connection: Connection, number: int) -> DocumentRow | None:
    """Return the row of the document with this number, or None."""
    row = connection.execute(
        f"select {_COLUMNS} from document where number = %s",  # noqa: S608 - constants
        (number,),
    ).fetchone()
    return None if row is None else DocumentRow._make(row)


def read_rows(
    connection: Connection, numbers: Sequence[int] | NDArray[np.int64] | None = None
) -> list[DocumentRow]:
    """Return the rows of some documents, or of all of them, ordered by id."""
    if numbers is None:
        cursor = connection.execute(f"select {_COLUMNS} from document")  # noqa: S608 - constants
    else:
        cursor = connection.execute(
            f"select {_COLUMNS} from document where number = any(%s::bigint[])",  # noqa: S608
            (bigints(numbers),),
        )
    return sorted(map(DocumentRow._make, cursor), key=lambda row: (row.id, row.tenant))


def next_number(connection: Connection) -> int:
    """Return the next document number, which was never used; the lock of documents is held."""
    row = connection.execute(_NEXT_NUMBER).fetchone()
    assert row is not None  # noqa: S101 - a select without a table returns one row
    return int(row[0])


def insert_rows(
    connection: Connection, entry: DocumentEntry, number: int, *, tenant: str, halfvec_oid: int
) -> None:
    """Insert a document.

    Args:
        connection: Connection inside a write transaction that holds the lock of documents.
        entry: Document.
        number: Number for the document (`WriteState.number`).
        tenant: Tenant of the document.
        halfvec_oid: OID of the type `halfvec`.

    Raises:
        UnicodeEncodeError: If a text contains a lone surrogate.
    """
    with connection.pipeline():
        _insert_document(connection, entry, number=number, tenant=tenant)
        insert_fields(
            connection,
            number,
            filter_fields(
                entry.document.metadata,
                title=entry.title,
                language=entry.language,
                status=entry.document.status,
            ),
            tenant=tenant,
        )
        _insert_sections(connection, number, entry.sections, tenant=tenant)
        _insert_layout(connection, number, entry.document, tenant=tenant)
        for first in range(0, len(entry.chunks), _BATCH_ROWS):
            batch = slice(first, first + _BATCH_ROWS)
            _insert_chunks(connection, number, entry.chunks[batch], tenant=tenant)
            if entry.vectors is not None:
                vectors = entry.vectors[batch]
                _insert_vectors(
                    connection, number, first, vectors, tenant=tenant, halfvec_oid=halfvec_oid
                )
        insert_signals(connection, number, entry.signals, tenant=tenant)


def _insert_document(
    connection: Connection, entry: DocumentEntry, *, number: int, tenant: str
) -> None:
    connection.execute(
        "insert into document (number, tenant, id, title, summary, title_words, given_title,"
        " metadata, media_type, source, source_root, content_hash, text_hash, warnings, chars,"
        " chunks, tokens, pages, given_fields, language, status, recipe)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,"
        " %s, %s)",
        (number, tenant, *entry_values(entry)),
    )


def _insert_sections(
    connection: Connection, number: int, sections: Sequence[Section], *, tenant: str
) -> None:
    connection.execute(
        "insert into section (document, tenant, position, start, stop, title, path, header_tokens,"
        " summary, extracted_title) select %s, %s, * from unnest(%s::bigint[], %s::bigint[],"
        " %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::text[], %s::boolean[])",
        (
            number,
            tenant,
            bigints(range(len(sections))),
            bigints(s.start for s in sections),
            bigints(s.end for s in sections),
            texts([s.title for s in sections]),
            texts([json.dumps(s.path, ensure_ascii=False) for s in sections]),
            bigints(s.header_tokens for s in sections),
            texts([s.summary for s in sections]),
            booleans(s.extracted_title for s in sections),
        ),
    )


def _insert_layout(connection: Connection, number: int, document: Document, *, tenant: str) -> None:
    """Insert the pages, headings, blocks and figures of a document."""
    head = "select %s, %s, * from unnest(%s::bigint[], %s::bigint[], %s::bigint[]"
    if document.pages:
        connection.execute(
            "insert into page (document, tenant, position, start, stop, label)"
            f" {head}, %s::text[])",
            (number, tenant, *_spans(document.pages), texts([p.label for p in document.pages])),
        )
    if document.headings:
        connection.execute(
            "insert into heading (document, tenant, position, start, stop, level, title)"
            f" {head}, %s::bigint[], %s::text[])",
            (
                number,
                tenant,
                *_spans(document.headings),
                bigints(h.level for h in document.headings),
                texts([h.title for h in document.headings]),
            ),
        )
    if document.blocks:
        connection.execute(
            "insert into block (document, tenant, position, start, stop, kind)"
            f" {head}, %s::text[])",
            (number, tenant, *_spans(document.blocks), texts([b.kind for b in document.blocks])),
        )
    if document.figures:
        details = [json.dumps(f.to_dict(), ensure_ascii=False) for f in document.figures]
        connection.execute(
            "insert into figure (document, tenant, position, start, stop, detail)"
            f" {head}, %s::text[])",
            (number, tenant, *_spans(document.figures), texts(details)),
        )


def _spans(parts: Sequence[Page | Heading | Block | Figure]) -> tuple[bytes, bytes, bytes]:
    return (
        bigints(range(len(parts))),
        bigints(p.start for p in parts),
        bigints(p.end for p in parts),
    )


def _insert_chunks(
    connection: Connection, number: int, chunks: Sequence[Chunk], *, tenant: str
) -> None:
    base = number << POSITION_BITS
    connection.execute(
        "insert into chunk (tenant, key, section, start, tokens, text, table_head, context)"
        " select %s, * from unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],"
        " %s::text[], %s::text[], %s::text[])",
        (
            tenant,
            bigints(base | c.index for c in chunks),
            bigints(c.section for c in chunks),
            bigints(c.start for c in chunks),
            bigints(c.tokens for c in chunks),
            texts([c.text for c in chunks]),
            texts([c.table_head for c in chunks]),
            texts([c.context for c in chunks]),
        ),
    )


def _insert_vectors(
    connection: Connection,
    number: int,
    first: int,
    vectors: NDArray[np.floating],
    *,
    tenant: str,
    halfvec_oid: int,
) -> None:
    keys = (number << POSITION_BITS) + np.arange(first, first + len(vectors), dtype=np.int64)
    connection.execute(
        "insert into vector (document, tenant, key, embedding)"
        " select %s, %s, * from unnest(%s::bigint[], %s::halfvec[])",
        (number, tenant, bigints(keys), half_vectors(unit_rows(vectors), oid=halfvec_oid)),
    )


def record_origin(connection: Connection, document_id: str, version: str) -> None:
    """Record the version from which a document of the new state of a rebuild was prepared."""
    connection.execute("delete from origin where id = %s", (document_id,))
    connection.execute("insert into origin (id, version) values (%s, %s)", (document_id, version))


def delete_rows(connection: Connection, row: DocumentRow) -> None:
    """Delete all rows of a document; the names of its metadata fields are remembered."""
    add_former_fields(connection, read_fields(row.metadata), tenant=row.tenant)
    keys = chunk_keys(row.number)
    with connection.pipeline():
        connection.execute("delete from document where number = %s", (row.number,))
        for table in DOCUMENT_TABLES:
            # Names cannot be parameters; all are constants.
            connection.execute(f"delete from {table} where document = %s", (row.number,))  # noqa: S608
        for table in ("chunk", "vector"):
            connection.execute(
                f"delete from {table} where key >= %s and key < %s",  # noqa: S608
                (keys.start, keys.stop),
            )


def read_document(connection: Connection, row: DocumentRow) -> Document:
    """Return the document of a row."""
    return _document(connection, row, read_chunks(connection, row.number))


def _document(connection: Connection, row: DocumentRow, chunks: Sequence[Chunk]) -> Document:
    """Return the document of a row and of its chunks; its layout is read."""
    number = row.number
    return document_of(
        row,
        chunks,
        pages=read_pages(connection, number),
        headings=_read_headings(connection, number),
        blocks=_read_blocks(connection, number),
        figures=read_figures(connection, number),
    )


def read_entry(
    connection: Connection, row: DocumentRow, *, dimension: int, packs: str
) -> DocumentEntry:
    """Return all parts of the document of a row."""
    chunks = read_chunks(connection, row.number)
    return DocumentEntry(
        document=_document(connection, row, chunks),
        title=row.title,
        summary=row.summary,
        title_words=row.title_words,
        sections=read_sections(connection, row.number),
        chunks=chunks,
        vectors=read_vectors(connection, row.number, dimension=dimension),
        language=row.language,
        signals=all_signals(connection, row.number),
        packs=packs,
        recipe=row.recipe,
    )


_CHUNKS = "select key, section, start, tokens, text, table_head, context from chunk"


def read_chunks(
    connection: Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Chunk, ...]:
    """Return the chunks `[start, end)` of a document, clipped to the existing ones."""
    base = number << POSITION_BITS
    rows = connection.execute(
        f"{_CHUNKS} where key >= %s and key < %s order by key",
        (base + max(0, start), base + min(end, 1 << POSITION_BITS)),
        binary=True,
    )
    return tuple(map(_chunk, rows))


def read_single_chunks(
    connection: Connection, places: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Chunk]:
    """Return chunks by number of their document and index; missing ones are left out."""
    keys = sorted(number << POSITION_BITS | index for number, index in places)
    rows = connection.execute(
        f"{_CHUNKS} where key = any(%s::bigint[])", (bigints(keys),), binary=True
    )
    return {(row[0] >> POSITION_BITS, row[0] & _MAX_INDEX): _chunk(row) for row in rows}


def _chunk(row: tuple[Any, ...]) -> Chunk:
    key, section, start, tokens, text, table_head, context = row
    return Chunk(
        index=key & _MAX_INDEX,
        start=start,
        end=start + len(text),
        section=section,
        tokens=tokens,
        text=text,
        table_head=table_head,
        context=context,
    )


_SECTIONS = "start, stop, title, path, header_tokens, summary, extracted_title from section"


def read_sections(
    connection: Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Section, ...]:
    """Return the sections `[start, end)` of a document in order, clipped to the existing ones."""
    rows = connection.execute(
        f"select {_SECTIONS} where document = %s and position >= %s and position < %s"
        " order by position",
        (number, max(0, start), min(end, 1 << POSITION_BITS)),
    )
    return tuple(map(_section, rows))


def _section(row: Sequence[Any]) -> Section:
    start, stop, title, path, header_tokens, summary, extracted = row
    return Section(
        start=start,
        end=stop,
        title=title,
        path=tuple(json.loads(path)),
        header_tokens=header_tokens,
        summary=summary,
        extracted_title=extracted,
    )


def read_sections_of(
    connection: Connection, numbers: Sequence[int]
) -> dict[int, tuple[Section, ...]]:
    """Return all sections of some documents, by number."""
    return _read_of(connection, numbers, _SECTIONS, _section)


def read_pages_of(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[Page, ...]]:
    """Return the pages of some documents, by number; documents without pages are left out."""
    return _read_of(
        connection,
        numbers,
        "start, stop, label from page",
        lambda row: Page(start=row[0], end=row[1], label=row[2]),
    )


def read_figures_of(
    connection: Connection, numbers: Sequence[int]
) -> dict[int, tuple[Figure, ...]]:
    """Return the figures of some documents, by number; documents without figures are left out."""
    return _read_of(
        connection,
        numbers,
        "detail from figure",
        lambda row: from_plain(Figure, json.loads(row[0])),
    )


def read_blocks_of(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[Block, ...]]:
    """Return the tables and code of some documents, by number; those without are left out."""
    return _read_of(
        connection,
        numbers,
        "start, stop, kind from block",
        lambda row: Block(start=row[0], end=row[1], kind=row[2]),
    )


def _read_of(
    connection: Connection,
    numbers: Sequence[int],
    source: str,
    make: Callable[[Sequence[Any]], _Item],
) -> dict[int, tuple[_Item, ...]]:
    """Return the rows of some documents in a table of their layout, by number and in order."""
    rows = connection.execute(
        # Names cannot be parameters; all are constants of this module.
        f"select document, {source} where document = any(%s::bigint[]) order by document, position",
        (bigints(numbers),),
    )
    found: dict[int, list[_Item]] = {}
    for number, *values in rows:
        found.setdefault(number, []).append(make(values))
    return {number: tuple(items) for number, items in found.items()}


def read_languages(connection: Connection) -> tuple[str, ...]:
    """Return the languages of all documents, ascending; "" if unknown."""
    # Loose index scan: jumps from one language to the next in the index.
    rows = connection.execute(
        "with recursive found (language) as ((select min(language) from document) union all"
        " select (select min(d.language) from document as d where d.language > found.language)"
        " from found where found.language is not null)"
        " select language from found where language is not null"
    )
    return tuple(sorted(language for (language,) in rows))


def find_numbers(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers of some documents by id; ids without a document are left out.

    Of several tenants with the same id, the first is chosen, as by `find_row`.
    """
    known = [document_id for document_id in ids if _is_encodable(document_id)]
    rows = connection.execute(
        "select id, number from document where id = any(%s::text[]) order by tenant desc",
        (texts(known),),
    )
    return dict(rows.fetchall())


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_layout(
    connection: Connection, number: int, table: str, columns: str
) -> list[tuple[Any, ...]]:
    """Return the rows of a document in one of the tables of its layout, in order."""
    return connection.execute(
        # Names cannot be parameters; all are constants of this module.
        f"select {columns} from {table} where document = %s order by position",  # noqa: S608
        (number,),
    ).fetchall()


def read_pages(connection: Connection, number: int) -> tuple[Page, ...]:
    """Return the pages of a document in order."""
    rows = _read_layout(connection, number, "page", "start, stop, label")
    return tuple(Page(start=start, end=stop, label=label) for start, stop, label in rows)


def _read_headings(connection: Connection, number: int) -> tuple[Heading, ...]:
    rows = _read_layout(connection, number, "heading", "start, stop, level, title")
    return tuple(
        Heading(start=start, end=stop, level=level, title=title)
        for start, stop, level, title in rows
    )


def _read_blocks(connection: Connection, number: int) -> tuple[Block, ...]:
    rows = _read_layout(connection, number, "block", "start, stop, kind")
    return tuple(Block(start=start, end=stop, kind=kind) for start, stop, kind in rows)


def read_figures(connection: Connection, number: int) -> tuple[Figure, ...]:
    """Return the figures of a document in order."""
    rows = _read_layout(connection, number, "figure", "detail")
    return tuple(from_plain(Figure, json.loads(detail)) for (detail,) in rows)


def read_vectors(
    connection: Connection, number: int, *, dimension: int
) -> NDArray[np.float16] | None:
    """Return the vectors of a document's chunks, (chunks, dimension), or None."""
    if not dimension:
        return None
    keys = chunk_keys(number)
    rows = connection.execute(
        "select embedding from vector where key >= %s and key < %s order by key",
        (keys.start, keys.stop),
        binary=True,
    ).fetchall()
    return read_half_vectors([row[0] for row in rows], dimension=dimension)

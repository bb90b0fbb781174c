"""What stands in `truth.db`: documents in, out and read back.

Every function works on a connection that is lent to the calling thread; those that write expect
an open write transaction, those that read take what the connection sees.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from spanwise.core.documents.table_heads import searched_text
from spanwise.core.documents.versions import VERSION_CHARS, text_hash
from spanwise.core.ranking.vectors import unit_rows
from spanwise.filters import filter_fields
from spanwise.stores.schema import POSITION_BITS
from spanwise.stores.signals import delete_signals, insert_signals
from spanwise.types import (
    Block,
    Chunk,
    Document,
    DocumentRecord,
    DocumentStatus,
    Heading,
    Page,
    Scalar,
    Section,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.port import DocumentEntry


_RECORDS = (
    "select number, id, title, summary, metadata, media_type, source, source_root, content_hash,"
    " chars, chunks, tokens, pages, given_fields, language, status, text_hash, recipe from document"
)
_STATUSES: dict[str, DocumentStatus] = {status: status for status in get_args(DocumentStatus)}
_STORED = np.dtype("<f2")
_VECTOR_ROWS = 2_048  # made ready and written at once
_ONE_RECORD = _RECORDS + " where number = ?"
_ALL_RECORDS = _RECORDS + " order by id"


def read_settings(connection: sqlite3.Connection) -> dict[str, str]:
    """Return all settings, ordered by name."""
    return dict(connection.execute("select name, value from setting order by name"))


def add_settings(connection: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Record the settings that are not recorded yet."""
    connection.executemany(
        "insert into setting (name, value) values (?, ?) on conflict do nothing",
        sorted(settings.items()),
    )


def change_settings(connection: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Record settings in place of what was recorded under their names."""
    connection.executemany(
        "insert into setting (name, value) values (?, ?)"
        " on conflict do update set value = excluded.value",
        sorted(settings.items()),
    )


def find_document(connection: sqlite3.Connection, document_id: str) -> tuple[int, str] | None:
    """Return number and source root of a document, or None."""
    try:
        found = connection.execute(
            "select number, source_root from document where id = ?", (document_id,)
        )
    except UnicodeEncodeError:  # half a surrogate pair: no document has such an id
        return None
    row: tuple[int, str] | None = found.fetchone()
    return row


def insert_rows(connection: sqlite3.Connection, entry: DocumentEntry) -> None:
    """Insert a document whose id is free, under a number that was never used before."""
    document = entry.document
    (number,) = connection.execute(
        "insert into document (id, title, summary, title_words, given_title, metadata, media_type,"
        " source, source_root, content_hash, text_hash, warnings, chars, chunks, tokens, pages,"
        " given_fields, language, status, recipe)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " returning number",
        (
            document.id,
            entry.title,
            entry.summary,
            entry.title_words,
            document.title,
            json.dumps(dict(document.metadata), ensure_ascii=False, allow_nan=False),
            document.media_type,
            document.source,
            document.source_root,
            document.content_hash,
            text_hash(chunk.text for chunk in entry.chunks),
            json.dumps(document.warnings, ensure_ascii=False),
            len(document.text),
            len(entry.chunks),
            sum(chunk.tokens for chunk in entry.chunks),
            len(document.pages),
            json.dumps(document.given_fields, ensure_ascii=False),
            entry.language,
            document.status,
            entry.recipe,
        ),
    ).fetchone()
    connection.executemany(
        "insert into section (document, position, start, end, title, path, header_tokens, summary)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (number, i, s.start, s.end, s.title, _as_json(s.path), s.header_tokens, s.summary)
            for i, s in enumerate(entry.sections)
        ),
    )
    _insert_layout(connection, number, document)
    base = number << POSITION_BITS
    connection.executemany(
        "insert into chunk (key, section, start, tokens, text, table_head, context)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (
            (base | c.index, c.section, c.start, c.tokens, c.text, c.table_head, c.context)
            for c in entry.chunks
        ),
    )
    if entry.vectors is not None:
        _insert_vectors(connection, number, entry.vectors)
    insert_signals(connection, number, entry.signals)
    _record_change(connection, number, gone=False)


def _insert_layout(connection: sqlite3.Connection, number: int, document: Document) -> None:
    """Insert the pages, headings and blocks of a document."""
    connection.executemany(
        "insert into page (document, position, start, end, label) values (?, ?, ?, ?, ?)",
        ((number, i, p.start, p.end, p.label) for i, p in enumerate(document.pages)),
    )
    connection.executemany(
        "insert into heading (document, position, start, end, level, title)"
        " values (?, ?, ?, ?, ?, ?)",
        ((number, i, h.start, h.end, h.level, h.title) for i, h in enumerate(document.headings)),
    )
    connection.executemany(
        "insert into block (document, position, start, end, kind) values (?, ?, ?, ?, ?)",
        ((number, i, b.start, b.end, b.kind) for i, b in enumerate(document.blocks)),
    )


def _insert_vectors(
    connection: sqlite3.Connection, number: int, vectors: NDArray[np.floating]
) -> None:
    """Insert the vectors of a document, some rows at a time: there may be very many."""
    size = vectors.size * _STORED.itemsize
    connection.execute(
        "insert into vector (document, data) values (?, zeroblob(?))", (number, size)
    )
    with connection.blobopen("vector", "data", number) as blob:
        for first in range(0, len(vectors), _VECTOR_ROWS):
            rows = unit_rows(vectors[first : first + _VECTOR_ROWS])
            blob.write(np.ascontiguousarray(rows, dtype=_STORED).data)


def delete_rows(connection: sqlite3.Connection, number: int) -> None:
    """Delete a document whole."""
    connection.execute("delete from document where number = ?", (number,))
    connection.execute("delete from section where document = ?", (number,))
    connection.execute("delete from page where document = ?", (number,))
    connection.execute("delete from heading where document = ?", (number,))
    connection.execute("delete from block where document = ?", (number,))
    connection.execute("delete from vector where document = ?", (number,))
    delete_signals(connection, number)
    base = number << POSITION_BITS
    connection.execute(
        "delete from chunk where key >= ? and key < ?", (base, base + (1 << POSITION_BITS))
    )
    _record_change(connection, number, gone=True)


def _record_change(connection: sqlite3.Connection, number: int, *, gone: bool) -> None:
    connection.execute(
        "insert into change (stamp, document, gone) values (randomblob(8), ?, ?)", (number, gone)
    )


def _record(row: Sequence[object]) -> DocumentRecord:
    return DocumentRecord(
        id=str(row[1]),
        title=str(row[2]),
        summary=str(row[3]),
        metadata=json.loads(str(row[4])),
        media_type=str(row[5]),
        source=str(row[6]),
        source_root=str(row[7]),
        content_hash=str(row[8]),
        chars=int(str(row[9])),
        chunks=int(str(row[10])),
        tokens=int(str(row[11])),
        pages=int(str(row[12])),
        given_fields=tuple(json.loads(str(row[13]))),
        language=str(row[14]),
        status=_STATUSES[str(row[15])],
        version=str(row[16])[:VERSION_CHARS],
        recipe=str(row[17]),
    )


def read_record(connection: sqlite3.Connection, number: int) -> DocumentRecord:
    """Return what is known of the document with this number, which must exist."""
    return _record(connection.execute(_ONE_RECORD, (number,)).fetchone())


def read_records(connection: sqlite3.Connection) -> list[tuple[int, DocumentRecord]]:
    """Return number and record of every document, ordered by id."""
    rows = connection.execute(_ALL_RECORDS)
    return [(row[0], _record(row)) for row in rows]


def read_metadata(
    connection: sqlite3.Connection, *, after: int
) -> Iterator[tuple[int, Mapping[str, Scalar]]]:
    """Yield number and fields of the documents above a number, in order."""
    rows = connection.execute(
        "select number, metadata, title, language, status from document where number > ?"
        " order by number",
        (after,),
    )
    for number, metadata, title, language, status in rows:
        fields = json.loads(metadata)
        yield number, filter_fields(fields, title=title, language=language, status=status)


def read_languages(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the languages that documents are written in, ascending."""
    # From one value to the next in the index: as quick with a million documents as with ten.
    rows = connection.execute(
        "with recursive found (language) as (select min(language) from document union all"
        " select (select min(language) from document where language > found.language) from found"
        " where found.language is not null)"
        " select language from found where language is not null"
    )
    return tuple(language for (language,) in rows)


def read_document(connection: sqlite3.Connection, number: int) -> Document:
    """Return the document with this number, which must exist, as it was given."""
    row = connection.execute(
        "select id, given_title, metadata, media_type, source, source_root, content_hash, warnings,"
        " given_fields, status"
        " from document where number = ?",
        (number,),
    ).fetchone()
    return Document(
        id=row[0],
        text="".join(chunk.text for chunk in read_chunks(connection, number)),
        title=row[1],
        pages=read_pages(connection, number),
        headings=_read_headings(connection, number),
        blocks=_read_blocks(connection, number),
        metadata=json.loads(row[2]),
        media_type=row[3],
        source=row[4],
        source_root=row[5],
        content_hash=row[6],
        warnings=tuple(json.loads(row[7])),
        given_fields=tuple(json.loads(row[8])),
        status=_STATUSES[row[9]],
    )


def read_chunks(
    connection: sqlite3.Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Chunk, ...]:
    """Return the chunks `[start, end)` of a document, those that exist."""
    base = number << POSITION_BITS
    rows = connection.execute(
        "select key, section, start, tokens, text, table_head, context from chunk"
        " where key >= ? and key < ? order by key",
        (base + max(0, start), base + min(end, 1 << POSITION_BITS)),
    )
    return tuple(
        Chunk(
            index=key - base, start=first, end=first + len(text), section=section,
            tokens=tokens, text=text, table_head=head, context=context,
        )
        for key, section, first, tokens, text, head, context in rows
    )  # fmt: skip


def _as_json(path: tuple[str, ...]) -> str:
    return json.dumps(path, ensure_ascii=False)


def read_sections(
    connection: sqlite3.Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Section, ...]:
    """Return the sections `[start, end)` of a document, those that exist, in order."""
    rows = connection.execute(
        "select start, end, title, path, header_tokens, summary from section"
        " where document = ? and position >= ? and position < ? order by position",
        (number, start, end),
    )
    return tuple(
        Section(
            start=start,
            end=end,
            title=title,
            path=tuple(json.loads(path)),
            header_tokens=header_tokens,
            summary=summary,
        )
        for start, end, title, path, header_tokens, summary in rows
    )


def read_pages(connection: sqlite3.Connection, number: int) -> tuple[Page, ...]:
    """Return the pages of a document in order."""
    rows = connection.execute(
        "select start, end, label from page where document = ? order by position", (number,)
    )
    return tuple(Page(start=start, end=end, label=label) for start, end, label in rows)


def _read_headings(connection: sqlite3.Connection, number: int) -> tuple[Heading, ...]:
    rows = connection.execute(
        "select start, end, level, title from heading where document = ? order by position",
        (number,),
    )
    return tuple(
        Heading(start=start, end=end, level=level, title=title) for start, end, level, title in rows
    )


def _read_blocks(connection: sqlite3.Connection, number: int) -> tuple[Block, ...]:
    rows = connection.execute(
        "select start, end, kind from block where document = ? order by position", (number,)
    )
    return tuple(Block(start=start, end=end, kind=kind) for start, end, kind in rows)


def read_vectors(
    connection: sqlite3.Connection, number: int, *, dimension: int
) -> NDArray[np.float16] | None:
    """Return the vectors of a document's chunks, (chunks, dimension), or None."""
    row = connection.execute("select data from vector where document = ?", (number,)).fetchone()
    if row is None:
        return None
    return np.frombuffer(row[0], dtype="<f2").reshape(-1, dimension)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredDocument:
    """What the index needs of a document."""

    number: int
    language: str
    """ISO 639-1, empty where it is not known."""
    title_words: str
    texts: tuple[str, ...]
    """One for each chunk."""
    searched: tuple[str, ...]
    """What keyword search sees of each chunk."""
    tokens: tuple[int, ...]
    """One for each chunk."""
    sections: tuple[int, ...]
    """Index of the section of each chunk."""
    vectors: NDArray[np.float16] | None
    """(chunks, dimension), None without vectors."""


def read_indexed(
    connection: sqlite3.Connection, numbers: Iterable[int], *, dimension: int
) -> Iterator[StoredDocument]:
    """Yield what the index needs of some documents, in the order given."""
    for number in numbers:
        title_words, language = connection.execute(
            "select title_words, language from document where number = ?", (number,)
        ).fetchone()
        base = number << POSITION_BITS
        rows = connection.execute(
            "select text, tokens, section, table_head, context from chunk"
            " where key >= ? and key < ? order by key",
            (base, base + (1 << POSITION_BITS)),
        ).fetchall()
        yield StoredDocument(
            number=number,
            language=language,
            title_words=title_words,
            texts=tuple(row[0] for row in rows),
            searched=tuple(
                searched_text(text, table_head=head, context=context)
                for text, _, _, head, context in rows
            ),
            tokens=tuple(row[1] for row in rows),
            sections=tuple(row[2] for row in rows),
            vectors=read_vectors(connection, number, dimension=dimension) if dimension else None,
        )

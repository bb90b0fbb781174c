"""SQL reads and writes of documents and settings in `truth.db`.

Every function uses a connection of the pool that is lent to the calling thread. Functions that
write need an open write transaction. Functions that read use the transaction of the connection, if
one is open. Each row is verified by its checksum; a damaged row raises FormatError.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from spanwise import types
from spanwise.core.documents.chunk_table import chunk_rows
from spanwise.core.documents.headers import searched_header, searched_text
from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import FormatError
from spanwise.filters import filter_fields
from spanwise.stores.document_values import (
    document_of,
    entry_values,
    read_fields,
    read_texts,
    record_of,
)
from spanwise.stores.port import DocumentEntry
from spanwise.stores.row_checksums import (
    MAX_NUMBER,
    POSITION_BITS,
    DocumentRow,
    check_contents,
    checksum,
    chunk_keys,
    damaged_document,
    document_name,
    document_row,
    document_rows,
    has_types,
    is_sound,
    read_numbered,
    seal_document,
    sealed,
    sound_rows,
    stored_row,
)
from spanwise.stores.signals import all_signals, delete_signals, insert_signals
from spanwise.types import (
    Chunk,
    DocumentRecord,
    Figure,
    MetadataValue,
    Section,
)
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.types import Block, Document, Heading, Page


_SETTINGS = "select name, value, checksum from setting"
_STORED = np.dtype("<f2")
_CHUNKS = "select key, section, start, tokens, text, table_head, context, checksum from chunk"
_SECTION, _START, _TOKENS, _TEXT = 1, 2, 3, 4  # their places in a row
_SECTION_START, _SECTION_END = 2, 3
_SINGLE_CHUNKS = f"{_CHUNKS} where key in (select value from json_each(?))"  # noqa: S608 - constants
_MAX_INDEX = (1 << POSITION_BITS) - 1
_VECTOR_ROWS = 2_048  # rows per write
_LARGE_CHUNKS = 4_096  # documents with more chunks are read in blocks
_CHUNK_ROWS = 1_024  # rows per block


def read_settings(connection: sqlite3.Connection) -> dict[str, str]:
    """Return all settings, ordered by name.

    Raises:
        FormatError: If a setting is damaged.
    """
    return dict(map(_setting, connection.execute(f"{_SETTINGS} order by name")))


@lru_cache(maxsize=64)  # each document reads the same rows
def _setting(row: tuple[str, str, int]) -> tuple[str, str]:
    if not is_sound(row, "setting"):
        raise FormatError(
            f"the setting {row[0]!r} is damaged: it differs from its checksum; restore the "
            "knowledge base from a backup"
        )
    return row[:2]


def read_packs(connection: sqlite3.Connection) -> str:
    """Return the recorded packs, "" for none.

    Raises:
        FormatError: If the setting is damaged.
    """
    row = connection.execute(f"{_SETTINGS} where name = 'packs'").fetchone()
    return "" if row is None else _setting(row)[1]


def add_settings(connection: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Record settings that are not recorded yet."""
    connection.executemany(
        "insert into setting (name, value, checksum) values (?, ?, ?) on conflict do nothing",
        map(sealed, sorted(settings.items())),
    )


def change_settings(connection: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Record settings and overwrite existing values."""
    connection.executemany(
        "insert into setting (name, value, checksum) values (?, ?, ?)"
        " on conflict do update set value = excluded.value, checksum = excluded.checksum",
        map(sealed, sorted(settings.items())),
    )


def find_document(connection: sqlite3.Connection, document_id: str) -> tuple[int, str] | None:
    """Return the number and source root of a document, or None.

    Raises:
        FormatError: If the id index points to the row of another document.
    """
    try:
        # Reads the id from the row itself, not from the index, so that a wrong index is noticed.
        row = connection.execute(
            "select number, source_root, id from document where number ="
            " (select number from document where id = ?)",
            (document_id,),
        ).fetchone()
    except UnicodeEncodeError:  # lone surrogate: no document has such an id
        return None
    if row is None:
        return None
    if row[2] != document_id or not 0 < row[0] < MAX_NUMBER:
        raise damaged_document(document_id, "its entry in the index of ids")
    return row[0], row[1]


def read_ids_from(connection: sqlite3.Connection, roots: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of the documents from some source roots, ascending, by source root."""
    rows = connection.execute(
        "select source_root, id from document where source_root in"
        " (select value from json_each(?)) order by id",
        (json.dumps(list(roots)),),
    )
    ids: dict[str, list[str]] = {}
    for root, document_id in rows:
        ids.setdefault(root, []).append(document_id)
    return ids


def insert_rows(connection: sqlite3.Connection, entry: DocumentEntry) -> int:
    """Insert a document, whose id must be unused, under a new number that was never used.

    Returns:
        Number of the document.
    """
    number = _insert_document(connection, entry)
    _insert_sections(connection, number, entry.sections)
    _insert_layout(connection, number, entry.document)
    _insert_chunks(connection, number, entry.chunks)
    if entry.vectors is not None:
        _insert_vectors(connection, number, entry.vectors)
    insert_signals(connection, number, entry.signals)
    seal_document(connection, number)
    _record_change(connection, number, gone=False)
    return number


def _insert_document(connection: sqlite3.Connection, entry: DocumentEntry) -> int:
    """Insert the row of a document, and return its number."""
    number: int
    (number,) = connection.execute(
        "insert into document (id, title, summary, title_words, given_title, metadata, media_type,"
        " source, source_root, content_hash, text_hash, warnings, chars, chunks, tokens, pages,"
        " given_fields, language, status, recipe)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " returning number",
        entry_values(entry),
    ).fetchone()
    return number


def _insert_sections(
    connection: sqlite3.Connection, number: int, sections: Sequence[Section]
) -> None:
    connection.executemany(
        "insert into section (document, position, start, end, title, path, header_tokens, summary,"
        " extracted_title, checksum) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            sealed(
                (
                    number,
                    i,
                    s.start,
                    s.end,
                    s.title,
                    _as_json(s.path),
                    s.header_tokens,
                    s.summary,
                    int(s.extracted_title),
                )
            )
            for i, s in enumerate(sections)
        ),
    )


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
    connection.executemany(
        "insert into figure (document, position, start, end, detail) values (?, ?, ?, ?, ?)",
        (
            (number, i, f.start, f.end, json.dumps(f.to_dict(), ensure_ascii=False))
            for i, f in enumerate(document.figures)
        ),
    )


def _insert_chunks(connection: sqlite3.Connection, number: int, chunks: Sequence[Chunk]) -> None:
    base = number << POSITION_BITS
    connection.executemany(
        "insert into chunk (key, section, start, tokens, text, table_head, context, checksum)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            sealed((base | index, section, start, tokens, text, table_head, context))
            for index, (section, start, _, tokens, text, table_head, context) in enumerate(
                chunk_rows(chunks)
            )
        ),
    )


def _insert_vectors(
    connection: sqlite3.Connection, number: int, vectors: NDArray[np.floating]
) -> None:
    """Insert the vectors of a document in batches, to bound memory."""
    if len(vectors) <= _VECTOR_ROWS:  # without a blob, see `row_checksums`
        connection.execute(
            "insert into vector (document, data) values (?, ?)", (number, _stored_vectors(vectors))
        )
        return
    size = vectors.size * _STORED.itemsize
    connection.execute(
        "insert into vector (document, data) values (?, zeroblob(?))", (number, size)
    )
    with connection.blobopen("vector", "data", number) as blob:
        for first in range(0, len(vectors), _VECTOR_ROWS):
            blob.write(_stored_vectors(vectors[first : first + _VECTOR_ROWS]))


def _stored_vectors(vectors: NDArray[np.floating]) -> memoryview:
    """Return the stored bytes of some vectors."""
    return np.ascontiguousarray(unit_rows(vectors), dtype=_STORED).data


def delete_rows(connection: sqlite3.Connection, number: int) -> int:
    """Delete all rows of a document, and return the number of its chunks.

    The names of its metadata fields are remembered.
    """
    remember_fields(connection, number)
    connection.execute("delete from document where number = ?", (number,))
    connection.execute("delete from section where document = ?", (number,))
    connection.execute("delete from page where document = ?", (number,))
    connection.execute("delete from heading where document = ?", (number,))
    connection.execute("delete from block where document = ?", (number,))
    connection.execute("delete from figure where document = ?", (number,))
    connection.execute("delete from vector where document = ?", (number,))
    delete_signals(connection, number)
    keys = chunk_keys(number)
    deleted = connection.execute(
        "delete from chunk where key >= ? and key < ?", (keys.start, keys.stop)
    ).rowcount
    _record_change(connection, number, gone=True)
    return deleted


def _record_change(connection: sqlite3.Connection, number: int, *, gone: bool) -> None:
    connection.execute(
        "insert into change (stamp, document, gone) values (randomblob(8), ?, ?)", (number, gone)
    )


def record_update(connection: sqlite3.Connection, number: int) -> None:
    """Record that the metadata of a document changed while its number stayed the same.

    The row names no document, because the documents of the index stay the same.
    """
    _record_change(connection, -number, gone=False)


def remember_fields(connection: sqlite3.Connection, number: int) -> None:
    """Record the names of the metadata fields of a document that is deleted or changed.

    A damaged record is ignored, because its document must remain deletable.
    """
    row = stored_row(connection, number)
    if not is_sound(row, "document"):
        return
    add_former_fields(connection, json.loads(row.metadata))


def add_former_fields(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Record names of fields that documents had."""
    connection.executemany(
        "insert into former_field (name, checksum) values (?, ?) on conflict do nothing",
        (sealed((name,)) for name in names),
    )


def read_former_fields(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of fields of documents that were deleted or changed.

    Raises:
        FormatError: If a name is damaged.
    """
    rows = connection.execute("select name, checksum from former_field").fetchall()
    if not all(is_sound(row, "former_field") for row in rows):
        raise FormatError(
            "the table of former fields is damaged: a name differs from its checksum; restore the "
            "knowledge base from a backup"
        )
    return frozenset(name for name, _ in rows)


@contextmanager
def _reading(connection: sqlite3.Connection, number: int, what: str) -> Iterator[None]:
    """Raise FormatError in place of the errors of values that no version of Spanwise wrote."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        name = document_name(connection, number)
        raise damaged_document(name, what, f"cannot be read ({error})") from error


def read_record(connection: sqlite3.Connection, number: int) -> DocumentRecord:
    """Return the record of the document with this number, which must exist."""
    row = document_row(connection, number)
    with _reading(connection, row.number, "the record"):
        return record_of(row)


def read_records(connection: sqlite3.Connection) -> list[tuple[int, DocumentRecord]]:
    """Return the number and record of every document, ordered by id."""
    records = []
    for row in document_rows(connection, "order by id"):
        with _reading(connection, row.number, "the record"):
            records.append((row.number, record_of(row)))
    return records


def read_metadata(
    connection: sqlite3.Connection, *, after: int
) -> Iterator[tuple[int, Mapping[str, MetadataValue]]]:
    """Yield number and filter fields of the documents with numbers above `after`, in order."""
    for row in document_rows(connection, "where number > ? order by number", (after,)):
        with _reading(connection, row.number, "its metadata"):
            metadata = read_fields(row.metadata)
        yield (
            row.number,
            filter_fields(metadata, title=row.title, language=row.language, status=row.status),
        )


def read_languages(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the distinct languages of all documents, ascending."""
    # Loose index scan: jumps from one distinct value to the next in the index.
    rows = connection.execute(
        "with recursive found (language) as (select min(language) from document"
        " union all select (select min(language) from document where language > found.language)"
        " from found where found.language is not null)"
        # Reads the language from the row itself, not from the index.
        " select found.language, document.id, document.language"
        " from found left join document"
        " on number = (select min(number) from document where language = found.language)"
        " where found.language is not null"
    ).fetchall()
    for language, document_id, stored in rows:
        if language != stored:
            raise damaged_document(document_id, "its entry in the index of languages")
    return tuple(language for language, _, _ in rows)


def read_document(connection: sqlite3.Connection, number: int) -> Document:
    """Return the document with this number, which must exist."""
    row = document_row(connection, number)
    return _document(connection, row, read_chunks(connection, number))


def _document(
    connection: sqlite3.Connection, row: DocumentRow, chunks: Sequence[Chunk]
) -> Document:
    """Return the document of a row and of its chunks; its layout is read."""
    number = row.number
    with _reading(connection, row.number, "the record"):
        return document_of(
            row,
            chunks,
            pages=read_pages(connection, number),
            headings=_read_headings(connection, number),
            blocks=read_blocks(connection, number),
            figures=read_figures(connection, number),
        )


def read_entry(connection: sqlite3.Connection, number: int, *, dimension: int) -> DocumentEntry:
    """Return all parts of the document with this number, which must exist."""
    row = document_row(connection, number)
    chunks = read_chunks(connection, number)
    return DocumentEntry(
        document=_document(connection, row, chunks),
        title=row.title,
        summary=row.summary,
        title_words=row.title_words,
        sections=read_sections(connection, number),
        chunks=chunks,
        vectors=read_vectors(connection, number, dimension=dimension) if dimension else None,
        language=row.language,
        signals=all_signals(connection, number),
        packs=read_packs(connection),
        recipe=row.recipe,
    )


def read_chunks(
    connection: sqlite3.Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Chunk, ...]:
    """Return the chunks `[start, end)` of a document, clipped to the existing ones."""
    return tuple(_chunk(connection, row) for row in _chunk_rows(connection, number, start, end))


def _chunk_rows(
    connection: sqlite3.Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> list[tuple[Any, ...]]:
    """Return the verified rows of the chunks `[start, end)`, with the columns of `_CHUNKS`."""
    base = number << POSITION_BITS
    keys = range(base + max(0, start), base + min(end, 1 << POSITION_BITS))
    rows = connection.execute(
        f"{_CHUNKS} where key >= ? and key < ? order by key",
        (keys.start, keys.stop),
    )
    return read_numbered(connection, number, "chunk", rows, places=keys)


def read_single_chunks(
    connection: sqlite3.Connection, places: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], Chunk]:
    """Return chunks by number of their document and index; damaged ones are left out."""
    keys = sorted(number << POSITION_BITS | index for number, index in places)
    rows = connection.execute(_SINGLE_CHUNKS, (json.dumps(keys),))
    return {
        (row[0] >> POSITION_BITS, row[0] & _MAX_INDEX): _chunk(connection, row)
        for row in sound_rows(rows, "chunk")
    }


def _chunk(connection: sqlite3.Connection, row: tuple[Any, ...]) -> Chunk:
    """Return the chunk in a row of `_CHUNKS`."""
    key, section, start, tokens, text, table_head, context, _ = row
    if not text or section < 0 or start < 0 or tokens < 1:
        name = document_name(connection, key >> POSITION_BITS)
        raise damaged_document(name, "`chunk`", "has a row without text, or negative numbers")
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


def _as_json(path: tuple[str, ...]) -> str:
    return json.dumps(path, ensure_ascii=False)


def read_sections(
    connection: sqlite3.Connection, number: int, start: int = 0, end: int = 1 << POSITION_BITS
) -> tuple[Section, ...]:
    """Return the sections `[start, end)` of a document in order, clipped to the existing ones."""
    positions = range(max(0, start), min(end, 1 << POSITION_BITS))
    rows = connection.execute(
        "select document, position, start, end, title, path, header_tokens, summary,"
        " extracted_title, checksum"
        " from section where document = ? and position >= ? and position < ? order by position",
        (number, positions.start, positions.stop),
    )
    read = read_numbered(connection, number, "section", rows, places=positions)
    if positions.start == 0 and len(read) < len(positions):  # all sections
        _check_sections(connection, number, read)
    with _reading(connection, number, "`section`"):
        return tuple(
            Section(
                start=start,
                end=end,
                title=title,
                path=read_texts(path),
                header_tokens=header_tokens,
                summary=summary,
                extracted_title=bool(extracted),
            )
            for _, _, start, end, title, path, header_tokens, summary, extracted, _ in read
        )


def _check_sections(
    connection: sqlite3.Connection, number: int, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Check that the sections of a document divide its text.

    Raises:
        FormatError: If they do not.
    """
    (chars,) = connection.execute(
        "select chars from document where number = ?", (number,)
    ).fetchone()
    starts, ends = [row[_SECTION_START] for row in rows], [row[_SECTION_END] for row in rows]
    if [*starts, chars] != [0, *ends] or any(a >= b for a, b in zip(starts, ends, strict=True)):
        name = document_name(connection, number)
        raise damaged_document(name, "`section`", "does not divide the text")


def _read_layout(
    connection: sqlite3.Connection, number: int, table: str, columns: str
) -> list[tuple[Any, ...]]:
    """Return the rows of a document in the table `page`, `heading` or `block`, in order."""
    rows = connection.execute(
        # Names cannot be parameters; all are constants of this module.
        f"select position, {columns} from {table} where document = ? order by position",  # noqa: S608
        (number,),
    ).fetchall()
    check_contents(connection, number, table, actual=checksum(chain.from_iterable(rows)))
    if not all(has_types(row, table) for row in rows):
        raise damaged_document(number, f"`{table}`", "has values of other types")
    return rows


def read_pages(connection: sqlite3.Connection, number: int) -> tuple[Page, ...]:
    """Return the pages of a document in order."""
    rows = _read_layout(connection, number, "page", "start, end, label")
    return tuple(types.Page(start=start, end=end, label=label) for _, start, end, label in rows)


def _read_headings(connection: sqlite3.Connection, number: int) -> tuple[Heading, ...]:
    rows = _read_layout(connection, number, "heading", "start, end, level, title")
    return tuple(
        types.Heading(start=start, end=end, level=level, title=title)
        for _, start, end, level, title in rows
    )


def read_blocks(connection: sqlite3.Connection, number: int) -> tuple[Block, ...]:
    """Return the tables and pieces of code of a document in order."""
    rows = _read_layout(connection, number, "block", "start, end, kind")
    return tuple(types.Block(start=start, end=end, kind=kind) for _, start, end, kind in rows)


def read_figures(connection: sqlite3.Connection, number: int) -> tuple[Figure, ...]:
    """Return the figures of a document in order."""
    rows = _read_layout(connection, number, "figure", "start, end, detail")
    with _reading(connection, number, "`figure`"):
        return tuple(from_plain(Figure, json.loads(detail)) for _, _, _, detail in rows)


def read_vectors(
    connection: sqlite3.Connection, number: int, *, dimension: int
) -> NDArray[np.float16] | None:
    """Return the vectors of a document's chunks, (chunks, dimension), or None."""
    row = connection.execute("select data from vector where document = ?", (number,)).fetchone()
    actual = -1 if row is None else zlib.crc32(row[0])
    check_contents(connection, number, "vector", actual=actual)
    if row is None:
        return None
    with _reading(connection, number, "`vector`"):
        return np.frombuffer(row[0], dtype=_STORED).reshape(-1, dimension)


class IndexedDocument(NamedTuple):
    """Fields of a document that the index is built from."""

    number: int
    language: str
    """Language of the text (ISO 639-1), empty if unknown."""
    title_words: str
    texts: Sequence[str]
    """Text of each chunk."""
    searched: Sequence[str]
    """Text of each chunk for keyword search, including its table header and context."""
    tokens: Sequence[int]
    """Number of tokens of each chunk."""
    sections: Sequence[int]
    """Index of the section of each chunk."""
    headers: tuple[str, ...]
    """Searched header of each section."""
    vectors: NDArray[np.float16] | StoredVectors | None
    """Vectors of the chunks, (chunks, dimension); None without vectors."""


class StoredVectors:
    """Vectors of a large document, which are read in blocks."""

    def __init__(self, connection: sqlite3.Connection, number: int, *, dimension: int) -> None:
        """Verify the vectors of a document, which must have some.

        Raises:
            FormatError: If they do not match their checksum.
        """
        self._connection = connection
        self._number = number
        self._dimension = dimension
        self._row_bytes = dimension * _STORED.itemsize
        check_contents(connection, number, "vector")
        with self._open() as blob:
            self._rows = len(blob) // self._row_bytes

    def _open(self) -> sqlite3.Blob:
        return self._connection.blobopen("vector", "data", self._number, readonly=True)

    def __len__(self) -> int:
        """Return the number of vectors."""
        return self._rows

    def __getitem__(self, rows: slice) -> NDArray[np.float16]:
        """Return the vectors of consecutive chunks."""
        first, last, _ = rows.indices(self._rows)
        with self._open() as blob:
            blob.seek(first * self._row_bytes)
            block = blob.read((last - first) * self._row_bytes)
        return np.frombuffer(block, dtype=_STORED).reshape(-1, self._dimension)


class _StoredTexts(Sequence[str]):
    """Texts of the chunks of a large document, which are read in blocks."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        number: int,
        count: int,
        text_of: Callable[[Chunk], str],
    ) -> None:
        self._connection = connection
        self._number = number
        self._count = count
        self._text_of = text_of

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._count))]
        (chunk,) = read_chunks(self._connection, self._number, index, index + 1)
        return self._text_of(chunk)

    def __iter__(self) -> Iterator[str]:
        for chunk in _iterate_chunks(self._connection, self._number, self._count):
            yield self._text_of(chunk)


def _iterate_chunks(connection: sqlite3.Connection, number: int, count: int) -> Iterator[Chunk]:
    """Yield the chunks of a document, which are read in blocks."""
    for first in range(0, count, _CHUNK_ROWS):
        chunks = read_chunks(connection, number, first, min(count, first + _CHUNK_ROWS))
        yield from chunks
        if not chunks:  # fewer chunks than the record says
            return


def _searched_text(chunk: Chunk) -> str:
    return searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)


def read_indexed(
    connection: sqlite3.Connection, numbers: Iterable[int], *, dimension: int
) -> Iterator[IndexedDocument]:
    """Yield the indexed fields of some documents, in the given order."""
    for number in numbers:
        row = document_row(connection, number)
        if row.chunks > _LARGE_CHUNKS:
            yield _large_document(connection, number, row, dimension=dimension)
            continue
        chunks = _chunk_rows(connection, number)
        document = IndexedDocument(
            number=number,
            language=row.language,
            title_words=row.title_words,
            texts=tuple(chunk[_TEXT] for chunk in chunks),
            searched=tuple(
                searched_text(text, table_head=head, context=context)
                for *_, text, head, context, _ in chunks
            ),
            tokens=tuple(chunk[_TOKENS] for chunk in chunks),
            sections=tuple(chunk[_SECTION] for chunk in chunks),
            headers=tuple(map(searched_header, read_sections(connection, number))),
            vectors=read_vectors(connection, number, dimension=dimension) if dimension else None,
        )
        _check_structure(
            row,
            document,
            starts=[chunk[_START] for chunk in chunks],
            lengths=[len(text) for text in document.texts],
        )
        yield document


def _check_structure(
    row: DocumentRow,
    document: IndexedDocument,
    *,
    starts: Sequence[int],
    lengths: Sequence[int],
) -> None:
    """Check that the parts of a document fit together.

    Args:
        row: Row of the document.
        document: Fields that the index is built from.
        starts: First character of each chunk.
        lengths: Length of each chunk in characters.

    Raises:
        FormatError: If they do not.
    """
    tokens = np.array(document.tokens, dtype=np.int64)
    sections = np.array(document.sections, dtype=np.int64)
    sizes = np.array(lengths, dtype=np.int64)
    ends = sizes.cumsum()
    is_sound = (
        len(starts) == row.chunks
        and row.chars == (int(ends[-1]) if len(ends) else 0)
        and np.array_equal(np.array(starts, dtype=np.int64), ends - sizes)
        and bool((sizes > 0).all())
        and bool(((sections >= 0) & (sections < len(document.headers))).all())
        and bool(((tokens > 0) & (tokens <= row.tokens)).all())
        and row.tokens == int(tokens.sum())
        and (document.vectors is None or len(document.vectors) == row.chunks)
    )
    if not is_sound:
        raise damaged_document(row.id, "its chunks", "do not fit the record and the sections")


def _large_document(
    connection: sqlite3.Connection, number: int, row: DocumentRow, *, dimension: int
) -> IndexedDocument:
    """Return the indexed fields of a document whose chunks do not fit into memory at once."""
    check_contents(connection, number, "chunk")
    starts, lengths, tokens, sections = array("q"), array("q"), array("q"), array("q")
    for chunk in _iterate_chunks(connection, number, row.chunks):
        starts.append(chunk.start)
        lengths.append(len(chunk.text))
        tokens.append(chunk.tokens)
        sections.append(chunk.section)
    document = IndexedDocument(
        number=number,
        language=row.language,
        title_words=row.title_words,
        texts=_StoredTexts(connection, number, row.chunks, lambda chunk: chunk.text),
        searched=_StoredTexts(connection, number, row.chunks, _searched_text),
        tokens=tokens,
        sections=sections,
        headers=tuple(map(searched_header, read_sections(connection, number))),
        vectors=StoredVectors(connection, number, dimension=dimension) if dimension else None,
    )
    _check_structure(row, document, starts=starts, lengths=lengths)
    return document

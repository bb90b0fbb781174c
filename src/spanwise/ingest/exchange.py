"""Export of a knowledge base to a folder of tables, and import of such a folder.

    documents     one row for each document: text, metadata, pages, headings, blocks
    sections      one row for each section, with the id of its document
    chunks        one row for each chunk, with the id of its document and its vector
    export.json   version of the format, settings of the knowledge base, number of rows

The rows of each table are in the order of document ids. On import, documents are divided into
chunks by the options of the knowledge base, and vectors are reused if it has the same embedder.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np

from spanwise.core.text.file_names import id_problem
from spanwise.errors import FormatError, OptionError, StoreError, shown
from spanwise.ingest.sources import STREAM_ROOT
from spanwise.ingest.tables import VECTOR, TableFormat, read_table, table_writer
from spanwise.stores.new_folder import new_folder
from spanwise.threads import check_cancelled
from spanwise.types import Chunk, Document, DocumentRecord, ExportReport, Section
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.port import Store
    from spanwise.types.plain import Plain

_VERSION = 1
_DESCRIPTION = "export.json"
_MAX_DESCRIPTION = 10_000_000
_MAX_PARTS = 1_000_000  # sections of one document, or chunks
_MIN_ROW_BYTES = 64_000_000
_ROW_BYTES_PER_TEXT_BYTE = 4  # a row has a text with escapes, and its pages, headings and blocks
_OWNER, _POSITION, _FILE_TITLE, _VECTOR = "document_id", "index", "file_title", "vector"
_RECORD_COLUMNS = ("title", "summary", "language", "version", "recipe", "chars", "chunks", "tokens")


def _columns() -> Mapping[str, Mapping[str, Any]]:
    """Return the columns of each table, from the annotations of the public types."""
    document, record = get_type_hints(Document), get_type_hints(DocumentRecord)
    document.pop("title")
    return {
        "documents": {
            "id": document.pop("id"),
            **{name: record[name] for name in _RECORD_COLUMNS},
            _FILE_TITLE: str,
            **document,
        },
        "sections": {_OWNER: str, _POSITION: int, **get_type_hints(Section)},
        "chunks": {_OWNER: str, **get_type_hints(Chunk), _VECTOR: VECTOR},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDocument:
    """Document of an export, with everything that is stored for it."""

    record: DocumentRecord
    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float32] | None
    """One vector per chunk; None if the export has no vectors of the document."""


def export_documents(
    store: Store,
    target: Path,
    *,
    table_format: TableFormat,
    where: Filter | None = None,
    vectors: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Write the documents of a store to a new folder, completely or not at all.

    Args:
        store: Store of the knowledge base; it can be searched and written meanwhile.
        target: Folder to create.
        table_format: Format of the tables.
        where: Filter of the documents; None for all.
        vectors: Whether to write the vectors of the chunks.
        on_progress: Callback with the number of documents written so far and the total.

    Raises:
        OptionError: If the target exists or its parent does not, or the format is unknown or its
            library is not installed.
        StoreError: If the files cannot be written.
    """
    started = time.perf_counter()
    if table_format not in get_args(TableFormat):
        raise OptionError(f"the format is {table_format!r}; give one of {get_args(TableFormat)}")
    target = target.absolute()
    if target.exists() or not target.parent.is_dir():
        cause = "exists already" if target.exists() else "is in a folder that does not exist"
        raise OptionError(f"the export needs a new folder, and {str(target)!r} {cause}")
    try:
        with new_folder(target) as temporary:
            documents = _stored_documents(store, store.list_records(where), on_progress=on_progress)
            rows = _write_tables(temporary, documents, table_format=table_format, vectors=vectors)
            description = {
                "version": _VERSION,
                "format": table_format,
                "settings": dict(store.ensure_settings({})),
                "rows": rows,
            }
            text = json.dumps(description, indent=2)
            (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"the export to {str(target)!r} failed: {error}") from error
    return ExportReport(
        path=str(target),
        **rows,
        bytes_on_disk=sum(file.stat().st_size for file in target.iterdir()),
        seconds=time.perf_counter() - started,
    )


def _stored_documents(
    store: Store,
    records: Sequence[DocumentRecord],
    *,
    on_progress: Callable[[int, int], None] | None,
) -> Iterator[ExportedDocument]:
    for number, record in enumerate(records, start=1):
        check_cancelled()
        stored = _stored_document(store, record.id)
        if stored is not None:
            yield stored
        if on_progress is not None:
            on_progress(number, len(records))


def _stored_document(store: Store, document_id: str) -> ExportedDocument | None:
    """Return a document with all its parts; None if it was removed meanwhile."""
    while (whole := store.get_whole(document_id)) is not None:
        embedded = store.get_embedded(document_id)
        chunks, vectors = embedded or (store.get_chunks(document_id), None)
        if store.get_record(document_id) == whole.record:  # not replaced between the reads
            return ExportedDocument(
                record=whole.record,
                document=whole.document,
                sections=whole.sections,
                chunks=chunks,
                vectors=vectors,
            )
    return None


def _write_tables(
    folder: Path,
    documents: Iterator[ExportedDocument],
    *,
    table_format: TableFormat,
    vectors: bool,
) -> dict[str, int]:
    """Write the tables of documents, and return the number of rows of each."""
    columns = _columns()
    rows = dict.fromkeys(columns, 0)
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                closing(table_writer(folder / name, kinds, table_format=table_format))
            )
            for name, kinds in columns.items()
        }
        for document in documents:
            for name, row in _rows(document, vectors=vectors):
                writers[name].write(row)
                rows[name] += 1
    return rows


def _rows(exported: ExportedDocument, *, vectors: bool) -> Iterator[tuple[str, dict[str, Plain]]]:
    """Yield the rows of a document with the names of their tables."""
    record, document = exported.record, exported.document
    row = {**document.to_dict(), _FILE_TITLE: document.title}
    yield "documents", {**row, **{name: getattr(record, name) for name in _RECORD_COLUMNS}}
    for index, section in enumerate(exported.sections):
        yield "sections", {_OWNER: document.id, _POSITION: index, **section.to_dict()}
    for chunk in exported.chunks:
        vector: Plain = None
        if vectors and exported.vectors is not None:
            vector = exported.vectors[chunk.index].tolist()
        yield "chunks", {_OWNER: document.id, **chunk.to_dict(), _VECTOR: vector}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Export in a folder."""

    folder: Path
    table_format: TableFormat
    settings: Mapping[str, str]
    """Settings of the exported knowledge base."""
    total: int
    """Number of documents."""

    def documents(self, *, max_text_bytes: int) -> Iterator[ExportedDocument]:
        """Yield the documents in the order of their ids.

        Args:
            max_text_bytes: Maximum bytes of a text, from which the maximum of a row is computed.

        Raises:
            FormatError: If a row is damaged or too long, or rows are missing or not in order.
            OptionError: If pyarrow is needed and not installed.
        """
        columns = _columns()
        longest = max(_MIN_ROW_BYTES, _ROW_BYTES_PER_TEXT_BYTE * max_text_bytes)
        tables = {
            name: _Rows(
                read_table(
                    self.folder / name,
                    kinds,
                    table_format=self.table_format,
                    max_row_bytes=longest,
                )
            )
            for name, kinds in columns.items()
        }
        try:
            for row in tables["documents"].rows:
                document_id = str(row.get("id", ""))
                sections = tables["sections"].of(document_id)
                chunks = tables["chunks"].of(document_id)
                yield _read_document(row, sections, chunks)
            for name in ("sections", "chunks"):
                if (owner := tables[name].owner) is not None:
                    raise FormatError(
                        f"{self.folder}: the {name} of {owner!r} do not follow the order of the "
                        "documents, or there is no such document; export the knowledge base again"
                    )
        except OSError as error:
            raise FormatError(f"{self.folder} cannot be read: {error}") from error


class _Rows:
    """Rows of a table, read document by document."""

    def __init__(self, rows: Iterator[dict[str, Plain]]) -> None:
        self.rows = rows
        self._next: dict[str, Plain] | None = None
        self._is_started = False

    @property
    def owner(self) -> str | None:
        """Id of the document of the next row; None at the end."""
        if not self._is_started:
            self._is_started = True
            self._next = next(self.rows, None)
        return None if self._next is None else str(self._next.get(_OWNER, ""))

    def of(self, document_id: str) -> list[dict[str, Any]]:
        """Return the next rows if they belong to a document; each vector becomes an array.

        Raises:
            FormatError: If there are more than a document can have, or a vector is damaged.
        """
        found: list[dict[str, Any]] = []
        while self.owner == document_id and self._next is not None:
            if len(found) == _MAX_PARTS:
                raise FormatError(
                    f"the export has more than {_MAX_PARTS:,} sections or chunks of one document, "
                    f"{shown(document_id)}; divide the document"
                )
            row: dict[str, Any] = self._next
            row[_VECTOR] = _read_vector(row.get(_VECTOR), document_id)
            found.append(row)
            self._next = next(self.rows, None)
        return found


def open_export(folder: Path) -> Export:
    """Return the export in a folder.

    Raises:
        OptionError: If the folder is not an export, or has CSV tables or a newer version.
    """
    try:
        with (folder / _DESCRIPTION).open("rb") as file:
            description = json.loads(file.read(_MAX_DESCRIPTION))
        version, table_format = description["version"], description["format"]
        settings, total = description["settings"], description["rows"]["documents"]
        is_valid = isinstance(settings, dict) and isinstance(total, int)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise OptionError(
            f"{str(folder)!r} is not an export: {_DESCRIPTION} cannot be read ({error}); name a "
            "folder that `spanwise export` has written"
        ) from error
    if version != _VERSION or table_format not in ("jsonl", "parquet") or not is_valid:
        raise OptionError(
            f"the export in {str(folder)!r} has version {version!r} and {table_format!r} tables; "
            f'version {_VERSION} with "jsonl" or "parquet" tables can be imported'
        )
    return Export(folder=folder, table_format=table_format, settings=settings, total=total)


def _read_document(
    row: dict[str, Plain], sections: list[dict[str, Any]], chunks: list[dict[str, Any]]
) -> ExportedDocument:
    """Return a document from its rows.

    Raises:
        FormatError: If a value is missing or has the wrong type.
    """
    name = str(row.get("id", ""))
    vectors = [chunk.pop(_VECTOR) for chunk in chunks]
    try:
        pages = row.get("pages")
        record = {**row, "pages": len(pages) if isinstance(pages, list) else 0}
        document = from_plain(Document, {**row, "title": row.get(_FILE_TITLE)})
        exported = ExportedDocument(
            record=from_plain(DocumentRecord, record),
            document=document,
            sections=tuple(from_plain(Section, section) for section in sections),
            chunks=tuple(from_plain(Chunk, chunk) for chunk in chunks),
            vectors=_joined_vectors(vectors),
        )
        problem = id_problem(name, is_file=document.source_root not in ("", STREAM_ROOT))
    except (ValueError, TypeError) as error:
        raise FormatError(f"the export is damaged in the rows of {shown(name)}: {error}") from error
    if problem:
        raise FormatError(f"the export has a document with the id {shown(name)}: {problem}")
    return exported


def _read_vector(vector: object, document_id: str) -> NDArray[np.float32] | None:
    """Return the vector of a chunk, which needs less memory than a list; None if there is none.

    Raises:
        FormatError: If it is not a list of finite numbers.
    """
    if vector is None:
        return None
    try:
        array = np.array(vector, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        array = np.full(1, np.nan, dtype=np.float32)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise FormatError(
            f"the export is damaged in the rows of {shown(document_id)}: a vector is not a list of "
            "finite numbers"
        )
    return array


def _joined_vectors(
    vectors: Sequence[NDArray[np.float32] | None],
) -> NDArray[np.float32] | None:
    """Return the vectors of the chunks of a document; None if one is missing.

    Raises:
        ValueError: If they differ in length.
    """
    present = [vector for vector in vectors if vector is not None]
    return np.stack(present) if present and len(present) == len(vectors) else None

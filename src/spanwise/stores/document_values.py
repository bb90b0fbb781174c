"""Rows of the table `document` in SQLite and PostgreSQL, from and to documents and records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from spanwise import types
from spanwise.core.documents.chunk_table import chunk_tokens
from spanwise.core.documents.versions import VERSION_CHARS, text_blocks, text_hash
from spanwise.filters import items_of
from spanwise.types import (
    Chunk,
    DocumentRecord,
    DocumentStatus,
    FieldOrigins,
    Figure,
    MetadataValue,
)

if TYPE_CHECKING:
    from spanwise.stores.port import DocumentEntry
    from spanwise.stores.postgres.documents import DocumentRow as PostgresRow
    from spanwise.stores.row_checksums import DocumentRow
    from spanwise.types import Block, Document, Heading, Page

_STATUSES: dict[str, DocumentStatus] = {status: status for status in get_args(DocumentStatus)}


def entry_values(entry: DocumentEntry) -> tuple[str | int, ...]:
    """Return the values of a document, from the column `id` to the column `recipe`."""
    document = entry.document
    return (
        document.id,
        entry.title,
        entry.summary,
        entry.title_words,
        document.title,
        fields_text(document.metadata),
        document.media_type,
        document.source,
        document.source_root,
        document.content_hash,
        text_hash(text_blocks(document.text)),
        json.dumps(document.warnings, ensure_ascii=False),
        len(document.text),
        len(entry.chunks),
        chunk_tokens(entry.chunks),
        len(document.pages),
        origins_text(document.given_fields, document.origins),
        entry.language,
        document.status,
        entry.recipe,
    )


def read_fields(text: str) -> dict[str, MetadataValue]:
    """Return the metadata in a JSON object; lists become tuples.

    Raises:
        ValueError: If it is no object of scalars and lists of them.
    """
    fields: dict[str, MetadataValue] = json.loads(text)
    if text.count("{") == 1 and "[" not in text and "null" not in text:
        return fields
    if not isinstance(fields, dict) or not all(
        isinstance(item, str | int | float) for value in fields.values() for item in items_of(value)
    ):
        raise ValueError(f"the metadata {text!r} are not an object of scalars and lists of them")
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }


def fields_text(fields: Mapping[str, Any]) -> str:
    """Return metadata fields as JSON."""
    return json.dumps(dict(fields), ensure_ascii=False, allow_nan=False)


def origins_text(given_fields: Sequence[str], origins: FieldOrigins | None) -> str:
    """Return the names of given fields and the origins of fields as JSON.

    The result is a list of names if there are no origins.
    """
    if origins is None:
        return json.dumps(given_fields, ensure_ascii=False)
    parts = {name: part for name, part in origins.to_dict().items() if part}
    return fields_text({"names": list(given_fields), **parts})


def read_origins(text: str) -> tuple[tuple[str, ...], FieldOrigins | None]:
    """Return the names of given fields and the origins of fields from JSON."""
    parts: Any = json.loads(text)
    if isinstance(parts, list):
        return tuple(parts), None
    names = tuple(parts.pop("names"))
    for fields in parts.values():
        if isinstance(fields, dict):
            fields.update({n: tuple(v) for n, v in fields.items() if isinstance(v, list)})
    return names, FieldOrigins(**parts)


def read_texts(text: str) -> tuple[str, ...]:
    """Return the texts in a JSON list.

    Raises:
        ValueError: If it is no list of texts.
    """
    texts: Any = json.loads(text)
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise ValueError(f"{text!r} is not a list of texts")
    return tuple(texts)


def record_of(row: DocumentRow | PostgresRow) -> DocumentRecord:
    """Return the record of a document."""
    given_fields, origins = read_origins(row.given_fields)
    return DocumentRecord(
        id=row.id,
        title=row.title,
        summary=row.summary,
        metadata=read_fields(row.metadata),
        media_type=row.media_type,
        source=row.source,
        source_root=row.source_root,
        content_hash=row.content_hash,
        chars=row.chars,
        chunks=row.chunks,
        tokens=row.tokens,
        pages=row.pages,
        given_fields=given_fields,
        origins=origins,
        language=row.language,
        status=_STATUSES[row.status],
        version=row.text_hash[:VERSION_CHARS],
        recipe=row.recipe,
    )


def document_of(
    row: DocumentRow | PostgresRow,
    chunks: Sequence[Chunk],
    *,
    pages: tuple[Page, ...],
    headings: tuple[Heading, ...],
    blocks: tuple[Block, ...],
    figures: tuple[Figure, ...],
) -> Document:
    """Return a document, whose text is that of its chunks."""
    given_fields, origins = read_origins(row.given_fields)
    return types.Document(
        id=row.id,
        text="".join(chunk.text for chunk in chunks),
        title=row.given_title,
        pages=pages,
        headings=headings,
        blocks=blocks,
        figures=figures,
        metadata=read_fields(row.metadata),
        media_type=row.media_type,
        source=row.source,
        source_root=row.source_root,
        content_hash=row.content_hash,
        warnings=read_texts(row.warnings),
        given_fields=given_fields,
        origins=origins,
        status=_STATUSES[row.status],
    )

"""Changes of the title and the metadata of a stored document, in an open write transaction.

Rules:
    If only metadata changes that the index does not contain, the document keeps its number, and its
        record is changed in place. A row of `change` tells other processes that the records they
        have read may be outdated.
    Otherwise the document gets a new number, as after a replacement, so that the index is updated.
        Its rows are copied; the bytes of its vectors stay the same.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.stores import database
from spanwise.stores.document_values import fields_text, origins_text
from spanwise.stores.port import DocumentEntry, SearchedParts
from spanwise.stores.row_checksums import document_row, seal_document, seal_record
from spanwise.stores.signals import all_signals

if TYPE_CHECKING:
    from spanwise.stores.port import DocumentUpdate


def update_rows(connection: sqlite3.Connection, number: int, update: DocumentUpdate) -> int:
    """Change the title and the metadata of a document.

    Args:
        connection: Connection inside a write transaction.
        number: Number of the document, whose record has been verified.
        update: New title and metadata.

    Returns:
        Number of chunks that the index must read again.
    """
    database.remember_fields(connection, number)
    if update.searched is not None:
        return _move_rows(connection, number, update, update.searched)
    connection.execute(
        "update document set title = ?, metadata = ?, given_fields = ? where number = ?",
        (
            update.title,
            fields_text(update.metadata),
            origins_text(update.given_fields, update.origins),
            number,
        ),
    )
    seal_record(connection, number)
    database.record_update(connection, number)
    return 0


def _move_rows(
    connection: sqlite3.Connection, number: int, update: DocumentUpdate, searched: SearchedParts
) -> int:
    """Move a document to a new number, with its new title and metadata; return its chunks."""
    row = document_row(connection, number)
    chunks = database.read_chunks(connection, number)
    sections = database.read_sections(connection, number)
    entry = DocumentEntry(
        document=replace(
            database.read_document(connection, number),
            metadata=update.metadata,
            given_fields=update.given_fields,
            origins=update.origins,
        ),
        title=update.title,
        summary=row.summary,
        title_words=searched.title_words,
        sections=tuple(
            replace(section, header_tokens=tokens)
            for section, tokens in zip(sections, searched.header_tokens, strict=True)
        ),
        chunks=chunks,
        vectors=None,
        language=searched.language,
        signals=all_signals(connection, number),
        recipe=row.recipe,
    )
    # The vectors are set aside under a number that no document has, and keep every bit.
    move = "update vector set document = ? where document = ?"
    connection.execute(move, (-number, number))
    database.delete_rows(connection, number)
    new = database.insert_rows(connection, entry)
    connection.execute(move, (new, -number))
    seal_document(connection, new)
    return len(chunks)

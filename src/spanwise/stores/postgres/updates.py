"""Changes of the title and the metadata of a stored document in PostgreSQL.

Rules:
    If only metadata changes that the index does not contain, the document keeps its number, and its
        record is changed in place. The log of changes tells other processes that the records they
        have read may be outdated.
    Otherwise, and if its tenant changes, the document gets a new number, as after a replacement, so
        that the index and the caches of all processes are updated. Its rows move to the new number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.filters import filter_fields
from spanwise.stores.document_values import fields_text, origins_text, read_fields
from spanwise.stores.postgres.documents import next_number
from spanwise.stores.postgres.fields import add_former_fields, insert_fields
from spanwise.stores.postgres.schema import DOCUMENT_TABLES
from spanwise.stores.postgres.values import bigints
from spanwise.stores.row_checksums import POSITION_BITS, chunk_keys

if TYPE_CHECKING:
    from spanwise.stores.port import DocumentUpdate
    from spanwise.stores.postgres.connections import Connection
    from spanwise.stores.postgres.documents import DocumentRow


def update_rows(
    connection: Connection, row: DocumentRow, update: DocumentUpdate, *, tenant: str
) -> int:
    """Change the title, the metadata and the tenant of a document.

    Args:
        connection: Connection inside a write transaction that holds the lock of documents.
        row: Current row of the document.
        update: New title and metadata.
        tenant: New tenant, which may stay the same; empty for none.

    Returns:
        Number of chunks that the index must read again.
    """
    add_former_fields(connection, read_fields(row.metadata), tenant=row.tenant)
    searched = update.searched
    language = row.language if searched is None else searched.language
    stays = searched is None and tenant == row.tenant
    number = row.number if stays else next_number(connection)
    with connection.pipeline():
        connection.execute(
            "update document set number = %s, title = %s, metadata = %s, given_fields = %s,"
            " language = %s, title_words = %s, tenant = %s, changed = changed + 1"
            " where number = %s",
            (
                number,
                update.title,
                fields_text(update.metadata),
                origins_text(update.given_fields, update.origins),
                language,
                row.title_words if searched is None else searched.title_words,
                tenant,
                row.number,
            ),
        )
        connection.execute("delete from field where document = %s", (row.number,))
        if not stays:
            _move_rows(connection, row.number, number, tenant=tenant)
        fields = filter_fields(
            update.metadata, title=update.title, language=language, status=row.status
        )
        insert_fields(connection, number, fields, tenant=tenant)
        if searched is not None:
            _update_headers(connection, number, searched.header_tokens)
    return 0 if stays else row.chunks


def _move_rows(connection: Connection, number: int, new: int, *, tenant: str) -> None:
    """Move the rows of a document to a new number and a tenant, which may stay the same."""
    for table in DOCUMENT_TABLES:
        connection.execute(
            # Names cannot be parameters; all are constants.
            f"update {table} set document = %s, tenant = %s where document = %s",  # noqa: S608
            (new, tenant, number),
        )
    keys, shift = chunk_keys(number), (new - number) << POSITION_BITS
    connection.execute(
        "update chunk set key = key + %s, tenant = %s where key >= %s and key < %s",
        (shift, tenant, keys.start, keys.stop),
    )
    connection.execute(
        "update vector set key = key + %s, document = %s, tenant = %s where key >= %s and key < %s",
        (shift, new, tenant, keys.start, keys.stop),
    )


def _update_headers(connection: Connection, number: int, header_tokens: tuple[int, ...]) -> None:
    connection.execute(
        "update section set header_tokens = new.tokens"
        " from unnest(%s::bigint[], %s::bigint[]) as new (position, tokens)"
        " where document = %s and section.position = new.position",
        (bigints(range(len(header_tokens))), bigints(header_tokens), number),
    )

"""Filter fields of documents in PostgreSQL: one row for each item of each field.

The values are in the normal form that filters compare (`spanwise.filters`), so that SQL compares
plain values: texts as UTF-8 bytes, whose order is that of their code points, folded and as they
are; numbers as exact decimals. An empty list has one row without a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from spanwise.filters import folded, items_of, kind_of
from spanwise.filters.values import is_date
from spanwise.stores.postgres.values import bigints, booleans, byte_strings, texts

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection
    from spanwise.types import MetadataValue, Scalar


class _Item(NamedTuple):
    """Row of the table `field`, without its document and tenant."""

    name: str
    position: int
    kind: str
    """Kind of the value, as `filters.known_fields` gives it; empty for an empty list."""
    is_listed: bool
    exact: bytes | None
    folded: bytes | None
    is_date: bool
    """Whether the folded text is a date."""
    number: str | None
    truth: str | None


def _item(name: str, position: int, value: Scalar | None, *, is_listed: bool) -> _Item:
    """Return the row of an item of a field; of an empty list if the value is None."""
    exact = folded_text = number = truth = None
    kind: str = "" if value is None else kind_of(value) or ""
    is_day = False
    if isinstance(value, str):
        text = folded(value)
        exact, folded_text, is_day = value.encode(), text.encode(), is_date(text)
        kind = "date" if is_date(value) else kind
    elif isinstance(value, bool):
        truth = "true" if value else "false"
    elif value is not None:
        number = number_text(value)
    return _Item(name, position, kind, is_listed, exact, folded_text, is_day, number, truth)


def number_text(value: float) -> str:
    """Return a whole or decimal number as an exact decimal."""
    return format(Decimal(value), "f")


def _items(fields: Mapping[str, MetadataValue]) -> list[_Item]:
    found: list[_Item] = []
    for name, value in fields.items():
        is_listed = isinstance(value, tuple | list)
        items: list[Scalar | None] = [*items_of(value)] or [None]
        found += [
            _item(name, position, item, is_listed=is_listed) for position, item in enumerate(items)
        ]
    return found


def insert_fields(
    connection: Connection,
    number: int,
    fields: Mapping[str, MetadataValue],
    *,
    tenant: str,
) -> None:
    """Insert the filter fields of a document, which must have none yet.

    Args:
        connection: Connection inside a write transaction.
        number: Number of the document.
        fields: Fields as `filters.filter_fields` returns them.
        tenant: Tenant of the document.

    Raises:
        UnicodeEncodeError: If a text contains a lone surrogate.
    """
    items = _items(fields)
    connection.execute(
        "insert into field (document, tenant, name, position, kind, is_listed, exact, folded,"
        " is_date, number, truth)"
        " select %s, %s, name, position, kind, is_listed, exact, folded, is_date, number::numeric,"
        " truth::boolean from unnest(%s::text[], %s::bigint[], %s::text[], %s::boolean[],"
        " %s::bytea[], %s::bytea[], %s::boolean[], %s::text[], %s::text[]) as item"
        " (name, position, kind, is_listed, exact, folded, is_date, number, truth)",
        (
            number,
            tenant,
            texts([item.name for item in items]),
            bigints(item.position for item in items),
            texts([item.kind for item in items]),
            booleans(item.is_listed for item in items),
            byte_strings([item.exact for item in items]),
            byte_strings([item.folded for item in items]),
            booleans(item.is_date for item in items),
            texts([item.number for item in items]),
            texts([item.truth for item in items]),
        ),
    )


def add_former_fields(connection: Connection, names: Iterable[str], *, tenant: str) -> None:
    """Record names of fields that documents had."""
    connection.execute(
        "insert into former_field (tenant, name) select %s, * from unnest(%s::text[])"
        " on conflict do nothing",
        (tenant, texts(list(names))),
    )


def read_former_fields(connection: Connection) -> frozenset[str]:
    """Return the names of fields of documents that were deleted or changed."""
    return frozenset(name for (name,) in connection.execute("select name from former_field"))

"""Fields of documents that filters can use, and the kinds of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from spanwise.filters.values import FieldKind, is_date, items_of, kind_of

if TYPE_CHECKING:
    from spanwise.types import DocumentRecord, MetadataValue


def filter_fields(
    metadata: Mapping[str, MetadataValue], *, title: str, language: str, status: str
) -> Mapping[str, MetadataValue]:
    """Return the fields of a document for filters: metadata, title, language and status.

    Metadata fields take precedence over the other three. An unknown title or language is omitted.
    """
    built_in = {"title": title, "language": language, "status": status}
    return {**{name: value for name, value in built_in.items() if value}, **metadata}


def record_fields(record: DocumentRecord) -> Mapping[str, MetadataValue]:
    """Return the fields of a stored document for filters, see `filter_fields`."""
    return filter_fields(
        record.metadata, title=record.title, language=record.language, status=record.status
    )


def known_fields(
    metadata: Iterable[Mapping[str, MetadataValue]],
) -> dict[str, frozenset[FieldKind]]:
    """Return the kinds of values of each field over all documents, sorted by field name."""
    kinds_by_field: dict[str, set[FieldKind]] = {}
    for fields in metadata:
        for name, value in fields.items():
            kinds = kinds_by_field.setdefault(name, set())
            for item in items_of(value):
                kind = kind_of(item)
                if isinstance(item, str) and is_date(item):
                    kinds.add("date")
                elif kind is not None:
                    kinds.add(kind)
    return {name: frozenset(kinds) for name, kinds in sorted(kinds_by_field.items())}

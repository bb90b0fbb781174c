"""Warnings about filters on fields that only earlier documents had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise import filters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.filters import Filter
    from spanwise.stores.port import Snapshot


def former_field_warnings(where: Filter | None, snapshot: Snapshot) -> tuple[str, ...]:
    """Return a warning for each field of a filter that only earlier documents had."""
    if where is None:
        return ()
    former = snapshot.former_fields()
    names = [name for name in dict.fromkeys(_field_names(where)) if name in former]
    return tuple(f"no document has the field {name!r} any more" for name in names)


def _field_names(where: Filter) -> Iterator[str]:
    """Yield the names of the fields of a filter, from left to right."""
    if not isinstance(where, filters.And | filters.Or | filters.Not):
        yield where.name
    for child in filters.children(where):
        yield from _field_names(child)

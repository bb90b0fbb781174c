"""Column store of document metadata, for fast evaluation of filters.

Documents are appended. After a change of metadata in place, all documents are read again. A field
is stored as a list of distinct values, and a code (an index into this list) for each document.
`spanwise.filters` evaluates a filter, once for each distinct value.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from spanwise import filters
from spanwise.filters import FieldKind, known_fields, value_key
from spanwise.stores.database import read_former_fields, read_metadata
from spanwise.stores.entries import check_known
from spanwise.types import MetadataValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.view import LiveDocuments


_MAX_MASKS = 64  # cached filter results, until the documents change
_MAX_GONE_SHARE = 0.5  # above this share of deleted documents, the columns are rebuilt


class _Field:
    """One field: a code per document, 0 if the document lacks the field, and its values."""

    def __init__(self, documents: int) -> None:
        self.codes = array("i", bytes(documents * array("i").itemsize))
        self.values: list[MetadataValue | None] = [None]
        self._known: dict[tuple[object, ...], int] = {}

    def append(self, value: MetadataValue) -> None:
        key = value_key(value) if isinstance(value, tuple) else (type(value), value)
        code = self._known.setdefault(key, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.codes.append(code)


class _Table:
    """All fields of the documents read so far, and the numbers of these documents."""

    def __init__(self, updated: int = 0) -> None:
        self.updated = updated
        """Last change of metadata in place before the documents were read."""
        self.numbers = array("q")
        self.fields: dict[str, _Field] = {}

    def append(self, number: int, metadata: Mapping[str, MetadataValue]) -> None:
        for name, value in metadata.items():
            if name not in self.fields:
                self.fields[name] = _Field(len(self.numbers))
            self.fields[name].append(value)
        self.numbers.append(number)
        for column in self.fields.values():
            if len(column.codes) < len(self.numbers):
                column.codes.append(0)


class _Slice:
    """Fields of the D live documents of one snapshot."""

    def __init__(self, table: _Table, live: NDArray[np.int64]) -> None:
        slots = np.searchsorted(np.array(table.numbers, dtype=np.int64), live)
        self.documents = len(live)
        self.codes: dict[str, NDArray[np.int32]] = {}
        self.values: dict[str, list[MetadataValue | None]] = {}
        for name, column in table.fields.items():
            codes = np.array(column.codes, dtype=np.int32)[slots]
            if codes.any():
                self.codes[name] = codes
                self.values[name] = column.values.copy()
        self._masks: dict[Filter, NDArray[np.bool_]] = {}

    @cached_property
    def kinds(self) -> dict[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that live documents have."""
        return known_fields(
            {name: value}
            for name, codes in self.codes.items()
            for code in np.flatnonzero(np.bincount(codes)).tolist()
            if (value := self.values[name][code]) is not None
        )

    def mask(self, where: Filter) -> NDArray[np.bool_]:
        """Return whether each document matches a validated filter, (D,); must not be modified."""
        known = self._masks.get(where)
        if known is None:
            known = self._evaluate(where)
            known.flags.writeable = False
            if len(self._masks) < _MAX_MASKS:
                self._masks[where] = known
        return known

    def _evaluate(self, where: Filter) -> NDArray[np.bool_]:
        if isinstance(where, filters.And):
            return reduce(np.logical_and, [self._evaluate(part) for part in where.parts])
        if isinstance(where, filters.Or):
            return reduce(np.logical_or, [self._evaluate(part) for part in where.parts])
        if isinstance(where, filters.Not):
            return ~self._evaluate(where.part)
        codes = self.codes.get(where.name)
        if codes is None:
            return np.full(self.documents, filters.matches(where, {}))
        values, test = self.values[where.name], filters.value_test(where)
        met = np.zeros(len(values), dtype=bool)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            value = values[code]
            met[code] = value is not None and test(value)
        return met[codes]


class MetadataColumns:
    """Filter evaluation over the documents of one store; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table = _Table()
        self._latest: tuple[LiveDocuments, _Slice] | None = None

    def mask(
        self,
        connection: sqlite3.Connection,
        live: LiveDocuments,
        where: Filter,
        *,
        is_checked: bool = False,
    ) -> NDArray[np.bool_]:
        """Return whether each live document matches a filter, (D,).

        Args:
            connection: Connection inside the read transaction that sees these documents.
            live: All live documents.
            where: Filter.
            is_checked: Whether the filter has been checked against the fields of more documents.

        Raises:
            FilterError: If the filter is not checked and names a field that no document has or had,
                or compares a field with a value of another type.
        """
        slice_ = self._slice(connection, live)
        if not is_checked:
            check_known(where, slice_.kinds, former=lambda: read_former_fields(connection))
        return slice_.mask(where)

    def kinds(
        self, connection: sqlite3.Connection, live: LiveDocuments
    ) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field of the live documents, as for `mask`."""
        return self._slice(connection, live).kinds

    def former_fields(self, connection: sqlite3.Connection, live: LiveDocuments) -> frozenset[str]:
        """Return the names of fields that documents had and no live document has.

        Args:
            connection: Connection inside the read transaction that sees these documents.
            live: All live documents.
        """
        return read_former_fields(connection) - self._slice(connection, live).kinds.keys()

    def _slice(self, connection: sqlite3.Connection, live: LiveDocuments) -> _Slice:
        with self._lock:
            if self._latest is not None and self._latest[0] is live:
                return self._latest[1]
            self._complete(connection, live)
            new_slice = _Slice(self._table, live.numbers)
            self._latest = live, new_slice
            return new_slice

    def _complete(self, connection: sqlite3.Connection, live: LiveDocuments) -> None:
        """Append the live documents that are not in the table yet."""
        if self._table.updated != live.updated:
            self._table = _Table(live.updated)
        numbers = np.array(self._table.numbers, dtype=np.int64)
        known = np.isin(live.numbers, numbers)
        last = int(numbers[-1]) if len(numbers) else 0
        unseen = live.numbers[~known]
        gone = len(numbers) - int(np.count_nonzero(known))
        crossed = len(unseen) > 0 and int(unseen[0]) <= last
        if crossed or gone > _MAX_GONE_SHARE * len(numbers):
            # An older snapshot is read after a newer one, or most documents were deleted.
            self._table, last = _Table(live.updated), 0
        for number, metadata in read_metadata(connection, after=last):
            self._table.append(number, metadata)

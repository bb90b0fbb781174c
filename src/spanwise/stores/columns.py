"""Column store of document metadata, for fast evaluation of filters.

Documents are appended and never change. A field is stored as a list of distinct values, and a code
(an index into this list) for each document. `spanwise.filters` evaluates a filter, once for each
distinct value.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from spanwise.filters import And, Filter, Kind, Not, Or, check_filter, known_fields, matches
from spanwise.stores.database import read_metadata
from spanwise.types import Scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_MASKS = 64  # cached filter results, until the documents change
_MAX_GONE_SHARE = 0.5  # above this share of deleted documents, the columns are rebuilt


class _Field:
    """One field: a code per document, 0 if the document lacks the field, and its values."""

    def __init__(self, documents: int) -> None:
        self.codes = array("i", bytes(documents * array("i").itemsize))
        self.values: list[Scalar | None] = [None]
        self._known: dict[tuple[type, Scalar], int] = {}

    def append(self, value: Scalar) -> None:
        code = self._known.setdefault((type(value), value), len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.codes.append(code)


class _Table:
    """All fields of the documents read so far, and the numbers of these documents."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.fields: dict[str, _Field] = {}

    def append(self, number: int, metadata: Mapping[str, Scalar]) -> None:
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
        self.values: dict[str, list[Scalar | None]] = {}
        for name, column in table.fields.items():
            codes = np.array(column.codes, dtype=np.int32)[slots]
            if codes.any():
                self.codes[name] = codes
                self.values[name] = column.values.copy()
        self._masks: dict[Filter, NDArray[np.bool_]] = {}

    @cached_property
    def kinds(self) -> dict[str, frozenset[Kind]]:
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
        if isinstance(where, And):
            return reduce(np.logical_and, [self._evaluate(part) for part in where.parts])
        if isinstance(where, Or):
            return reduce(np.logical_or, [self._evaluate(part) for part in where.parts])
        if isinstance(where, Not):
            return ~self._evaluate(where.part)
        codes = self.codes.get(where.name)
        if codes is None:
            return np.full(self.documents, matches(where, {}))
        met = np.zeros(len(self.values[where.name]), dtype=bool)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            value = self.values[where.name][code]
            met[code] = matches(where, {} if value is None else {where.name: value})
        return met[codes]


class MetadataColumns:
    """Filter evaluation over the documents of one store; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table = _Table()
        self._latest: tuple[NDArray[np.int64], _Slice] | None = None

    def mask(
        self, connection: sqlite3.Connection, live: NDArray[np.int64], where: Filter
    ) -> NDArray[np.bool_]:
        """Return whether each live document matches a filter, (D,).

        Args:
            connection: Connection inside the read transaction that sees these documents.
            live: Numbers of all live documents, ascending, (D,).
            where: Filter.

        Raises:
            FilterError: If the filter names a field that no document has, or compares a field with
                a value of another type.
        """
        slice_ = self._slice(connection, live)
        check_filter(where, slice_.kinds)
        return slice_.mask(where)

    def _slice(self, connection: sqlite3.Connection, live: NDArray[np.int64]) -> _Slice:
        with self._lock:
            if self._latest is not None and self._latest[0] is live:
                return self._latest[1]
            self._complete(connection, live)
            new_slice = _Slice(self._table, live)
            self._latest = live, new_slice
            return new_slice

    def _complete(self, connection: sqlite3.Connection, live: NDArray[np.int64]) -> None:
        """Append the live documents that are not in the table yet."""
        numbers = np.array(self._table.numbers, dtype=np.int64)
        known = np.isin(live, numbers)
        last = int(numbers[-1]) if len(numbers) else 0
        unseen = live[~known]
        gone = len(numbers) - int(np.count_nonzero(known))
        crossed = len(unseen) > 0 and int(unseen[0]) <= last
        if crossed or gone > _MAX_GONE_SHARE * len(numbers):
            # An older snapshot is read after a newer one, or most documents were deleted.
            self._table, last = _Table(), 0
        for number, metadata in read_metadata(connection, after=last):
            self._table.append(number, metadata)

"""Conversion of values between Python and PostgreSQL: texts, and arrays in binary form.

PostgreSQL cannot store the character NUL. It is stored as U+0010 "0", and U+0010 itself as two of
them; all other texts are stored as they are. Connections convert texts by themselves
(`register_values`), and the functions for arrays here do so too.

Arrays are parameters of bulk inserts (`insert ... select from unnest(...)`). numpy builds them
without work per row. Row-level security excludes COPY.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from psycopg import pq
from psycopg.adapt import Dumper, Loader

if TYPE_CHECKING:
    import psycopg
    from numpy.typing import NDArray
    from psycopg.abc import Buffer

_ESCAPE = "\x10"
_ESCAPED = re.compile("\x10(.)", re.DOTALL)
_TEXT, _BIGINT, _INTEGER, _BOOLEAN, _BYTES = 25, 20, 23, 16, 17  # type OIDs of PostgreSQL
_NULL = struct.pack("!i", -1)
_LENGTH = struct.Struct("!i").pack


def stored_text(text: str) -> str:
    """Return the form of a text in the database."""
    if "\x00" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + _ESCAPE).replace("\x00", _ESCAPE + "0")


def read_text(stored: str) -> str:
    """Return the text of its form in the database."""
    if _ESCAPE not in stored:
        return stored
    return _ESCAPED.sub(lambda match: "\x00" if match[1] == "0" else _ESCAPE, stored)


class BinaryArray(bytes):
    """Array in PostgreSQL's binary form; the statement must cast it to the type of the array."""

    __slots__ = ()


class _ArrayDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: BinaryArray) -> Buffer:
        return bytes(obj)


class _TextDumper(Dumper):
    def dump(self, obj: str) -> Buffer:
        return stored_text(obj).encode()


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return read_text(str(data, "utf-8"))


class _BinaryTextLoader(_TextLoader):
    format = pq.Format.BINARY


def register_values(connection: psycopg.Connection) -> None:
    """Make a connection convert texts and arrays as this module does."""
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(BinaryArray, _ArrayDumper)
    adapters.register_loader("text", _TextLoader)
    adapters.register_loader("text", _BinaryTextLoader)


def _array(oid: int, count: int, body: bytes) -> BinaryArray:
    if not count:
        return BinaryArray(struct.pack("!iii", 0, 0, oid))
    return BinaryArray(struct.pack("!iiiii", 1, 1, oid, count, 1) + body)


def _numbers(values: Iterable[int] | NDArray[np.integer], *, oid: int, kind: str) -> BinaryArray:
    numbers = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=np.int64)
    rows = np.empty(len(numbers), dtype=[("size", ">i4"), ("value", kind)])
    rows["size"], rows["value"] = rows.dtype["value"].itemsize, numbers
    return _array(oid, len(numbers), rows.tobytes())


def bigints(values: Iterable[int] | NDArray[np.integer]) -> BinaryArray:
    """Return an array for `bigint[]`."""
    return _numbers(values, oid=_BIGINT, kind=">i8")


def integers(values: Iterable[int] | NDArray[np.integer]) -> BinaryArray:
    """Return an array for `integer[]`."""
    return _numbers(values, oid=_INTEGER, kind=">i4")


def booleans(values: Iterable[bool]) -> BinaryArray:
    """Return an array for `boolean[]`."""
    return _numbers(map(int, values), oid=_BOOLEAN, kind=">i1")


def texts(values: Sequence[str | None]) -> BinaryArray:
    """Return an array for `text[]`.

    Raises:
        UnicodeEncodeError: If a text contains a lone surrogate.
    """
    return _items(_TEXT, [None if v is None else stored_text(v).encode() for v in values])


def byte_strings(values: Sequence[bytes | None]) -> BinaryArray:
    """Return an array for `bytea[]`."""
    return _items(_BYTES, values)


def _items(oid: int, values: Sequence[bytes | None]) -> BinaryArray:
    body = b"".join(_NULL if v is None else _LENGTH(len(v)) + v for v in values)
    return _array(oid, len(values), body)


def half_vectors(rows: NDArray[np.float16], *, oid: int) -> BinaryArray:
    """Return an array for `halfvec[]` from the rows of a matrix.

    Args:
        rows: Finite vectors, (n, dimension).
        oid: OID of the type `halfvec`.
    """
    count, dimension = rows.shape
    fields = [("size", ">i4"), ("dimension", ">i2"), ("unused", ">i2")]
    encoded = np.zeros(count, dtype=[*fields, ("values", ">u2", (dimension,))])
    encoded["size"], encoded["dimension"] = 4 + 2 * dimension, dimension
    encoded["values"] = np.ascontiguousarray(rows, dtype=np.float16).view(np.uint16)
    return _array(oid, count, encoded.tobytes())


def read_half_vectors(values: Sequence[bytes], *, dimension: int) -> NDArray[np.float16]:
    """Return vectors that were read in binary form, (n, dimension)."""
    joined = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, 4 + 2 * dimension)
    numbers = np.ascontiguousarray(joined[:, 4:]).view(">u2").astype(np.uint16)
    return numbers.view(np.float16).reshape(-1, dimension)

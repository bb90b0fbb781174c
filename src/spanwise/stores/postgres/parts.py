"""Index parts in a table: rows of a few kilobytes, of which a search reads those it needs.

Rules:
    A part has a number that is never used again, and its rows never change, so a process may keep
        what it read.
    The key of a row is the number of the part, the kind of the row and its place. All rows of a
        search are read by their keys in one statement.
    Each row has a CRC-32, which is verified when it is read.

The arrays of the part with one item for each document or chunk are in the first row, which a
process reads once. The other rows hold the postings of some terms, the vectors of consecutive
chunks, or a piece of the word lists.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spanwise.core.arrays import find_places
from spanwise.stores.bounded_cache import BoundedCache
from spanwise.stores.part import Part, Postings, WordLists
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.part_lists import count_documents, count_runs, document_ordinals
from spanwise.stores.postgres.values import bigints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.postgres.connections import Connection


class Kind(IntEnum):
    """Contents of a row."""

    ARRAYS = 0
    POSTINGS = 1
    VECTORS = 2
    WORD_VECTORS = 3
    WORD_TEXTS = 4
    DOCUMENT_WORDS = 5


class EncodedRow(NamedTuple):
    """Row to be stored."""

    key: int
    crc: int
    data: bytes


Fetch = Callable[[Sequence[int]], Mapping[int, bytes]]
"""Function that reads rows by their keys and verifies their checksums.

Raises DamagedPartError if a row is missing or does not match its checksum.
"""

_PLACE_BITS = 26
_KIND_BITS = 3
PART_SHIFT = _PLACE_BITS + _KIND_BITS
"""Number of the bits of the key of a row below the number of its part."""
_POSTING_BYTES = 3_800  # two rows fit into a page of PostgreSQL
_VECTOR_BYTES = 3_840
_LONG_LIST = 1_000  # postings; longer lists have a row of their own
_WORDS_PER_ROW = 512
_TEXTS_PER_ROW = 1_024
_WORD_ENTRIES = 1_000
_DIGEST_LENGTH = 32


def row_key(part: int, kind: Kind, place: int) -> int:
    """Return the key of a row of a part."""
    return (part << _KIND_BITS | kind) << _PLACE_BITS | place


def key_part(key: int) -> int:
    """Return the number of the part of a row."""
    return key >> PART_SHIFT


def part_keys(part: int) -> range:
    """Return the range of the keys of all rows of a part."""
    return range(row_key(part, Kind.ARRAYS, 0), row_key(part + 1, Kind.ARRAYS, 0))


def part_name(part: int) -> str:
    """Return the name of a part in errors and messages."""
    return str(part)


def damaged_row(key: int, reason: str) -> DamagedPartError:
    """Return the error for a row that cannot be used."""
    part = key_part(key)
    return DamagedPartError(
        f"row {key} of the index part {part} {reason}; it is derived and will be rebuilt",
        name=part_name(part),
    )


def fetch_rows(connection: Connection, keys: Sequence[int]) -> dict[int, bytes]:
    """Return rows of parts by key, read in one statement.

    Raises:
        DamagedPartError: If a row is missing or does not match its checksum.
    """
    rows = connection.execute(
        "select key, crc, data from part_row where key = any(%s::bigint[])",
        (bigints(keys),),
        binary=True,
    )
    found = {}
    for key, crc, data in rows:
        if zlib.crc32(data) != crc:
            raise damaged_row(key, "does not match its checksum")
        found[key] = data
    if len(found) < len(keys):
        raise damaged_row(min(key for key in keys if key not in found), "is missing")
    return found


# Packing of arrays


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as bytes: the length of a header, the header as JSON, then the arrays."""
    header, pieces, offset = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        header[name] = [data.dtype.str, list(data.shape), offset]
        pieces.append(data.tobytes() + bytes(-data.nbytes % 8))
        offset += len(pieces[-1])
    lead = json.dumps(header, separators=(",", ":")).encode("ascii")
    lead += b" " * (-(len(lead) + 4) % 8)
    return b"".join([len(lead).to_bytes(4, "little"), lead, *pieces])


def _unpack(data: bytes) -> dict[str, NDArray[Any]]:
    first = 4 + int.from_bytes(data[:4], "little")
    arrays = {}
    for name, (kind, shape, offset) in json.loads(data[4:first]).items():
        count = int(np.prod(shape, dtype=np.int64))
        array: NDArray[Any] = np.frombuffer(data, kind, count, first + offset)
        arrays[name] = array.reshape(shape)
    return arrays


_ARRAYS = ("numbers", "starts", "scales", "digits", "chars", "tokens", "openings")
_TITLES = ("title_terms", "title_ends", "title_documents")


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredPart:
    """Part whose postings, vectors and word lists are in the table."""

    number: int
    part: Part
    """The part with its small arrays; it has no postings, vectors or words."""
    dimension: int
    term_rows: NDArray[np.uint64]
    """First term of each row of postings, ascending."""
    word_rows: NDArray[np.int64]
    """First document of each row of document words, ascending."""
    words: int
    """Number of entries of the word lists."""
    word_dimension: int
    digest: str
    """Digest of the first row, which holds the numbers, lengths and scales of all chunks."""

    @cached_property
    def owners(self) -> NDArray[np.uint32]:
        """Ordinal of the document of each row, (n,)."""
        return document_ordinals(self.part.starts)


def _vectors_per_row(dimension: int) -> int:
    return max(1, _VECTOR_BYTES // max(1, dimension))


# Encoding


def encode_part(part: Part, number: int) -> Iterator[EncodedRow]:
    """Yield the rows of a part.

    Args:
        part: Part with all its arrays.
        number: Number of the part.
    """
    term_firsts = _posting_rows(part.body)
    word_firsts = _document_rows(part.words)
    arrays = {name: getattr(part, name) for name in (*_ARRAYS, *_TITLES)}
    arrays |= {
        "term_rows": part.body.terms[term_firsts[:-1]],
        "word_rows": word_firsts[:-1],
        "sizes": np.array(
            [part.vectors.shape[1], len(part.words.scales), part.words.vectors.shape[1]],
            dtype=np.int64,
        ),
    }
    pieces: list[tuple[Kind, Iterable[bytes]]] = [
        (Kind.ARRAYS, [_pack(arrays)]),
        (Kind.POSTINGS, _encode_postings(part.body, term_firsts)),
        (Kind.VECTORS, _slices(part.vectors, _vectors_per_row(part.vectors.shape[1]))),
        (Kind.WORD_VECTORS, _encode_word_vectors(part.words)),
        (Kind.WORD_TEXTS, _encode_texts(part.words)),
        (Kind.DOCUMENT_WORDS, _encode_document_words(part.words, word_firsts)),
    ]
    for kind, encoded in pieces:
        for place, data in enumerate(encoded):
            yield EncodedRow(row_key(number, kind, place), zlib.crc32(data), data)


def _slices(array: NDArray[Any], size: int) -> Iterator[bytes]:
    if array.size:
        for first in range(0, len(array), size):
            yield array[first : first + size].tobytes()


def _firsts(sizes: NDArray[np.int64], *, most: int, alone: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first item of each row of the table, and the number of items.

    Args:
        sizes: Size of each item.
        most: Approximate maximum size of a row.
        alone: Whether an item has a row of its own.
    """
    if not len(sizes):
        return np.zeros(1, dtype=np.int64)
    window = (np.cumsum(np.where(alone, 0, sizes)) - sizes) // most
    begins = np.ones(len(sizes), dtype=bool)
    begins[1:] = (window[1:] != window[:-1]) | alone[1:] | alone[:-1]
    return np.append(np.flatnonzero(begins), len(sizes))


def _posting_rows(body: Postings) -> NDArray[np.int64]:
    counts = np.diff(body.ends)
    return _firsts(16 + 3 * counts, most=_POSTING_BYTES, alone=counts > _LONG_LIST)


def _document_rows(words: WordLists) -> NDArray[np.int64]:
    counts = np.diff(words.ends)
    return _firsts(1 + counts, most=_WORD_ENTRIES, alone=counts > _WORD_ENTRIES)


def _encode_postings(body: Postings, firsts: NDArray[np.int64]) -> Iterator[bytes]:
    """Yield rows: number of terms, size of a gap, terms, counts, first rows, gaps, impacts."""
    counts = np.diff(body.ends).astype("<u4")
    rows = np.asarray(body.rows, dtype=np.int64)
    gaps = np.diff(rows, prepend=0)
    is_first = np.zeros(len(rows), dtype=bool)
    is_first[body.ends[:-1]] = True
    for first, end in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        low, high = int(body.ends[first]), int(body.ends[end])
        own = gaps[low:high][~is_first[low:high]]
        kind = np.min_scalar_type(int(own.max(initial=0))).newbyteorder("<")
        yield b"".join(
            [
                np.array([end - first, kind.itemsize], dtype="<u4").tobytes(),
                body.terms[first:end].astype("<u8").tobytes(),
                counts[first:end].tobytes(),
                rows[body.ends[first:end]].astype("<u4").tobytes(),
                own.astype(kind).tobytes(),
                np.ascontiguousarray(body.impacts[low:high]).tobytes(),
            ]
        )


def _encode_word_vectors(words: WordLists) -> Iterator[bytes]:
    for first in range(0, len(words.scales) if words.vectors.shape[1] else 0, _WORDS_PER_ROW):
        block = slice(first, first + _WORDS_PER_ROW)
        yield words.scales[block].astype("<f4").tobytes() + words.vectors[block].tobytes()


def _encode_texts(words: WordLists) -> Iterator[bytes]:
    for first in range(0, len(words.lines), _TEXTS_PER_ROW):
        yield "\n".join(words.lines[first : first + _TEXTS_PER_ROW]).encode("utf-8")


def _encode_document_words(words: WordLists, firsts: NDArray[np.int64]) -> Iterator[bytes]:
    counts = np.diff(words.ends).astype("<u4")
    for first, end in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        entries = words.entries[int(words.ends[first]) : int(words.ends[end])]
        yield counts[first:end].tobytes() + entries.astype("<u4").tobytes()


# Decoding


def decode_part(number: int, data: bytes) -> StoredPart:
    """Return a part, given its first row."""
    arrays = _unpack(data)
    dimension, words, word_dimension = arrays.pop("sizes").tolist()
    rows = len(arrays["scales"])
    small: dict[str, Any] = {name: arrays[name] for name in (*_ARRAYS, *_TITLES)}
    part = Part(
        **small,
        vectors=np.empty((rows, 0), dtype=np.int8),
        body=join_terms({}, np.empty(0, dtype=np.uint32)),
        words=_NO_WORDS,
    )
    return StoredPart(
        number=number,
        part=part,
        dimension=dimension,
        term_rows=arrays["term_rows"],
        word_rows=arrays["word_rows"],
        words=words,
        word_dimension=word_dimension,
        digest=hashlib.sha256(data).hexdigest()[:_DIGEST_LENGTH],
    )


_NO_WORDS = WordLists(
    texts=np.empty(0, dtype=np.uint8),
    vectors=np.empty((0, 0), dtype=np.int8),
    scales=np.empty(0, dtype=np.float32),
    entries=np.empty(0, dtype=np.uint32),
    ends=np.zeros(1, dtype=np.int64),
)


class TermList(NamedTuple):
    """Postings of one term in one part, in the compact form of their row; see `Postings`."""

    first: int
    """First row with the term."""
    last: int
    """Last row with the term."""
    gaps: NDArray[np.unsignedinteger[Any]]
    """Difference of each row to the row before it; 0 for the first one."""
    impacts: NDArray[np.uint8]

    @property
    def size(self) -> int:
        """Number of postings."""
        return len(self.impacts)

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.gaps.nbytes + self.impacts.nbytes + _TERM_BYTES


TermLists = dict[int, "TermList | None"]
"""Postings of a term by the number of the part; None for a part without the term."""


class _JoinedPostings(Postings):
    """Postings of some terms; each array is created when it is first used.

    Terms of similar words are only counted and read in passages, which needs no documents.
    """

    _lists: Sequence[TermList]
    _owners: NDArray[np.uint32]

    def __init__(
        self, terms: Sequence[int], lists: Sequence[TermList], owners: NDArray[np.uint32]
    ) -> None:
        values = {
            "terms": np.array(terms, dtype=np.uint64),
            "ends": np.cumsum([0, *(own.size for own in lists)], dtype=np.int64),
            "_lists": lists,
            "_owners": owners,
        }
        for name, value in values.items():  # the class is frozen
            object.__setattr__(self, name, value)

    @cached_property
    def rows(self) -> NDArray[np.uint32]:
        gaps = [np.empty(0, dtype=np.uint32), *(own.gaps for own in self._lists)]
        steps = np.concatenate(gaps, dtype=np.uint32)
        if self._lists:  # from the last row of each term to the first one of the next
            firsts = np.array([own.first for own in self._lists], dtype=np.uint32)
            firsts[1:] -= np.array([own.last for own in self._lists[:-1]], dtype=np.uint32)
            steps[self.ends[:-1]] = firsts
        return np.cumsum(steps, dtype=np.uint32, out=steps)

    @cached_property
    def impacts(self) -> NDArray[np.uint8]:
        return np.concatenate([np.empty(0, dtype=np.uint8), *(own.impacts for own in self._lists)])

    @cached_property
    def _documents(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        return count_runs(self.ends, self._owners[self.rows])

    @property
    def document_ends(self) -> NDArray[np.int64]:
        return self._documents[0]

    @property
    def documents(self) -> NDArray[np.uint32]:
        return self._documents[1]

    @property
    def chunks(self) -> NDArray[np.uint32]:
        return self._documents[2]


class _PostingRow(NamedTuple):
    """Decoded row of postings."""

    terms: NDArray[np.uint64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.uint32]
    gaps: NDArray[np.unsignedinteger[Any]]
    impacts: NDArray[np.uint8]

    @classmethod
    def decode(cls, data: bytes) -> _PostingRow:
        count, item_bytes = np.frombuffer(data, "<u4", 2).tolist()
        terms = np.frombuffer(data, "<u8", count, 8)
        counts = np.frombuffer(data, "<u4", count, 8 + 8 * count)
        firsts = np.frombuffer(data, "<u4", count, 8 + 12 * count)
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        total, start = int(ends[-1]), 8 + 16 * count
        gaps = np.frombuffer(data, f"<u{item_bytes}", total - count, start)
        impacts = np.frombuffer(data, np.uint8, total, start + gaps.nbytes)
        return cls(terms, ends, firsts, gaps, impacts)

    def find(self, terms: Sequence[int]) -> Iterator[TermList | None]:
        """Yield copies of the postings of some terms; None for a term without postings."""
        places = find_places(self.terms, np.array(terms, dtype=np.uint64)).tolist()
        for place in places:
            if place < 0:
                yield None
                continue
            low, high = self.ends[place : place + 2].tolist()
            gaps = np.zeros(high - low, dtype=self.gaps.dtype)
            gaps[1:] = self.gaps[low - place : high - place - 1]
            first = int(self.firsts[place])
            last = first + int(gaps.sum(dtype=np.int64))
            yield TermList(first, last, gaps, self.impacts[low:high].copy())

    def all_rows(self) -> NDArray[np.uint32]:
        """Return the rows of all terms, one term after the other."""
        steps = np.empty(int(self.ends[-1]), dtype=np.int64)
        is_first = np.zeros(len(steps), dtype=bool)
        is_first[self.ends[:-1]] = True
        steps[~is_first] = self.gaps
        steps[is_first] = 0
        sums = np.cumsum(steps)
        shifts = self.firsts - sums[self.ends[:-1]]
        return (sums + np.repeat(shifts, np.diff(self.ends))).astype(np.uint32)


def decode_postings(pieces: Sequence[bytes], starts: NDArray[np.int64]) -> Postings:
    """Return all postings of a part.

    Args:
        pieces: Rows of postings in order.
        starts: First row of each document of the part, see `Part.starts`.
    """
    decoded = [_PostingRow.decode(data) for data in pieces]
    counts = [np.diff(row.ends) for row in decoded]
    no_rows = np.empty(0, dtype=np.uint32)
    rows = np.concatenate([no_rows, *(row.all_rows() for row in decoded)])
    ends = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *counts]))
    document_ends, documents, chunks = count_documents(ends, rows, starts)
    return Postings(
        terms=np.concatenate([np.empty(0, dtype=np.uint64), *(row.terms for row in decoded)]),
        ends=ends,
        rows=rows,
        impacts=np.concatenate([np.empty(0, dtype=np.uint8), *(row.impacts for row in decoded)]),
        document_ends=document_ends,
        documents=documents,
        chunks=chunks,
    )


def join_terms(lists: Mapping[int, TermList], owners: NDArray[np.uint32]) -> Postings:
    """Return the postings of some terms.

    Args:
        lists: Postings by the hash of their term.
        owners: Ordinal of the document of each row of the part.
    """
    terms = sorted(lists)
    return _JoinedPostings(terms, [lists[term] for term in terms], owners)


_TERM_CACHE_BYTES = 128 << 20
_ROW_CACHE_BYTES = 192 << 20
_LINE_CACHE_BYTES = 64 << 20
_ENTRY_BYTES = 200  # overhead of a cached value
_TERM_BYTES = 300  # overhead of the postings of a term, besides


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCache:
    """Cache of the rows of parts, for one process."""

    terms: BoundedCache[int, TermLists] = field(
        default_factory=lambda: BoundedCache(_TERM_CACHE_BYTES)
    )
    """Postings by term."""
    rows: BoundedCache[int, bytes] = field(default_factory=lambda: BoundedCache(_ROW_CACHE_BYTES))
    """Rows of vectors and words by key."""
    lines: BoundedCache[int, list[str]] = field(
        default_factory=lambda: BoundedCache(_LINE_CACHE_BYTES)
    )
    """Entries of the word lists by key of their row."""

    def clear(self) -> None:
        """Remove all values."""
        self.terms.clear()
        self.rows.clear()
        self.lines.clear()


class TermRequest(NamedTuple):
    """Rows to read for the postings of some terms in some parts."""

    parts: tuple[StoredPart, ...]
    hashes: tuple[int, ...]
    known: dict[int, TermLists]
    wanted: dict[int, tuple[StoredPart, list[int]]]
    """Part and terms of each row to read, by the key of the row."""


def request_terms(
    parts: Sequence[StoredPart], hashes: NDArray[np.uint64], cache: PartCache
) -> TermRequest:
    """Return which rows must be read for the postings of some terms in some parts."""
    terms = hashes.tolist()
    known = cache.terms.find(terms)
    none: TermLists = {}
    wanted: dict[int, tuple[StoredPart, list[int]]] = {}
    for part in parts:
        number = part.number
        missing = [term for term in terms if number not in known.get(term, none)]
        places = np.searchsorted(part.term_rows, np.array(missing, dtype=np.uint64), side="right")
        for term, place in zip(missing, places.tolist(), strict=True):
            if place:
                key = row_key(number, Kind.POSTINGS, place - 1)
                wanted.setdefault(key, (part, []))[1].append(term)
    return TermRequest(tuple(parts), tuple(terms), known, wanted)


def receive_terms(
    request: TermRequest, rows: Mapping[int, bytes], cache: PartCache
) -> list[Postings]:
    """Return the postings of some terms in each part, and cache them.

    Args:
        request: Request for the terms.
        rows: The wanted rows by key.
        cache: Cache to which the postings are added.
    """
    read: dict[int, TermLists] = {}
    for key, (part, terms) in request.wanted.items():
        found = _PostingRow.decode(rows[key]).find(terms)
        for term, own in zip(terms, found, strict=True):
            read.setdefault(term, {})[part.number] = own
    lists = dict(request.known)
    numbers = {part.number for part in request.parts}
    for term, new in read.items():
        held = {n: own for n, own in lists.get(term, {}).items() if n in numbers} | new
        lists[term] = held
        size = sum(own.nbytes for own in held.values() if own is not None)
        cache.terms.add(term, held, size + _ENTRY_BYTES * (1 + len(held)))
    joined = []
    for part in request.parts:
        number = part.number
        in_part = ((term, held.get(number)) for term, held in lists.items())
        own_lists = {term: own for term, own in in_part if own is not None}
        joined.append(join_terms(own_lists, part.owners))
    return joined


def read_rows(keys: Iterable[int], fetch: Fetch, cache: PartCache) -> dict[int, bytes]:
    """Return rows by key, from the cache or the table.

    Raises:
        DamagedPartError: As `Fetch`.
    """
    wanted = list(dict.fromkeys(keys))
    found = cache.rows.find(wanted)
    missing = [key for key in wanted if key not in found]
    if missing:
        for key, data in fetch(missing).items():
            found[key] = data
            cache.rows.add(key, data, len(data) + _ENTRY_BYTES)
    return found


# Words


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredWords(WordLists):
    """Word lists of a stored part, which are read when they are used."""

    stored: StoredPart
    fetch: Fetch
    cache: PartCache

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.stored.words

    @cached_property
    def lines(self) -> list[str]:
        """The entries as texts, (V,)."""
        keys = [self._key(Kind.WORD_TEXTS, place) for place in range(self._rows(_TEXTS_PER_ROW))]
        rows = self.fetch(keys) if keys else {}
        return [line for key in keys for line in rows[key].decode("utf-8").split("\n")]

    def line(self, index: int) -> str:
        """Return an entry as text."""
        place, at = divmod(index, _TEXTS_PER_ROW)
        lines = self._held.get(place)
        if lines is None:
            self._hold_lines()
            lines = self._held[place]
        return lines[at]

    @cached_property
    def _held(self) -> dict[int, list[str]]:
        """Entries by the place of their row."""
        return {}

    def _hold_lines(self) -> None:
        """Read the rows of all entries at once, those that are not cached."""
        places = range(self._rows(_TEXTS_PER_ROW))
        keys = [self._key(Kind.WORD_TEXTS, place) for place in places]
        found = self.cache.lines.find(keys)
        missing = [key for key in keys if key not in found]
        for key, data in (self.fetch(missing) if missing else {}).items():
            found[key] = data.decode("utf-8").split("\n")
            self.cache.lines.add(key, found[key], len(data) + _ENTRY_BYTES * len(found[key]) // 2)
        self._held.update(zip(places, (found[key] for key in keys), strict=True))

    def vectors_of(
        self, indexes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return the vectors and scales of some entries, whose indexes are ascending."""
        width = self.stored.word_dimension
        places, firsts = np.unique(indexes // _WORDS_PER_ROW, return_index=True)
        keys = [self._key(Kind.WORD_VECTORS, place) for place in places.tolist()]
        rows = read_rows(keys, self.fetch, self.cache)
        vectors = np.empty((len(indexes), width), dtype=np.int8)
        scales = np.empty(len(indexes), dtype=np.float32)
        ends = np.append(firsts[1:], len(indexes))
        for key, first, end in zip(keys, firsts.tolist(), ends.tolist(), strict=True):
            data = rows[key]
            count = len(data) // (4 + width)
            at = indexes[first:end] % _WORDS_PER_ROW
            scales[first:end] = np.frombuffer(data, "<f4", count)[at]
            block = np.frombuffer(data, np.int8, count * width, 4 * count).reshape(count, width)
            block.take(at, axis=0, out=vectors[first:end])
        return vectors, scales

    def entries_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the entries of some documents, one document after the other."""
        keys = document_word_keys(self.stored, ordinals)
        rows = read_rows(keys, self.fetch, self.cache)
        firsts = np.append(self.stored.word_rows, self.stored.part.documents)
        pieces = [np.empty(0, dtype=np.uint32)]
        for ordinal, key in zip(ordinals.tolist(), keys, strict=True):
            place = key & ((1 << _PLACE_BITS) - 1)
            first, count = int(firsts[place]), int(firsts[place + 1] - firsts[place])
            counts = np.frombuffer(rows[key], "<u4", count)
            ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
            low, high = ends[ordinal - first : ordinal - first + 2].tolist()
            pieces.append(np.frombuffer(rows[key], "<u4", high - low, 4 * (count + low)))
        return np.concatenate(pieces)

    def all_entries(self) -> WordLists:
        """Return the word lists with all arrays, for a merge."""
        stored = self.stored
        places = range(len(stored.word_rows))
        keys = [self._key(Kind.DOCUMENT_WORDS, place) for place in places]
        rows = self.fetch(keys) if keys else {}
        firsts = np.append(stored.word_rows, stored.part.documents)
        counts = [np.zeros(1, dtype=np.int64)]
        entries = [np.empty(0, dtype=np.uint32)]
        for key, size in zip(keys, np.diff(firsts).tolist(), strict=True):
            counts.append(np.frombuffer(rows[key], "<u4", size).astype(np.int64))
            entries.append(np.frombuffer(rows[key], "<u4", -1, 4 * size))
        width = stored.word_dimension
        vectors = np.empty((stored.words, width), dtype=np.int8)
        scales = np.zeros(stored.words, dtype=np.float32)
        if width:
            vectors, scales = self.vectors_of(np.arange(stored.words))
        return WordLists(
            texts=np.frombuffer("\n".join(self.lines).encode("utf-8"), dtype=np.uint8),
            vectors=vectors,
            scales=scales,
            entries=np.concatenate(entries),
            ends=np.cumsum(np.concatenate(counts)),
        )

    def _rows(self, size: int) -> int:
        return -(-self.stored.words // size)

    def _key(self, kind: Kind, place: int) -> int:
        return row_key(self.stored.number, kind, place)


def document_word_keys(stored: StoredPart, ordinals: NDArray[np.int64]) -> list[int]:
    """Return the key of the row with the words of each document."""
    places = np.searchsorted(stored.word_rows, ordinals, side="right") - 1
    return [row_key(stored.number, Kind.DOCUMENT_WORDS, place) for place in places.tolist()]


def stored_words(stored: StoredPart, fetch: Fetch, cache: PartCache) -> StoredWords:
    """Return the word lists of a part, which are read when they are used."""
    return StoredWords(
        texts=_NO_WORDS.texts,
        vectors=np.empty((0, stored.word_dimension), dtype=np.int8),
        scales=_NO_WORDS.scales,
        entries=_NO_WORDS.entries,
        ends=_NO_WORDS.ends,
        stored=stored,
        fetch=fetch,
        cache=cache,
    )


def read_whole(stored: StoredPart, fetch: Fetch) -> Part:
    """Return a part with all its arrays, for a merge; nothing is cached.

    Raises:
        DamagedPartError: As `Fetch`.
    """
    cache = PartCache(terms=BoundedCache(0), rows=BoundedCache(1 << 40))
    keys = [row_key(stored.number, Kind.POSTINGS, place) for place in range(len(stored.term_rows))]
    rows = fetch(keys) if keys else {}
    body = decode_postings([rows[key] for key in keys], stored.part.starts)
    vectors = read_all_vectors(stored, fetch)
    part = replace(stored.part, body=body, vectors=vectors)
    return replace(part, words=stored_words(stored, fetch, cache).all_entries())


def read_all_vectors(stored: StoredPart, fetch: Fetch) -> NDArray[np.int8]:
    """Return the vectors of a part, (n, dimension).

    Raises:
        DamagedPartError: As `Fetch`.
    """
    count = stored.part.rows if stored.dimension else 0
    places = range(-(-count // _vectors_per_row(stored.dimension)))
    keys = [row_key(stored.number, Kind.VECTORS, place) for place in places]
    rows = fetch(keys) if keys else {}
    joined = np.frombuffer(b"".join([rows[key] for key in keys]), dtype=np.int8)
    return joined.reshape(stored.part.rows, stored.dimension)

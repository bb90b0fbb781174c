"""Index part: postings and vectors of whole documents in immutable arrays, in memory or in a file.

Rules:
    A part holds whole documents, ascending by number; the rows of a document are contiguous and in
    the order of its chunks.
    A part in memory and a part in a file have the same arrays, except that ordinals and counts may
        be two-byte integers in a file: convert them to a wider type before arithmetic.
    Terms are identified by a 64-bit hash; arrays over terms are sorted by it.
    Vectors and postings of a file are verified before they are read (`check_vectors`,
    `check_terms`). The other arrays are verified when the file is opened.

File layout: 8 bytes `SPANPART`, length of the header (4 bytes, little endian), CRC-32 of the header
(4 bytes), the header as JSON, then the arrays from the next multiple of 4,096 bytes on, each at a
multiple of 64 bytes, then the CRC-32 of each 4,096 bytes of them. The header holds the format, the
size of the file, type, shape and offset of each array, and offset and CRC-32 of the checksums.
`docs/format.md` lists the arrays.

A file is written under a temporary name, flushed to disk and renamed. It is never changed or
truncated, because other processes map it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spanwise.errors import FormatError
from spanwise.stores.disk import force_to_disk, private_opener, sync_folder
from spanwise.stores.folder import share_index_file
from spanwise.stores.part_checksums import BLOCK_BYTES, ArrayPlace, Blocks, block_checksums
from spanwise.stores.part_structure import array_problem, arrays_problem, postings_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAZY_ARRAYS = (
    "vectors",
    "body_rows",
    "body_impacts",
    "body_documents",
    "body_chunks",
    "word_vectors",
)
"""File names of the large arrays, which are verified on first read."""


def term_hashes(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of terms in the given order; equal in every process."""
    return np.fromiter(map(_hash_term, terms), dtype=np.uint64, count=len(terms))


@lru_cache(maxsize=8_192)  # a search looks up most terms several times
def _hash_term(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postings:
    """Inverted lists of H terms: the rows and documents that contain each term."""

    terms: NDArray[np.uint64]
    """Term hashes, ascending, (H,)."""
    ends: NDArray[np.int64]
    """End offsets: the rows of term h are `rows[ends[h] : ends[h + 1]]`, (H + 1,)."""
    rows: NDArray[np.uint32]
    """Rows with each term, ascending per term, (P,)."""
    impacts: NDArray[np.uint8]
    """Quantised BM25 impact of the term in each of these rows (`core.ranking.bm25`), (P,)."""
    document_ends: NDArray[np.int64]
    """End offsets: the documents of term h are `documents[document_ends[h] :
    document_ends[h + 1]]`, (H + 1,)."""
    documents: NDArray[np.uint32]
    """Ordinals of documents with each term, ascending per term, (Q,)."""
    chunks: NDArray[np.uint32]
    """Number of chunks with the term in each of these documents, (Q,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WordLists:
    """Pairs of a term and a word of d documents (see `core.ranking.similar_words`)."""

    texts: NDArray[np.uint8]
    """V distinct entries (term, tab, word), ascending, joined by newlines, in UTF-8."""
    vectors: NDArray[np.int8]
    """Quantised vectors of the words (`models.word_vectors`), (V, 256); (V, 0) without vectors."""
    scales: NDArray[np.float32]
    """Scale of each vector, (V,)."""
    entries: NDArray[np.uint32]
    """Indexes of the entries of each document, ascending per document."""
    ends: NDArray[np.int64]
    """End offsets: the entries of document i are `entries[ends[i] : ends[i + 1]]`, (d + 1,)."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.scales)

    def line(self, index: int) -> str:
        """Return an entry as text."""
        return self.lines[index]

    def vectors_of(
        self, indexes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return the vectors and scales of some entries, whose indexes are ascending."""
        if len(indexes) == len(self.scales):
            return self.vectors, self.scales
        return self.vectors.take(indexes, axis=0), self.scales[indexes]

    def entries_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the entries of some documents, one document after the other."""
        if len(ordinals) == len(self.ends) - 1:
            return self.entries
        bounds = zip(self.ends[ordinals].tolist(), self.ends[ordinals + 1].tolist(), strict=True)
        return np.concatenate([self.entries[:0], *(self.entries[a:b] for a, b in bounds)])

    def distinct(self, entries: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the distinct indexes of some entries, ascending."""
        is_used = np.zeros(self.size, dtype=np.bool_)
        is_used[entries.astype(np.intp)] = True  # twice as fast as indexes of another type
        return np.flatnonzero(is_used)

    @cached_property
    def lines(self) -> list[str]:
        """The entries as texts, (V,)."""
        return self.texts.tobytes().decode("utf-8").split("\n") if len(self.scales) else []

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Terms and words of all entries, (V,) each."""
        split = [line.partition("\t") for line in self.lines]
        return [term for term, _, _ in split], [word for _, _, word in split]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Arrays of an index part with d documents and n chunks.

    A row is the index of a chunk in the part, and an ordinal is the index of a document.
    """

    numbers: NDArray[np.int64]
    """Document numbers, ascending, (d,)."""
    starts: NDArray[np.int64]
    """Start offsets: the rows of document i are `[starts[i], starts[i + 1])`, (d + 1,)."""
    vectors: NDArray[np.int8]
    """Quantised vectors, (n, dimension); dimension 0 without vectors."""
    scales: NDArray[np.float32]
    """Scale of each vector, (n,)."""
    digits: NDArray[np.uint8]
    """Share of digits in each chunk, in steps of 1/255, (n,)."""
    chars: NDArray[np.uint32]
    """Length of each chunk in characters, (n,)."""
    tokens: NDArray[np.uint32]
    """Length of each chunk in tokens of the knowledge base's tokenizer, (n,)."""
    openings: NDArray[np.uint8]
    """1 for a chunk that starts a section of its document, otherwise 0, (n,)."""
    body: Postings
    title_terms: NDArray[np.uint64]
    """Hashes of the terms of title words, ascending, (G,)."""
    title_ends: NDArray[np.int64]
    """End offsets: the documents of term g are `title_documents[title_ends[g] :
    title_ends[g + 1]]`, (G + 1,)."""
    title_documents: NDArray[np.uint32]
    """Ordinals of documents with each term in their title words, ascending per term."""
    words: WordLists
    blocks: Blocks | None = None
    """Checksums of the file; None for a part in memory, where checks do nothing."""

    @property
    def name(self) -> str:
        """File name; empty for a part in memory."""
        return "" if self.blocks is None else self.blocks.name

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.numbers)

    @property
    def rows(self) -> int:
        """Number of chunks."""
        return len(self.scales)

    def check_size(self) -> None:
        """Check that the size of the file has not changed since it was mapped.

        Raises:
            DamagedPartError: If the size differs.
        """
        if self.blocks is not None:
            self.blocks.check_size()

    def check_vectors(self) -> None:
        """Verify the checksums of the vectors; only the first call reads them.

        Raises:
            DamagedPartError: If they do not match their checksums.
        """
        if self.blocks is not None:
            self.blocks.check_array("vectors")

    def check_word_vectors(self) -> None:
        """Verify the checksums of the word vectors on their first use.

        Raises:
            DamagedPartError: If they do not match their checksums.
        """
        if self.blocks is not None:
            self.blocks.check_array("word_vectors")

    def check_terms(self, places: Iterable[int]) -> None:
        """Verify the checksums of the postings of some terms; each term is verified only once.

        Args:
            places: Indexes into `body.terms`; negative values are ignored.

        Raises:
            DamagedPartError: If they do not match their checksums.
        """
        blocks = self.blocks
        if blocks is None:
            return
        body = self.body
        for place in places:
            if place < 0 or place in blocks.terms:
                continue
            start, stop = int(body.ends[place]), int(body.ends[place + 1])
            blocks.check_items("body_rows", start, stop)
            blocks.check_items("body_impacts", start, stop)
            start, stop = int(body.document_ends[place]), int(body.document_ends[place + 1])
            blocks.check_items("body_documents", start, stop)
            blocks.check_items("body_chunks", start, stop)
            blocks.check_structure(postings_problem(self, place, place + 1))
            blocks.terms.add(place)

    def check_all(self) -> None:
        """Verify the size and all arrays, including arrays verified before.

        Raises:
            DamagedPartError: If the size or an array differs.
        """
        if self.blocks is not None:
            self.blocks.check_all()
            self.blocks.check_structure(postings_problem(self, 0, len(self.body.terms)))


class PartRows(NamedTuple):
    """Some rows of a part."""

    part: Part
    rows: NDArray[np.int64]


def part_vectors(items: Sequence[PartRows]) -> list[NDArray[np.int8]]:
    """Return the vectors of rows of parts that hold their vectors.

    Raises:
        DamagedPartError: If vectors do not match their checksums.
    """
    for part, _ in items:
        part.check_vectors()
    return [part.vectors.take(rows, axis=0) for part, rows in items]


PART_FORMAT = 5
_MAGIC = b"SPANPART"
_ALIGNMENT = 64
_LEAD_BYTES = 16
_POSTINGS = ("terms", "ends", "rows", "impacts", "document_ends", "documents", "chunks")
_WORDS = ("texts", "vectors", "scales", "entries", "ends")
_ARRAYS = (
    "numbers",
    "starts",
    "vectors",
    "scales",
    "digits",
    "chars",
    "tokens",
    "openings",
    "title_terms",
    "title_ends",
    "title_documents",
)
_INVALID = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors that a forged header with a correct checksum can cause."""
_NARROW = ("title_documents", "body_documents", "body_chunks")


def _arrays(part: Part) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a part by name, in the order of the file."""
    for name in _ARRAYS:
        yield name, getattr(part, name)
    for name in _POSTINGS:
        yield f"body_{name}", getattr(part.body, name)
    for name in _WORDS:
        yield f"word_{name}", getattr(part.words, name)


def _narrow(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in file byte order, with two-byte ordinals and counts if they fit."""
    if name in _NARROW:
        array = array.astype(np.uint32 if array.max(initial=0) >= 1 << 16 else np.uint16)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _aligned(offset: int, step: int = _ALIGNMENT) -> int:
    return -(-offset // step) * step


def write_part(part: Part, path: Path) -> int:
    """Write a part to a new file; it is durable when this returns.

    Returns:
        Size of the file in bytes.

    Raises:
        OSError: If it cannot be written; the partial file is removed.
    """
    arrays = [(name, _narrow(name, array)) for name, array in _arrays(part)]
    pieces = [piece for _, array in arrays for piece in _pieces(array)]
    checksums = block_checksums(pieces)
    header, size = _lay_out(arrays, checksums)
    temporary = path.with_suffix(".tmp")
    try:
        with open(temporary, "wb", opener=private_opener) as file:
            file.write(_MAGIC + len(header).to_bytes(4, "little"))
            file.write(zlib.crc32(header).to_bytes(4, "little") + header)
            file.write(bytes(_aligned(file.tell(), BLOCK_BYTES) - file.tell()))
            for piece in pieces:
                file.write(piece)
            file.write(checksums.data)
            file.flush()
            force_to_disk(file.fileno())
        share_index_file(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return size


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array, and zero padding up to the next array."""
    if array.nbytes:
        yield array.reshape(-1).view(np.uint8).data
        yield memoryview(bytes(_aligned(array.nbytes) - array.nbytes))


def _lay_out(
    arrays: list[tuple[str, NDArray[Any]]], checksums: NDArray[np.uint32]
) -> tuple[bytes, int]:
    """Return the header and the size of the file.

    Offsets in the header are texts of fixed length, so the length of the header does not depend on
    them.
    """
    described: dict[str, dict[str, object]] = {
        name: {"type": array.dtype.str, "shape": list(array.shape), "offset": f"{0:016d}"}
        for name, array in arrays
    }
    table = {"offset": f"{0:016d}", "crc": zlib.crc32(checksums.data)}
    offset = _aligned(_LEAD_BYTES + len(_header(described, table, 0)), BLOCK_BYTES)
    for name, array in arrays:
        described[name]["offset"] = f"{offset:016d}"
        offset += _aligned(array.nbytes)
    table["offset"] = f"{offset:016d}"
    size = offset + checksums.nbytes
    return _header(described, table, size), size


def _header(described: Mapping[str, object], checksums: Mapping[str, object], size: int) -> bytes:
    fields = {
        "format": PART_FORMAT,
        "bytes": f"{size:016d}",
        "arrays": described,
        "checksums": checksums,
    }
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def _read_header(data: mmap.mmap, path: Path) -> dict[str, Any]:
    length = int.from_bytes(data[8:12], "little")
    header = data[_LEAD_BYTES : _LEAD_BYTES + length]
    if data[:8] != _MAGIC or zlib.crc32(header) != int.from_bytes(data[12:16], "little"):
        raise FormatError(
            f"{path} is not an index part, or is damaged; delete it, the index is rebuilt"
        )
    try:
        fields: dict[str, Any] = json.loads(header)
        written, size = fields["format"], int(fields["bytes"])
    except _INVALID as error:
        raise FormatError(f"{path} has an invalid header ({error!r}); delete it") from error
    if written != PART_FORMAT:
        raise FormatError(f"{path} has format {written!r}, not {PART_FORMAT}; delete it")
    if size != len(data):
        raise FormatError(f"{path} has {len(data)} bytes, not {size}; delete it")
    return fields


def open_part(path: Path) -> Part:
    """Map a part; its arrays are read-only and keep the file mapped.

    Small arrays are verified here. Vectors and postings are verified by the methods of the part.

    Raises:
        FileNotFoundError: If the file does not exist.
        FormatError: If it is not a part, has another format or size, or is damaged.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < _LEAD_BYTES:
            raise FormatError(f"{path} is too short for an index part; it is derived: delete it")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    fields = _read_header(data, path)
    try:
        blocks = _blocks(data, fields, path)
        arrays = {name: _array(data, name, array) for name, array in fields["arrays"].items()}
        postings = {name: arrays.pop(f"body_{name}") for name in _POSTINGS}
        words = {name: arrays.pop(f"word_{name}") for name in _WORDS}
        part = Part(body=Postings(**postings), words=WordLists(**words), blocks=blocks, **arrays)
    except _INVALID as error:
        raise FormatError(f"{path} has an invalid header ({error!r}); delete it") from error
    for name in fields["arrays"]:
        if name not in LAZY_ARRAYS:
            blocks.check_array(name)
    blocks.check_structure(arrays_problem(part))
    return part


def _blocks(data: mmap.mmap, fields: Mapping[str, Any], path: Path) -> Blocks:
    """Return the blocks of a mapped part, with a copy of their checksums.

    Raises:
        FormatError: If the checksums themselves are damaged.
    """
    places = {
        name: ArrayPlace(
            int(array["offset"]),
            int(np.prod(array["shape"], dtype=np.int64)),
            np.dtype(array["type"]).itemsize,
        )
        for name, array in fields["arrays"].items()
    }
    first, end = min(place.offset for place in places.values()), int(fields["checksums"]["offset"])
    checksums = np.frombuffer(data, dtype="<u4", offset=end).copy()
    whole = len(checksums) == -(-(end - first) // BLOCK_BYTES)
    if not whole or zlib.crc32(checksums.data) != fields["checksums"]["crc"]:
        raise FormatError(f"the checksums of {path} are damaged; it is derived: delete it")
    return Blocks(path, data, places, checksums, first_byte=first, end_byte=end)


def _array(data: mmap.mmap, name: str, fields: Mapping[str, Any]) -> NDArray[Any]:
    count = int(np.prod(fields["shape"], dtype=np.int64))
    array: NDArray[Any]
    if count:
        array = np.frombuffer(
            data, dtype=fields["type"], count=count, offset=int(fields["offset"])
        ).reshape(fields["shape"])
    else:
        array = np.empty(fields["shape"], dtype=fields["type"])
    problem = array_problem(name, array)
    if problem:
        raise ValueError(problem)
    return array


def check_part_file(path: Path) -> None:
    """Verify the size and all arrays of a part file.

    Raises:
        FileNotFoundError: If the file does not exist.
        FormatError: If an array does not match its checksums, or as `open_part`.
    """
    open_part(path).check_all()

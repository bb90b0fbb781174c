"""An index part: postings and vectors of some whole documents, in arrays that never change.

Rules:
    A part holds whole documents, ascending by number; the rows of a document lie together, in
    the order of its chunks.
    A part in memory and one in a file are the same arrays, but that ordinals and counts may stand
    in two bytes in a file: widen them before you calculate.
    Terms are known by a 64-bit hash; arrays over terms are sorted by it.

Index parts as files: written once, then mapped.

Layout: 8 bytes `SPANPART`, length of the header (4 bytes, little endian), CRC-32 of the header
(4 bytes), the header as JSON, then the arrays, each at a multiple of 64 bytes from the start of
the file. The header names the format, the size of the file, and for each array its type, shape,
offset and CRC-32. `docs/format.md` lists the arrays.

A file is written under a temporary name, forced to the disk and renamed. It is never changed and
never cut short: other processes have it mapped.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def term_hashes(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of terms, in the order given, the same in every process."""
    return np.fromiter(map(_hash_term, terms), dtype=np.uint64, count=len(terms))


def _hash_term(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def run_indexes(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of the runs `[start, start + length)`, one run after the other."""
    ends: NDArray[np.int64] = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    indexes = np.arange(total, dtype=np.int64)
    indexes += np.repeat(starts - (ends - lengths), lengths)
    return indexes


def find_terms(known: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the place of each wanted hash among the known ones, -1 where it is not known."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    places: NDArray[np.int64] = np.searchsorted(known, wanted)
    places[places == len(known)] = 0
    places[known[places] != wanted] = -1
    return places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postings:
    """Which rows and which documents of a part hold each of H terms."""

    terms: NDArray[np.uint64]
    """Hashes, ascending, (H,)."""
    ends: NDArray[np.int64]
    """The rows of term h are `rows[ends[h] : ends[h + 1]]`, (H + 1,)."""
    rows: NDArray[np.uint32]
    """Ascending for each term, (P,)."""
    impacts: NDArray[np.uint8]
    """BM25 saturation in steps (`core.scores`), (P,)."""
    document_ends: NDArray[np.int64]
    """Those of term h are `documents[document_ends[h] : document_ends[h + 1]]`, (H + 1,)."""
    documents: NDArray[np.uint32]
    """Ordinals of documents, ascending for each term, (Q,)."""
    chunks: NDArray[np.uint32]
    """How many chunks of each hold the term, (Q,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Arrays of d documents with n chunks; a row is a chunk, an ordinal a document of the part."""

    numbers: NDArray[np.int64]
    """Number of each document, ascending, (d,)."""
    starts: NDArray[np.int64]
    """The rows of document i are `[starts[i], starts[i + 1])`, (d + 1,)."""
    vectors: NDArray[np.int8]
    """Quantised vectors, (n, dimension); dimension 0 without vectors."""
    scales: NDArray[np.float32]
    """Scale of each vector, (n,)."""
    digits: NDArray[np.uint8]
    """Share of digits in steps of 1/255, (n,)."""
    chars: NDArray[np.uint32]
    """Length, (n,)."""
    tokens: NDArray[np.uint32]
    """Length under the tokenizer of the knowledge base, (n,)."""
    openings: NDArray[np.uint8]
    """1 for a chunk that begins a section of its document, 0 for others, (n,)."""
    body: Postings
    title_terms: NDArray[np.uint64]
    """Hashes of the terms of title words, ascending, (G,)."""
    title_ends: NDArray[np.int64]
    """Those of term g are `title_documents[title_ends[g] : title_ends[g + 1]]`, (G + 1,)."""
    title_documents: NDArray[np.uint32]
    """Ordinals of documents, ascending for each term."""

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.numbers)

    @property
    def rows(self) -> int:
        """Number of chunks."""
        return len(self.scales)


PART_FORMAT = 2
_MAGIC = b"SPANPART"
_ALIGNMENT = 64
_LEAD_BYTES = 16
_POSTINGS = ("terms", "ends", "rows", "impacts", "document_ends", "documents", "chunks")
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
_NARROW = ("title_documents", "body_documents", "body_chunks")


def _arrays(part: Part) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a part by name, in the order of the file."""
    for name in _ARRAYS:
        yield name, getattr(part, name)
    for name in _POSTINGS:
        yield f"body_{name}", getattr(part.body, name)


def _narrow(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of files, ordinals and counts in two bytes if they fit."""
    if name in _NARROW:
        array = array.astype(np.uint32 if array.max(initial=0) >= 1 << 16 else np.uint16)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def write_part(part: Part, path: Path) -> int:
    """Write a part to a new file, safe on the disk when this returns.

    Returns:
        Size of the file in bytes.

    Raises:
        OSError: If it cannot be written; nothing is left of it.
    """
    arrays = [(name, _narrow(name, array)) for name, array in _arrays(part)]
    described = {
        name: {
            "type": array.dtype.str,
            "shape": list(array.shape),
            "crc": zlib.crc32(array.reshape(-1).view(np.uint8).data),
        }
        for name, array in arrays
    }
    header, offsets, size = _lay_out(described, arrays)
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(_MAGIC + len(header).to_bytes(4, "little"))
            file.write(zlib.crc32(header).to_bytes(4, "little") + header)
            for (_, array), offset in zip(arrays, offsets, strict=True):
                file.write(bytes(offset - file.tell()))
                file.write(array.reshape(-1).view(np.uint8).data)
            file.write(bytes(size - file.tell()))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return size


def _lay_out(
    described: Mapping[str, dict[str, object]], arrays: list[tuple[str, NDArray[Any]]]
) -> tuple[bytes, list[int], int]:
    """Return the header, the offset of each array and the size of the file.

    Offsets stand in the header as texts of fixed length, so that they do not move what follows.
    """
    blank = {name: {**array, "offset": f"{0:016d}"} for name, array in described.items()}
    length = len(_header(blank, 0))
    offset = _aligned(_LEAD_BYTES + length)
    offsets = []
    for name, array in arrays:
        offsets.append(offset)
        blank[name]["offset"] = f"{offset:016d}"
        offset = _aligned(offset + array.nbytes)
    return _header(blank, offset), offsets, offset


def _header(described: Mapping[str, object], size: int) -> bytes:
    fields = {"format": PART_FORMAT, "bytes": f"{size:016d}", "arrays": described}
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the platform can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _read_header(data: mmap.mmap, path: Path) -> dict[str, Any]:
    length = int.from_bytes(data[8:12], "little")
    header = data[_LEAD_BYTES : _LEAD_BYTES + length]
    if data[:8] != _MAGIC or zlib.crc32(header) != int.from_bytes(data[12:16], "little"):
        raise FormatError(f"{path} is no index part, or is damaged; it is derived: delete it")
    fields: dict[str, Any] = json.loads(header)
    if fields["format"] != PART_FORMAT:
        raise FormatError(f"{path} has format {fields['format']!r}, not {PART_FORMAT}; delete it")
    if int(fields["bytes"]) != len(data):
        raise FormatError(f"{path} has {len(data)} bytes, not {fields['bytes']}; delete it")
    return fields


def open_part(path: Path) -> Part:
    """Map a part; its arrays are read-only and keep the file mapped.

    Raises:
        FileNotFoundError: If it is gone.
        FormatError: If it is no part, of another format or of a wrong size.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < _LEAD_BYTES:
            raise FormatError(f"{path} is too short for an index part; it is derived: delete it")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    described = _read_header(data, path)["arrays"]
    arrays = {name: _array(data, fields) for name, fields in described.items()}
    postings = {name: arrays.pop(f"body_{name}") for name in _POSTINGS}
    return Part(body=Postings(**postings), **arrays)


def _array(data: mmap.mmap, fields: Mapping[str, Any]) -> NDArray[Any]:
    count = int(np.prod(fields["shape"], dtype=np.int64))
    if not count:
        return np.empty(fields["shape"], dtype=fields["type"])
    array: NDArray[Any] = np.frombuffer(
        data, dtype=fields["type"], count=count, offset=int(fields["offset"])
    )
    return array.reshape(fields["shape"])


def check_part_file(path: Path) -> None:
    """Compare the checksums of all arrays of a part with those in its header.

    Raises:
        FileNotFoundError: If it is gone.
        FormatError: If one differs, or as `open_part`.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for name, fields in _read_header(data, path)["arrays"].items():
        array = _array(data, fields)
        if zlib.crc32(array.reshape(-1).view(np.uint8).data) != fields["crc"]:
            raise FormatError(f"the array {name} of {path} is damaged; it is derived: delete it")

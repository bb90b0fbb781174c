"""Checksums of the blocks of an index part, verified on first read.

The arrays of a part are divided into blocks of 4 KB, each with a CRC-32. A process verifies each
block once: small arrays when the part is opened, vectors and postings when a search first reads
them. The file size is checked as well, because reading a truncated mapped file would crash the
process.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray


BLOCK_BYTES = 4_096
"""Size of a block in bytes; small, because a search reads few bytes and verifies whole blocks."""


class DamagedPartError(FormatError):
    """An index part does not match its checksums; a store handles the error by rebuilding it."""

    def __init__(self, message: str, *, name: str) -> None:
        """Create the error.

        Args:
            message: Description of the difference.
            name: File name of the part.
        """
        super().__init__(message)
        self.name = name


class ArrayPlace(NamedTuple):
    """Position of an array in the file of a part."""

    offset: int
    """Offset of the first byte, from the start of the file."""
    length: int
    """Number of items: the product of the dimensions of the array."""
    item_bytes: int
    """Size of one item in bytes."""


def block_checksums(pieces: Iterable[memoryview]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each block of some bytes, passed in pieces of any size."""
    checksums = []
    checksum, room = 0, BLOCK_BYTES
    for piece in pieces:
        rest = piece
        while len(rest):
            head, rest = rest[:room], rest[room:]
            checksum = zlib.crc32(head, checksum)
            room -= len(head)
            if not room:
                checksums.append(checksum)
                checksum, room = 0, BLOCK_BYTES
    if room < BLOCK_BYTES:
        checksums.append(checksum)
    return np.array(checksums, dtype="<u4")


class Blocks:
    """Blocks of one mapped part, with a record of the verified blocks. Thread-safe."""

    def __init__(
        self,
        path: Path,
        data: mmap.mmap,
        places: Mapping[str, ArrayPlace],
        checksums: NDArray[np.uint32],
        *,
        first_byte: int,
        end_byte: int,
    ) -> None:
        """Create the blocks of a mapped file; nothing is verified yet.

        Args:
            path: Path of the file.
            data: Bytes of the file.
            places: Position of each array by name.
            checksums: CRC-32 of each block.
            first_byte: Start of the first block.
            end_byte: End of the last block.
        """
        self.name = path.name
        self.terms: set[int] = set()
        """Indexes of the terms whose postings are verified."""
        self._path = path
        self._data = data
        self._bytes = memoryview(data)
        self._places = places
        self._checksums = checksums.tolist()
        self._first_byte = first_byte
        self._end_byte = end_byte
        self._verified = bytearray(len(self._checksums))
        self._whole: set[str] = set()

    def check_size(self) -> None:
        """Check that the size of the file has not changed since it was mapped.

        Raises:
            DamagedPartError: If the size differs.
        """
        size = self._data.size()
        if size != len(self._bytes):
            raise DamagedPartError(
                f"{self._path} has {size} bytes, not {len(self._bytes)}: it was changed after it "
                "was opened",
                name=self.name,
            )

    def check_array(self, name: str) -> None:
        """Verify all blocks of an array that are not verified yet.

        Raises:
            DamagedPartError: If a block does not match its checksum.
        """
        if name not in self._whole:
            self.check_items(name, 0, self._places[name].length)
            self._whole.add(name)

    def check_all(self) -> None:
        """Verify the size and every block, including blocks verified before.

        Raises:
            DamagedPartError: If the size or a block differs.
        """
        self.check_size()
        for block in range(len(self._checksums)):
            self._check_block(block)

    def check_structure(self, problem: str) -> None:
        """Raise if the arrays, whose checksums match, have a defect.

        Args:
            problem: Names of the arrays; "" for no defect.

        Raises:
            DamagedPartError: If there is one.
        """
        if problem:
            raise DamagedPartError(
                f"the arrays of {self._path} contradict each other ({problem}); it is derived: "
                "delete it",
                name=self.name,
            )

    def check_items(self, name: str, start: int, stop: int) -> None:
        """Verify the blocks of the items `[start, stop)` of an array.

        Raises:
            DamagedPartError: If a block does not match its checksum.
        """
        if stop <= start:
            return
        offset, _, item_bytes = self._places[name]
        offset -= self._first_byte
        first = (offset + start * item_bytes) // BLOCK_BYTES
        end = -(-(offset + stop * item_bytes) // BLOCK_BYTES)
        for block in range(first, end):
            if not self._verified[block]:
                self._check_block(block)

    def _check_block(self, block: int) -> None:
        start = self._first_byte + block * BLOCK_BYTES
        end = min(start + BLOCK_BYTES, self._end_byte)
        if zlib.crc32(self._bytes[start:end]) != self._checksums[block]:
            raise DamagedPartError(
                f"bytes {start} to {end} of {self._path} are damaged; it is derived: delete it",
                name=self.name,
            )
        self._verified[block] = 1

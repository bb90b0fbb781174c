"""Files with the vectors of index parts, which the processes of a machine share.

A search compares the quantised vectors of all chunks. Without these files, each process reads them
from the server at its first search and holds them: one byte per dimension and chunk. With a folder
for them, one process reads them, and all others map its files into memory, also after a restart.

Rules:
    A part never changes, and the name of its file has a digest of the part, so a file is valid
        wherever it comes from. It ends with a CRC-32, which a process verifies when it maps it.
    A file is written under another name and renamed. It is deleted when no search of this process
        needs it; other processes that have mapped it keep it.
    A folder that cannot be used is reported once. The process then holds the vectors itself.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import secrets
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.stores.disk import private_opener

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.postgres.address import PostgresAddress
    from spanwise.stores.postgres.parts import StoredPart

_logger = logging.getLogger("spanwise")
_SUFFIX = ".vectors"
_CRC_BYTES = 4
_FOLDER_LENGTH = 32
_WRITE_SECONDS = 3_600  # a partial file of this age is not written any more


class VectorFiles:
    """Files with the vectors of the parts of one knowledge base."""

    def __init__(self, address: PostgresAddress) -> None:
        """Create the object; no folder is created yet.

        Args:
            address: Address of the knowledge base; without a `cache`, there are no files.
        """
        name = f"{address.name}\0{address.schema}\0{address.tenant}"
        digest = hashlib.sha256(name.encode()).hexdigest()[:_FOLDER_LENGTH]
        self._folder = Path(address.cache) / digest if address.cache else None

    def load(self, part: StoredPart, read: Callable[[], NDArray[np.int8]]) -> NDArray[np.int8]:
        """Return the vectors of a part, from its file if possible.

        Args:
            part: Part.
            read: Function that reads the vectors from the server.
        """
        if self._folder is None:
            return read()
        path = self._folder / _file_name(part)
        vectors = _mapped(path, part)
        if vectors is not None:
            return vectors
        vectors = read()
        try:
            _write(path, vectors)
        except OSError as error:
            _logger.warning(
                "%s cannot be written (%s): this process holds the vectors in its own memory",
                self._folder,
                error,
            )
            self._folder = None
            return vectors
        written = _mapped(path, part)
        return vectors if written is None else written

    def keep(self, parts: Sequence[StoredPart]) -> None:
        """Delete the files of all other parts, and partial files of killed processes."""
        if self._folder is None:
            return
        kept = set(map(_file_name, parts))
        oldest = time.time() - _WRITE_SECONDS
        with suppress(OSError):
            for path in self._folder.iterdir():
                is_old = path.suffix == _SUFFIX or path.stat().st_mtime < oldest
                if is_old and path.name not in kept:
                    path.unlink(missing_ok=True)


def _file_name(part: StoredPart) -> str:
    return f"{part.number}-{part.digest}{_SUFFIX}"


def _mapped(path: Path, part: StoredPart) -> NDArray[np.int8] | None:
    """Return the vectors in a file; None if it is missing, damaged or of another size."""
    shape = part.part.rows, part.dimension
    size = shape[0] * shape[1]
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # a ValueError for an empty file
        return None
    if len(data) != size + _CRC_BYTES:
        return None
    vectors = np.frombuffer(data, dtype=np.int8, count=size)
    if zlib.crc32(vectors.data) != int.from_bytes(data[size:], "little"):
        return None
    return vectors.reshape(shape)


def _write(path: Path, vectors: NDArray[np.int8]) -> None:
    """Write vectors to a new file, which only this user can read.

    Raises:
        OSError: If it cannot be written; the partial file is removed.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{secrets.token_hex(8)}")
    data = np.ascontiguousarray(vectors).reshape(-1).data
    try:
        with open(temporary, "wb", opener=private_opener) as file:
            file.write(data)
            file.write(zlib.crc32(data).to_bytes(_CRC_BYTES, "little"))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

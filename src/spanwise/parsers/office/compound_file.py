"""Sector chains of compound files (the container of XLS), which must end.

A table holds the next sector of each sector. Calamine follows a chain without a limit, so a chain
that returns to one of its sectors would take all memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_START = bytes.fromhex("d0cf11e0 a1b11ae1")
_HEADER_BYTES = 512
_RESERVED = 0xFFFFFFFA
"""First number that is not a sector but, for example, the end of a chain."""
_ENTRY_WORDS = 32
_SMALL_STREAM = 4_096


def has_endless_chain(data: bytes) -> bool:
    """Return whether a chain of a compound file never ends; False for other files."""
    if not data.startswith(_START) or len(data) < _HEADER_BYTES:
        return False
    size = 4_096 if data[26] == 4 else 512

    def sectors(numbers: list[int]) -> NDArray[np.uint32]:
        pieces = [data[size * (number + 1) : size * (number + 2)] for number in numbers]
        joined = b"".join(pieces)
        return np.frombuffer(joined, dtype="<u4", count=len(joined) // 4)

    header = np.frombuffer(data, dtype="<u4", count=_HEADER_BYTES // 4)
    listed, number, seen = header[19:].tolist(), int(header[17]), set[int]()
    while number < _RESERVED:  # sectors that list further sectors of the table
        block = sectors([number]).tolist()
        if number in seen:
            return True
        seen.add(number)
        listed += block[:-1]
        number = block[-1] if block else _RESERVED
    tables = [number for number in listed if number < _RESERVED]
    if len(tables) > len(data) // size:  # one sector is listed many times
        return True
    table = sectors(tables)
    large = _endless(table)
    if large[[min(int(header[place]), len(table)) for place in (12, 15)]].any():
        return True
    small = _endless(sectors(_chain(table, int(header[15]))))
    directory = sectors(_chain(table, int(header[12])))
    entries = directory[: len(directory) // _ENTRY_WORDS * _ENTRY_WORDS].reshape(-1, _ENTRY_WORDS)
    is_small = entries[:, 30] < _SMALL_STREAM
    is_small[:1] = False  # the root, which holds the small streams
    return any(
        bool(endless[np.minimum(starts, len(endless) - 1)].any())
        for endless, starts in ((large, entries[~is_small, 29]), (small, entries[is_small, 29]))
    )


def _endless(table: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return whether the chain from each sector never ends; False is appended for its end."""
    end = len(table)
    after = np.append(np.minimum(table, end), end).astype(np.int64)
    for _ in range(end.bit_length()):  # each step doubles the number of sectors that are passed
        after = after[after]
    endless: NDArray[np.bool_] = after != end
    return endless


def _chain(table: NDArray[np.uint32], number: int) -> list[int]:
    """Return the sectors of a chain that ends."""
    chain = []
    while number < len(table):
        chain.append(number)
        number = int(table[number])
    return chain

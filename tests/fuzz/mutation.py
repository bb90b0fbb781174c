"""Random changes of inputs: of bytes, and of the members of ZIP files."""

from __future__ import annotations

import io
import random
import zipfile
import zlib
from collections.abc import Callable

__all__ = ["change_bytes", "change_member"]

_EDGES = (b"", b"\x00", b"\xff" * 4, b"-1", b"0", b"99999999999999999999", b"\xed\xa0\x80", b"\n")
_MEMBER_SHARE = 0.9
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)

Change = Callable[[bytes, int], bytes]
"""Function that changes bytes at random, given their largest number."""


def change_bytes(data: bytes, chance: random.Random, *, tokens: tuple[bytes, ...] = ()) -> bytes:
    """Return an input with a few random changes."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(changed))
        stop = min(len(changed), start + chance.choice((0, 1, 2, 8, 64)))
        other = chance.randint(0, len(changed))
        changed[start:stop] = chance.choice(
            (
                bytes(chance.randrange(256) for _ in range(chance.randint(0, 4))),
                chance.choice(_EDGES),
                chance.choice(tokens or _EDGES),
                bytes(changed[other : other + chance.randint(1, 200)]),
            )
        )
    return bytes(changed[: chance.randint(1, len(changed))] if chance.random() < 0.1 else changed)


def change_member(data: bytes, max_bytes: int, chance: random.Random, change: Change) -> bytes:
    """Return a ZIP file in which one member is changed; other bytes, and some files, as bytes.

    Args:
        data: The file.
        max_bytes: Maximum size of the new file.
        chance: Source of randomness.
        change: Function that changes bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError, EOFError,
            NotImplementedError, OverflowError):  # fmt: skip
        members = {}
    if not members or chance.random() > _MEMBER_SHARE:
        return change(data, max_bytes)
    name = chance.choice(sorted(members))
    members[name] = change(members[name], max(16, max_bytes - len(data)) + len(members[name]))
    packed = _packed(members)
    return packed if len(packed) <= max_bytes else change(data, max_bytes)


def _packed(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()

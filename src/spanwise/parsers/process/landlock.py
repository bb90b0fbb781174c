"""Landlock: a process of Linux gives up rights for good, for itself and all that it starts.

The parser's process gives up writing outside of the folder for temporary files, TCP connections,
and signals and abstract sockets to other processes, as far as the kernel knows them: files since
5.13, cutting a file short since 6.2, TCP since 6.7, signals since 6.12. Reading stays as it is: the
documents lie anywhere. Elsewhere nothing is given up. See `man 7 landlock`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on all processors but Alpha
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE = 1 << 1
_CHANGE_FOLDERS = 0x1FF0
"""Remove and make files, folders, links, sockets and devices."""
_MOVE, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 0b11
_SCOPED = 0b11
"""Abstract Unix sockets and signals."""


def landlock_version() -> int:
    """Return the version of Landlock that the kernel offers; 0 where there is none."""
    return max(0, _call(_CREATE, None, 0, _VERSION_FLAG))


def restrict(folder: str) -> int:
    """Give up what the parser's process does not need; it must have no other thread yet.

    Args:
        folder: Where it still may write.

    Returns:
        The version of Landlock; 0 where nothing was given up.
    """
    version = landlock_version()
    if not version:
        return 0
    files = _WRITE | _CHANGE_FOLDERS
    files |= _MOVE * (version >= 2) | _TRUNCATE * (version >= 3)
    rights = struct.pack("QQQ", files, _TCP * (version >= 4), _SCOPED * (version >= 6))
    rules = _call(_CREATE, rights, len(rights), 0)
    if rules < 0:
        return 0
    try:
        allowed = ((folder, files), (os.devnull, files & (_WRITE | _TRUNCATE)))
        is_done = all(_allow(rules, path, right) for path, right in allowed)
        library = ctypes.CDLL(None)
        is_done = is_done and library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
        return version if is_done and _call(_RESTRICT, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> bool:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0) == 0
    finally:
        os.close(place)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call; return -1 where it fails or there is no such call."""
    if sys.platform != "linux":
        return -1
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *words))

"""Landlock: a Linux process permanently drops rights, for itself and its descendants.

The parsing process may no longer write outside of the folder for temporary files, open TCP
connections, or send signals and use abstract sockets to other processes. The kernel must support
these restrictions: files since 5.13, truncation since 6.2, TCP since 6.7, signals since 6.12.
Reading is not restricted, because documents may be in any folder. On other platforms nothing is
restricted. See `man 7 landlock`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on all architectures except Alpha
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE = 1 << 1
_CHANGE_FOLDERS = 0x1FF0
"""Rights to remove and create files, folders, links, sockets and devices."""
_MOVE, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 0b11
_SCOPED = 0b11
"""Restrictions on abstract Unix sockets and signals."""


def landlock_version() -> int:
    """Return the version of Landlock in the kernel; 0 if there is none."""
    return max(0, _call(_CREATE, None, 0, _VERSION_FLAG))


def restrict(folder: str) -> int:
    """Drop the rights that the parsing process does not need; call it before starting threads.

    Args:
        folder: Folder in which the process may still write.

    Returns:
        The version of Landlock; 0 if no right was dropped.
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
    """Make a system call; return -1 if it fails or does not exist."""
    if sys.platform != "linux":
        return -1
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *words))

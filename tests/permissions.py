"""Permissions that hold, also where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["ordinary_user"]


@contextmanager
def ordinary_user(folder: Path) -> Iterator[None]:
    """Take away the right of root to read everything, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)

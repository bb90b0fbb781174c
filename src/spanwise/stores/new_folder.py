"""Folders that appear under their name once they are complete: backups and exports.

Everything is written under a temporary name next to the target, and renamed. A killed process
leaves `TARGET.<random>.tmp` behind; the next call for the same target removes it. A lock file in
this folder is locked while it is written.
"""

from __future__ import annotations

import errno
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spanwise.stores.disk import sync_folder
from spanwise.stores.flush import LOCK_NAME, flush_lock


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, and rename it to the target at the end of the block.

    It is removed if the block raises an error.

    Args:
        target: Path of the new folder; its parent must exist.

    Raises:
        OSError: If it cannot be created or renamed.
    """
    _remove_abandoned(target)
    # In the parent of the target: the last step is a rename within one file system.
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir()
        with flush_lock(temporary) as is_locked:
            if not is_locked:
                raise FileExistsError(errno.EEXIST, "another process uses it", str(temporary))
            yield temporary
        (temporary / LOCK_NAME).unlink()
        sync_folder(temporary)
        temporary.rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary folders of killed processes: those whose lock is free."""
    name = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.tmp")
    for path in target.parent.iterdir():
        if not name.fullmatch(path.name) or path.is_symlink() or not (path / LOCK_NAME).is_file():
            continue
        with suppress(OSError):
            with flush_lock(path) as is_abandoned:
                pass
            if is_abandoned:
                shutil.rmtree(path, ignore_errors=True)

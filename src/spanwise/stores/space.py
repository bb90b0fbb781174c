"""Return of free space in `truth.db` to the disk.

SQLite keeps the pages of deleted rows in the file and reuses them. A database with incremental
auto-vacuum can move its last pages to free places and truncate the file, in small transactions. New
databases have it. A database that an earlier version created gets it from `VACUUM`, which copies
all rows in one transaction.

Readers continue during both, in the state in which they began. A killed process leaves the state
before or after a transaction. The file itself becomes shorter at the next checkpoint of the log.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP_PAGES = 1_024
"""Maximum number of pages that one step moves: 4 MB, a few milliseconds."""

_INCREMENTAL = 2
_MIN_FREE_PAGES = 64
_MIN_FREE_SHARE = 0.25
_MAX_COPIED_PAGES = 8_192  # 32 MB: bounds an automatic VACUUM
_CHECKPOINT_WAIT_MS = 1_000


class Space(NamedTuple):
    """Pages of a database."""

    pages: int
    free: int
    page_bytes: int
    is_incremental: bool
    """Whether the database can be truncated in steps."""

    @property
    def free_bytes(self) -> int:
        """Number of bytes in free pages."""
        return self.free * self.page_bytes

    @property
    def is_worth_reclaiming(self) -> bool:
        """Whether enough pages are free to be returned automatically."""
        return self.free >= max(_MIN_FREE_PAGES, _MIN_FREE_SHARE * self.pages)


def prepare_reclaiming(connection: sqlite3.Connection) -> None:
    """Enable incremental auto-vacuum in a database that has no page yet."""
    if read_space(connection).pages == 0:  # otherwise the statement would write to the file
        _enable(connection)


def _enable(connection: sqlite3.Connection) -> None:
    connection.execute(f"pragma auto_vacuum = {_INCREMENTAL:d}")


def read_space(connection: sqlite3.Connection) -> Space:
    """Return the number of pages of a database, without reading them."""
    pages, free, page_bytes, kind = connection.execute(
        "select page_count, freelist_count, page_size, auto_vacuum from pragma_page_count,"
        " pragma_freelist_count, pragma_page_size, pragma_auto_vacuum"
    ).fetchone()
    return Space(pages, free, page_bytes, kind == _INCREMENTAL)


def reclaim_step(connection: sqlite3.Connection) -> bool:
    """Release at most `STEP_PAGES` free pages if many are free; return whether more remain."""
    space = read_space(connection)
    if not (space.is_incremental and space.is_worth_reclaiming):
        return False
    _truncate(connection, STEP_PAGES)
    return True


def reclaim(connection: sqlite3.Connection, *, seconds: float) -> None:
    """Release free pages if many are free: at once if few pages are in use, else in steps.

    If the rows take up at most 32 MB, they are copied, which is faster than many steps. A larger
    database without incremental auto-vacuum is left as it is.

    Args:
        connection: Connection without an open transaction.
        seconds: Time after which no further step begins.
    """
    until = time.monotonic() + seconds
    space = read_space(connection)
    used = space.pages - space.free
    if space.is_worth_reclaiming and used <= min(_MAX_COPIED_PAGES, space.free):
        _vacuum(connection)
    while time.monotonic() < until and reclaim_step(connection):
        pass


def reclaim_all(connection: sqlite3.Connection) -> None:
    """Return all free pages to the disk, and truncate the write-ahead log if no reader uses it.

    Args:
        connection: Connection without an open transaction.
    """
    if not read_space(connection).is_incremental:
        _vacuum(connection)
    while read_space(connection).free:
        _truncate(connection, STEP_PAGES)
    with _short_wait(connection):
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def _truncate(connection: sqlite3.Connection, pages: int) -> None:
    # `executescript` runs the statement to its end; `execute` would stop after one page.
    connection.executescript(f"pragma incremental_vacuum({pages:d})")


def _vacuum(connection: sqlite3.Connection) -> None:
    _enable(connection)
    connection.execute("vacuum")


@contextmanager
def _short_wait(connection: sqlite3.Connection) -> Iterator[None]:
    """Wait for readers for a second at most, because a checkpoint can also run later."""
    (before,) = connection.execute("select timeout from pragma_busy_timeout").fetchone()
    connection.execute(f"pragma busy_timeout = {_CHECKPOINT_WAIT_MS:d}")
    try:
        yield
    finally:
        connection.execute(f"pragma busy_timeout = {before:d}")

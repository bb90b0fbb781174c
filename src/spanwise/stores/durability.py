"""Group commit: one flush to disk makes the commits of several threads durable.

Rules:
    A commit appends to the write-ahead log. SQLite itself flushes the log only at checkpoints
    (`synchronous = normal`). One flush of the log makes all commits before it durable.
    A write returns after the log was flushed. Waiting threads share a flush: one flush covers all
        commits made before it begins.
    SQLite never deletes or restarts the log before its commits are in the database, on disk.
    If the database has no write-ahead log, SQLite flushes each commit itself (`synchronous =
    full`).
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from spanwise.errors import StoreError, StoreFullError
from spanwise.stores.disk import force_to_disk, is_disk_full, sync_folder


class LogSync:
    """Flushes the write-ahead log of one database to disk; safe for several threads."""

    def __init__(self, database: Path) -> None:
        """Create the object; nothing is flushed yet.

        Args:
            database: Path of the database; its connections must stay open during a flush.
        """
        self._database = database
        self._log = database.with_name(database.name + "-wal")
        self._counting = threading.Lock()
        self._forcing = threading.Lock()
        self._requests = 0
        self._served = 0
        self._inode = 0

    def sync(self) -> None:
        """Wait until all earlier commits are on disk.

        Raises:
            StoreFullError: If the disk is full.
            StoreError: If the flush fails; it is then unknown which commits are durable.
        """
        with self._counting:
            self._requests += 1
            request = self._requests
        with self._forcing:
            if self._served >= request:
                return
            with self._counting:
                covered = self._requests
            try:
                self._force()
            except OSError as error:
                raise self._failure(error) from error
            self._served = covered

    def _force(self) -> None:
        with suppress(FileNotFoundError), self._log.open("rb+") as file:
            force_to_disk(file.fileno())
            inode = os.fstat(file.fileno()).st_ino
            if inode != self._inode:  # a new log: flush its directory entry too
                sync_folder(self._log.parent)
                self._inode = inode

    def _failure(self, error: OSError) -> StoreError:
        kind = StoreFullError if is_disk_full(error, self._database) else StoreError
        return kind(
            f"{self._log} cannot be flushed to disk ({error}): the latest documents may be lost "
            "if the power fails; check the disk, and add them again"
        )

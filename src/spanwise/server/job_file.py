"""The ingest jobs of a knowledge base in a folder, in a SQLite file next to it.

Rules besides those of `JobStore`:
    1. All processes of the server on this machine share the file.
    2. A file next to the jobs reserves room on the disk. It is removed if the disk is full, so that
       the end of a job and its cancellation can still be written.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from spanwise.errors import FormatError, StoreBusyError, StoreError, StoreFullError
from spanwise.server.jobs import (
    FINISHED_JOBS,
    INTERRUPTED,
    MAX_ATTEMPTS,
    STATES,
    ClaimedJob,
    Job,
    JobState,
    NewJob,
    Outcome,
    QueueCounts,
    QueueFullError,
    claimed_job_of,
    document_totals,
    job_of,
    to_json,
)
from spanwise.stores.disk import is_disk_full, make_private, private_opener

_Result = TypeVar("_Result")
_WAIT_SECONDS = 10.0  # for the write lock of another process
_RESERVE_BYTES = 1 << 18
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  url TEXT NOT NULL,
  names TEXT NOT NULL,
  is_replacing INTEGER NOT NULL,
  created_at REAL NOT NULL,
  started_at REAL,
  finished_at REAL,
  attempts INTEGER NOT NULL DEFAULT 0,
  cancel INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT '',
  lease_until REAL NOT NULL DEFAULT 0,
  progress TEXT,
  report TEXT,
  error TEXT
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE TABLE IF NOT EXISTS uploads (
  name TEXT NOT NULL,
  job TEXT NOT NULL,
  PRIMARY KEY (name, job)
) WITHOUT ROWID;
"""
_MIGRATIONS = (
    _TABLES,
    """
ALTER TABLE jobs ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN discard INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN queued_at REAL NOT NULL DEFAULT 0;
UPDATE jobs SET queued_at = created_at;
CREATE TABLE totals (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
""",
)
"""Statements that migrate each version of the file to the next one."""
_UNFINISHED = "state IN ('queued', 'running')"
_RESUMABLE = (
    "state IN ('failed', 'cancelled') AND NOT discard AND "
    "(url != '' OR EXISTS (SELECT 1 FROM uploads WHERE uploads.job = jobs.id))"
)
_LEASED = "lease_until BETWEEN ? AND ?"
"""Condition of a valid lease, with the parameters of `_lease_times`."""
_COLUMNS = f"*, {_RESUMABLE} AS resumable"


def job_file(folder: Path) -> Path:
    """Return the path of the job file of a knowledge base in a folder."""
    return folder.with_name(f"{folder.name}.server") / "jobs.db"


@dataclass(frozen=True, slots=True)
class JobFile:
    """The SQLite file of the jobs of one knowledge base in a folder, see `JobStore`."""

    path: Path

    def is_used(self) -> bool:
        """See `JobStore.is_used`."""
        return self.path.exists()

    def add(self, job: NewJob, *, max_waiting: int) -> None:
        """See `JobStore.add`."""
        with self._writing() as connection:
            if _waiting(connection) >= max_waiting:
                raise QueueFullError
            connection.execute(
                "INSERT INTO jobs (id, state, url, names, is_replacing, options, created_at, "
                "queued_at) VALUES (?1, 'queued', ?2, ?3, ?4, ?5, ?6, ?6)",
                (
                    job.id, job.url, to_json(list(job.names)), job.replace,
                    to_json(dict(job.options)), time.time(),
                ),
            )  # fmt: skip
            if not job.url:
                connection.executemany(
                    "INSERT INTO uploads (name, job) VALUES (?, ?)",
                    [(name, job.id) for name in job.names],
                )

    def resume(self, job_id: str, *, max_waiting: int) -> bool:
        """See `JobStore.resume`."""
        with self._writing() as connection:
            if _waiting(connection) >= max_waiting:
                raise QueueFullError
            changed = connection.execute(
                "UPDATE jobs SET state = 'queued', queued_at = ?, finished_at = NULL, "  # noqa: S608 - a constant
                "attempts = 0, cancel = 0, owner = '', lease_until = 0, progress = NULL, "
                "report = NULL, error = NULL, number = (SELECT max(number) FROM jobs) + 1 "
                f"WHERE id = ? AND {_RESUMABLE}",
                (time.time(), job_id),
            )
            return changed.rowcount == 1

    def delete_finished(self, *, keep_seconds: float) -> None:
        """See `JobStore.delete_finished`."""
        if not self.path.exists():
            return
        with self._writing() as connection:
            connection.execute(
                f"DELETE FROM jobs WHERE NOT {_UNFINISHED} AND (finished_at < ? OR number <= "  # noqa: S608 - a constant
                f"(SELECT max(number) FROM jobs) - {FINISHED_JOBS})",
                (time.time() - keep_seconds,),
            )

    def waiting(self) -> int:
        """See `JobStore.waiting`."""
        with self._reading() as connection:
            return 0 if connection is None else _waiting(connection)

    def get(self, job_id: str) -> Job | None:
        """See `JobStore.get`."""
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM jobs WHERE id = ?",  # noqa: S608 - a constant
                (job_id,),
            ).fetchone()
            return None if row is None else job_of(row)

    def find(self, *, state: JobState | None, offset: int, limit: int) -> tuple[list[Job], int]:
        """See `JobStore.find`."""
        states = json.dumps(STATES if state is None else [state])
        where = "FROM jobs WHERE state IN (SELECT value FROM json_each(?))"
        with self._reading() as connection:
            if connection is None:
                return [], 0
            total: int = connection.execute(f"SELECT count(*) {where}", (states,)).fetchone()[0]
            rows = connection.execute(
                f"SELECT {_COLUMNS} {where} ORDER BY number DESC LIMIT ? OFFSET ?",
                (states, limit, offset),
            )
            return [job_of(row) for row in rows], total

    def cancel(self, job_id: str, *, discard: bool = False) -> None:
        """See `JobStore.cancel`."""
        with self._writing() as connection:
            ended = connection.execute(
                "UPDATE jobs SET state = 'cancelled', finished_at = ? "
                "WHERE id = ? AND state = 'queued'",
                (time.time(), job_id),
            )
            _note_ended(connection, {"jobs_cancelled": ended.rowcount})
            connection.execute(
                "UPDATE jobs SET cancel = 1 WHERE id = ? AND state = 'running'", (job_id,)
            )
            if discard:
                connection.execute("UPDATE jobs SET discard = 1 WHERE id = ?", (job_id,))

    def claim(self, owner: str, *, lease_seconds: float) -> ClaimedJob | None:
        """See `JobStore.claim`."""
        if not self._has_work(lease_seconds):
            return None
        with self._writing() as connection:
            now = time.time()
            _end_hopeless(connection, now, lease_seconds)
            if _is_busy(connection, now, lease_seconds):
                return None
            row = connection.execute(
                f"SELECT * FROM jobs WHERE {_UNFINISHED} "  # noqa: S608 - a constant
                "ORDER BY state = 'queued', number LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE jobs SET state = 'running', owner = ?, lease_until = ?, "
                "attempts = attempts + 1, started_at = coalesce(started_at, ?) WHERE id = ?",
                (owner, now + lease_seconds, now, row["id"]),
            )
            if row["state"] == "queued":
                waited = max(now - row["queued_at"], 0)
                _count(connection, {"waits": 1, "wait_seconds": waited})
            return claimed_job_of(row)

    def renew(
        self,
        job_id: str,
        owner: str,
        *,
        lease_seconds: float,
        progress: dict[str, Any] | None,
        documents: Mapping[str, int] | None = None,
    ) -> bool:
        """See `JobStore.renew`."""
        with self._writing() as connection:
            row = connection.execute(
                "UPDATE jobs SET lease_until = ?, progress = coalesce(?, progress) "
                "WHERE id = ? AND owner = ? AND state = 'running' RETURNING cancel",
                (time.time() + lease_seconds, to_json(progress), job_id, owner),
            ).fetchone()
            _count(connection, document_totals(documents))
            return row is not None and not row["cancel"]

    def finish(
        self,
        job_id: str,
        owner: str,
        outcome: Outcome,
        *,
        progress: dict[str, Any] | None,
        documents: Mapping[str, int] | None = None,
    ) -> bool:
        """See `JobStore.finish`."""
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = ?, finished_at = ?, report = ?, error = ?, "
                "progress = coalesce(?, progress) WHERE id = ? AND owner = ? AND state = 'running'",
                (
                    outcome.state, time.time(), to_json(outcome.report), to_json(outcome.error),
                    to_json(progress), job_id, owner,
                ),
            )  # fmt: skip
            _count(connection, document_totals(documents))
            _note_ended(connection, {f"jobs_{outcome.state}": changed.rowcount})
            return changed.rowcount == 1

    def abandon(self, owner: str) -> None:
        """See `JobStore.abandon`."""
        if not self.path.exists():
            return
        with self._writing() as connection:
            connection.execute(
                "UPDATE jobs SET lease_until = 0 WHERE owner = ? AND state = 'running'", (owner,)
            )

    def keep_reserve(self) -> None:
        """See `JobStore.keep_reserve`."""
        with suppress(OSError):
            if self._reserve.exists() and self._reserve.stat().st_size == _RESERVE_BYTES:
                return
            self._reserve.unlink(missing_ok=True)
            try:
                with open(self._reserve, "xb", opener=private_opener) as file:
                    file.write(bytes(_RESERVE_BYTES))
            except OSError:
                self._reserve.unlink(missing_ok=True)

    def with_reserve(self, write: Callable[[], _Result]) -> _Result:
        """See `JobStore.with_reserve`."""
        try:
            return write()
        except StoreFullError:
            with suppress(OSError):
                self._reserve.unlink()
            return write()

    @property
    def _reserve(self) -> Path:
        return self.path.with_name("reserve")

    def count(self, name: str) -> None:
        """See `JobStore.count`."""
        with self._writing() as connection:
            _count(connection, {name: 1})

    def counts(self) -> QueueCounts:
        """See `JobStore.counts`."""
        with self._reading() as connection:
            if connection is None:
                return QueueCounts(jobs={}, oldest_wait_seconds=0.0, totals={})
            states = connection.execute(
                f"SELECT state, count(*) FROM jobs WHERE {_UNFINISHED} GROUP BY state"  # noqa: S608 - a constant
            )
            jobs = {row[0]: row[1] for row in states}
            oldest = connection.execute(
                "SELECT min(queued_at) FROM jobs WHERE state = 'queued'"
            ).fetchone()[0]
            totals = connection.execute("SELECT name, value FROM totals")
            return QueueCounts(
                jobs=jobs,
                oldest_wait_seconds=0.0 if oldest is None else max(time.time() - oldest, 0.0),
                totals={row[0]: row[1] for row in totals},
            )

    def release(self, job_id: str, owner: str) -> None:
        """See `JobStore.release`."""
        with self._writing() as connection:
            now = time.time()
            changed = connection.execute(
                "UPDATE jobs SET state = CASE WHEN cancel THEN 'cancelled' ELSE 'queued' END, "
                "finished_at = CASE WHEN cancel THEN ? END, "
                "queued_at = ?, owner = '', attempts = attempts - 1 "
                "WHERE id = ? AND owner = ? AND state = 'running' RETURNING cancel",
                (now, now, job_id, owner),
            ).fetchone()
            if changed is not None and changed["cancel"]:
                _note_ended(connection, {"jobs_cancelled": 1})

    def other_uploads(self, names: Sequence[str], *, job_id: str) -> list[str]:
        """See `JobStore.other_uploads`."""
        with self._reading() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                "SELECT DISTINCT job FROM uploads "
                "WHERE name IN (SELECT value FROM json_each(?)) AND job != ? ORDER BY job",
                (json.dumps(list(names)), job_id),
            )
            return [row["job"] for row in rows]

    def has_files(self, job_id: str) -> bool:
        """See `JobStore.has_files`."""
        with self._reading() as connection:
            if connection is None:
                return False
            found = connection.execute("SELECT 1 FROM uploads WHERE job = ? LIMIT 1", (job_id,))
            return found.fetchone() is not None

    def forget_uploads(self, names: Sequence[str], *, job_id: str) -> None:
        """See `JobStore.forget_uploads`."""
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM uploads WHERE job = ? AND name IN (SELECT value FROM json_each(?))",
                (job_id, json.dumps(list(names))),
            )

    def _has_work(self, lease_seconds: float) -> bool:
        """Return whether a job waits, or runs without a valid lease; takes no write lock."""
        with self._reading() as connection:
            if connection is None:
                return False
            found = connection.execute(
                "SELECT 1 FROM jobs WHERE state = 'queued' "  # noqa: S608 - a constant
                f"OR (state = 'running' AND NOT {_LEASED}) LIMIT 1",
                _lease_times(time.time(), lease_seconds),
            )
            return found.fetchone() is not None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a connection; None if there is no file yet."""
        if not self.path.exists():
            yield None
            return
        with self._translated(), closing(self._connection()) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside a transaction; the file is created if it is missing."""
        with self._translated():
            if not self.path.exists():
                self.path.parent.mkdir(mode=0o700, exist_ok=True)
                make_private(self.path)
            with closing(self._connection()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA synchronous = FULL")
            if connection.execute("PRAGMA user_version").fetchone()[0] != len(_MIGRATIONS):
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the tables to the current version, in one transaction.

        Raises:
            FormatError: If a later version of Spanwise has written the file.
        """
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(_MIGRATIONS):
            raise FormatError(
                f"{self.path} has version {version}, and this Spanwise reads up to "
                f"{len(_MIGRATIONS)}; update Spanwise"
            )
        for statements in _MIGRATIONS[version:]:
            for statement in filter(str.strip, statements.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise errors of SQLite and of the file system as errors of the library."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if is_disk_full(error, self.path):
                raise StoreFullError(f"{self.path}: the disk is full: {error}") from error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY:
                raise StoreBusyError(f"{self.path}: {error}; try again") from error
            raise StoreError(f"{self.path} cannot be read or written: {error}") from error


def _waiting(connection: sqlite3.Connection) -> int:
    count: int = connection.execute(
        f"SELECT count(*) FROM jobs WHERE {_UNFINISHED}"  # noqa: S608 - a constant
    ).fetchone()[0]
    return count


def _lease_times(now: float, lease_seconds: float) -> tuple[float, float]:
    """Return the earliest and the latest end of a valid lease.

    A lease that ends later than a new one would is not valid: the clock was set back.
    """
    return now, now + 2 * lease_seconds


def _is_busy(connection: sqlite3.Connection, now: float, lease_seconds: float) -> bool:
    """Return whether a process runs a job."""
    row = connection.execute(
        f"SELECT 1 FROM jobs WHERE state = 'running' AND {_LEASED}",  # noqa: S608 - a constant
        _lease_times(now, lease_seconds),
    ).fetchone()
    return row is not None


def _count(connection: sqlite3.Connection, numbers: Mapping[str, float]) -> None:
    """Add numbers to totals."""
    connection.executemany(
        "INSERT INTO totals (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        [(name, number) for name, number in numbers.items() if number],
    )


def _note_ended(connection: sqlite3.Connection, numbers: Mapping[str, int]) -> None:
    """Count jobs that have ended, and delete their URL if it has a signature."""
    _count(connection, numbers)
    connection.execute(
        "UPDATE jobs SET url = '' WHERE state IN ('done', 'failed', 'cancelled') AND url != '' "
        "AND url != json_extract(names, '$[0]')"
    )


def _end_hopeless(connection: sqlite3.Connection, now: float, lease_seconds: float) -> None:
    """End the jobs without an owner that were cancelled, or were started too often."""
    times = _lease_times(now, lease_seconds)
    cancelled = connection.execute(
        "UPDATE jobs SET state = 'cancelled', finished_at = ? "  # noqa: S608 - a constant
        f"WHERE state = 'running' AND NOT {_LEASED} AND cancel = 1",
        (now, *times),
    )
    failed = connection.execute(
        "UPDATE jobs SET state = 'failed', finished_at = ?, error = ? "  # noqa: S608 - a constant
        f"WHERE state = 'running' AND NOT {_LEASED} AND attempts >= ?",
        (now, to_json(dict(INTERRUPTED)), *times, MAX_ATTEMPTS),
    )
    _note_ended(connection, {"jobs_cancelled": cancelled.rowcount, "jobs_failed": failed.rowcount})

"""The ingest jobs of a knowledge base in PostgreSQL, shared by all servers of the knowledge base.

Rules besides those of `JobStore`:
    1. Two servers may claim a job at the same time. A unique index allows one running job, so the
       later one gets none.
    2. Structured fields are JSON in columns of the type `text`, because `jsonb` has no NUL.
    3. A tenant has jobs of its own. Row-level security hides those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg import errors
from psycopg.rows import dict_row

from spanwise.server.jobs import (
    FINISHED_JOBS,
    INTERRUPTED,
    MAX_ATTEMPTS,
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

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection, PostgresConnections

_Result = TypeVar("_Result")
_Row = dict[str, Any]
_RESUMABLE = (
    "(state in ('failed', 'cancelled') and not discard and "
    "(url <> '' or exists (select from upload where upload.job = job.id and submitted)))"
)
_SELECT = f"""
    select id, state, names, is_replacing, options, progress, report, error,
        extract(epoch from created_at)::float8 as created_at,
        extract(epoch from started_at)::float8 as started_at,
        extract(epoch from finished_at)::float8 as finished_at, {_RESUMABLE} as resumable
    from job
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class PostgresJobs:
    """Jobs of one knowledge base in PostgreSQL, see `JobStore`."""

    connections: PostgresConnections

    def is_used(self) -> bool:
        """See `JobStore.is_used`."""
        with self.connections.reading() as connection:
            return bool(
                _one(connection, "select exists (select from job where is_own(tenant)) as used")[
                    "used"
                ]
            )

    def add(self, job: NewJob, *, max_waiting: int) -> None:
        """See `JobStore.add`."""

        def add(connection: Connection) -> None:
            self.connections.lock(connection, "jobs")  # nothing else adds a job meanwhile
            _check_room(connection, max_waiting)
            connection.execute(
                "insert into job (id, url, forgets_url, names, is_replacing, options) "
                "values (%s, %s, %s, %s, %s, %s)",
                (
                    job.id, job.url, bool(job.url) and job.url != job.names[0],
                    to_json(list(job.names)), job.replace, to_json(dict(job.options)),
                ),
            )  # fmt: skip
            if job.url:
                return
            connection.execute(
                "insert into upload (job, name) select %s, name from unnest(%s::text[]) as name "
                "where not exists (select from upload where job = %s and upload.name = name.name)",
                (job.id, list(job.names), job.id),
            )
            connection.execute("update upload set submitted = true where job = %s", (job.id,))

        self.connections.write(add)

    def resume(self, job_id: str, *, max_waiting: int) -> bool:
        """See `JobStore.resume`."""

        def resume(connection: Connection) -> bool:
            self.connections.lock(connection, "jobs")  # nothing else adds a job meanwhile
            _check_room(connection, max_waiting)
            changed = connection.execute(
                "update job set state = 'queued', queued_at = clock_timestamp(), "  # noqa: S608 - a constant
                "finished_at = null, attempts = 0, cancel = false, owner = '', "
                "lease_until = null, progress = null, report = null, error = null, "
                "number = default "
                f"where id = %s and {_RESUMABLE}",
                (job_id,),
            )
            return changed.rowcount == 1

        return self.connections.write(resume)

    def delete_finished(self, *, keep_seconds: float) -> None:
        """See `JobStore.delete_finished`."""

        def delete(connection: Connection) -> None:
            connection.execute(
                "delete from job where is_own(tenant) and state not in ('queued', 'running') and "
                "(finished_at < clock_timestamp() - make_interval(secs => %s) or number <= "
                "(select number from job where is_own(tenant) "
                "order by number desc offset %s limit 1))",
                (keep_seconds, FINISHED_JOBS),
            )

        self.connections.write(delete)

    def waiting(self) -> int:
        """See `JobStore.waiting`."""
        with self.connections.reading() as connection:
            return _waiting(connection)

    def get(self, job_id: str) -> Job | None:
        """See `JobStore.get`."""
        with self.connections.reading() as connection:
            found = _rows(connection, f"{_SELECT} where id = %s", (job_id,))
        return job_of(found[0]) if found else None

    def find(self, *, state: JobState | None, offset: int, limit: int) -> tuple[list[Job], int]:
        """See `JobStore.find`."""
        passes = "where is_own(tenant) and (%(state)s::text is null or state = %(state)s)"
        values = {"state": state, "limit": limit, "offset": offset}
        page = f"{_SELECT} {passes} order by number desc limit %(limit)s offset %(offset)s"
        with self.connections.reading() as connection:
            counted = _one(connection, f"select count(*) as jobs from job {passes}", values)  # noqa: S608 - a constant
            rows = _rows(connection, page, values)
        return [job_of(row) for row in rows], counted["jobs"]

    def cancel(self, job_id: str, *, discard: bool = False) -> None:
        """See `JobStore.cancel`."""

        def cancel(connection: Connection) -> None:
            ended = connection.execute(
                "update job set state = 'cancelled', finished_at = clock_timestamp() "
                "where id = %s and state = 'queued'",
                (job_id,),
            )
            connection.execute(
                "update job set cancel = cancel or state = 'running', discard = discard or %s "
                "where id = %s",
                (discard, job_id),
            )
            _note_ended(connection, {"jobs_cancelled": ended.rowcount})

        self.connections.write(cancel)

    def claim(self, owner: str, *, lease_seconds: float) -> ClaimedJob | None:
        """See `JobStore.claim`."""
        if not self._has_work():
            return None

        def claim(connection: Connection) -> ClaimedJob | None:
            with suppress(errors.UniqueViolation):  # another server claims a job
                return _claim(connection, owner, lease_seconds)
            return None

        return self.connections.write(claim)

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

        def renew(connection: Connection) -> bool:
            found = _rows(
                connection,
                "update job set lease_until = clock_timestamp() + make_interval(secs => %s), "
                "progress = coalesce(%s, progress) "
                "where id = %s and owner = %s and state = 'running' returning cancel",
                (lease_seconds, to_json(progress), job_id, owner),
            )
            _count(connection, document_totals(documents))
            return bool(found) and not found[0]["cancel"]

        return self.connections.write(renew)

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

        def finish(connection: Connection) -> bool:
            changed = connection.execute(
                "update job set state = %s, finished_at = clock_timestamp(), report = %s, "
                "error = %s, progress = coalesce(%s, progress) "
                "where id = %s and owner = %s and state = 'running'",
                (
                    outcome.state, to_json(outcome.report), to_json(outcome.error),
                    to_json(progress), job_id, owner,
                ),
            )  # fmt: skip
            _count(connection, document_totals(documents))
            _note_ended(connection, {f"jobs_{outcome.state}": changed.rowcount})
            return changed.rowcount == 1

        return self.connections.write(finish)

    def release(self, job_id: str, owner: str) -> None:
        """See `JobStore.release`."""

        def release(connection: Connection) -> None:
            changed = _rows(
                connection,
                "update job set state = case when cancel then 'cancelled' else 'queued' end, "
                "finished_at = case when cancel then clock_timestamp() end, "
                "queued_at = clock_timestamp(), owner = '', attempts = attempts - 1 "
                "where id = %s and owner = %s and state = 'running' returning cancel",
                (job_id, owner),
            )
            _note_ended(connection, {"jobs_cancelled": sum(row["cancel"] for row in changed)})

        self.connections.write(release)

    def abandon(self, owner: str) -> None:
        """See `JobStore.abandon`."""

        def abandon(connection: Connection) -> None:
            connection.execute(
                "update job set lease_until = '-infinity' where owner = %s and state = 'running'",
                (owner,),
            )

        self.connections.write(abandon)

    def keep_reserve(self) -> None:
        """Do nothing: the disk is that of the database."""

    def with_reserve(self, write: Callable[[], _Result]) -> _Result:
        """Return the result of a write, which has no reserved room."""
        return write()

    def count(self, name: str) -> None:
        """See `JobStore.count`."""
        self.connections.write(lambda connection: _count(connection, {name: 1}))

    def counts(self) -> QueueCounts:
        """See `JobStore.counts`."""
        with self.connections.reading() as connection:
            states = _rows(
                connection,
                "select state, count(*) as jobs, coalesce(extract(epoch from "
                "clock_timestamp() - min(queued_at)), 0)::float8 as waited from job "
                "where is_own(tenant) and state in ('queued', 'running') group by state",
            )
            totals = _rows(connection, "select name, value from job_total where is_own(tenant)")
        waited = {row["state"]: row["waited"] for row in states}
        return QueueCounts(
            jobs={row["state"]: row["jobs"] for row in states},
            oldest_wait_seconds=max(waited.get("queued", 0.0), 0.0),
            totals={row["name"]: row["value"] for row in totals},
        )

    def other_uploads(self, names: Sequence[str], *, job_id: str) -> list[str]:
        """See `JobStore.other_uploads`."""
        with self.connections.reading() as connection:
            found = _rows(
                connection,
                "select distinct job from upload "
                "where is_own(tenant) and name = any(%s) and job <> %s and submitted order by job",
                (list(names), job_id),
            )
        return [row["job"] for row in found]

    def has_files(self, job_id: str) -> bool:
        """See `JobStore.has_files`."""
        with self.connections.reading() as connection:
            found = _rows(
                connection, "select from upload where job = %s and submitted limit 1", (job_id,)
            )
        return bool(found)

    def forget_uploads(self, names: Sequence[str], *, job_id: str) -> None:
        """See `JobStore.forget_uploads`."""

        def forget(connection: Connection) -> None:
            connection.execute(
                "delete from upload where job = %s and name = any(%s)", (job_id, list(names))
            )

        self.connections.write(forget)

    def _has_work(self) -> bool:
        """Return whether a job waits, or runs with an expired lease, without a lock."""
        with self.connections.reading() as connection:
            found = _one(
                connection,
                "select exists (select from job where is_own(tenant) and (state = 'queued' or "
                "(state = 'running' and lease_until < clock_timestamp()))) as has_work",
            )
        return bool(found["has_work"])


def _claim(connection: Connection, owner: str, lease_seconds: float) -> ClaimedJob | None:
    """Return the next job, which now has an owner; None if there is none, or one runs.

    The conditions on the row are checked again after it is locked, that on other rows is not.

    Raises:
        UniqueViolation: If another server has claimed another job at the same time.
    """
    _end_hopeless(connection)
    found = _rows(
        connection,
        "select id, state, url, names, is_replacing, options, greatest(0, extract(epoch from "
        "clock_timestamp() - queued_at))::float8 as waited from job "
        "where is_own(tenant) and "
        "(state = 'queued' or (state = 'running' and lease_until < clock_timestamp())) "
        "and not exists (select from job as other where is_own(other.tenant) "
        "and other.state = 'running' and other.lease_until >= clock_timestamp()) "
        "order by state = 'queued', number limit 1 for update of job skip locked",
    )
    if not found:
        return None
    job = found[0]
    connection.execute(
        "update job set state = 'running', owner = %s, attempts = attempts + 1, "
        "lease_until = clock_timestamp() + make_interval(secs => %s), "
        "started_at = coalesce(started_at, clock_timestamp()) where id = %s",
        (owner, lease_seconds, job["id"]),
    )
    if job["state"] == "queued":
        _count(connection, {"waits": 1, "wait_seconds": job["waited"]})
    return claimed_job_of(job)


def _end_hopeless(connection: Connection) -> None:
    """End the jobs without an owner that were cancelled, or were started too often."""
    ended = "update job set state = %s, finished_at = clock_timestamp(), error = %s where id in "
    abandoned = (
        "(select id from job where is_own(tenant) and state = 'running' "
        "and lease_until < clock_timestamp() and {} for update skip locked)"
    )
    cancelled = connection.execute(ended + abandoned.format("cancel"), ("cancelled", None))
    failed = connection.execute(
        ended + abandoned.format("attempts >= %s"),
        ("failed", to_json(dict(INTERRUPTED)), MAX_ATTEMPTS),
    )
    _note_ended(connection, {"jobs_cancelled": cancelled.rowcount, "jobs_failed": failed.rowcount})


def _note_ended(connection: Connection, numbers: Mapping[str, int]) -> None:
    """Count jobs that have ended, and delete their URL if it has a signature."""
    if not any(numbers.values()):
        return
    _count(connection, numbers)
    connection.execute(
        "update job set url = '' where forgets_url and url <> '' "
        "and state in ('done', 'failed', 'cancelled')"
    )


def _count(connection: Connection, numbers: Mapping[str, float]) -> None:
    """Add numbers to totals, in one order, so that transactions cannot block each other."""
    for name, number in sorted(numbers.items()):
        if number:
            connection.execute(
                "insert into job_total (name, value) values (%s, %s) "
                "on conflict (tenant, name) do update set value = job_total.value + excluded.value",
                (name, number),
            )


def _check_room(connection: Connection, max_waiting: int) -> None:
    """Check that another job may wait.

    Raises:
        QueueFullError: If too many jobs wait.
    """
    if _waiting(connection) >= max_waiting:
        raise QueueFullError


def _waiting(connection: Connection) -> int:
    counted = _one(
        connection,
        "select count(*) as jobs from job where is_own(tenant) and state in ('queued', 'running')",
    )
    return int(counted["jobs"])


def _rows(connection: Connection, statement: str, values: Any = None) -> list[_Row]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, values).fetchall()


def _one(connection: Connection, statement: str, values: Any = None) -> _Row:
    return _rows(connection, statement, values)[0]

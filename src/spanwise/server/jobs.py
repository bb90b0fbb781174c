"""Ingest jobs of a knowledge base, shared by all processes and machines that serve it.

A knowledge base in a folder has a `JobFile`, one in PostgreSQL has `PostgresJobs`.

Rules of both:
    1. A job is stored before its request is answered, so a killed process loses none.
    2. One job runs at a time. Its process renews a lease; if the lease has expired, because the
       process was killed, another process takes the job over.
    3. Only the owner of the lease changes a running job. Others can only ask it to cancel.
    4. Totals for metrics are written in the transaction of the change that they count, so they are
       right over several processes, restarts and deleted jobs.
    5. All times are those of one clock: that of the machine for a file, that of the database for
       PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar, get_args

from spanwise.types.plain import Plain, PlainForm

_Result = TypeVar("_Result")
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: tuple[JobState, ...] = get_args(JobState)
MAX_ATTEMPTS = 3
"""Maximum number of starts of a job; a job that kills its process each time then fails."""
STOP_SECONDS = 15.0
"""Maximum time for the running document to end when a runner stops."""
FINISHED_JOBS = 1_000
"""Maximum number of finished jobs that are listed."""
INTERRUPTED: Mapping[str, Plain] = {
    "type": "about:blank",
    "title": "Internal Server Error",
    "status": 500,
    "code": "interrupted",
    "detail": f"the ingest process ended {MAX_ATTEMPTS} times while the job ran; the log of the "
    "server may say why. Send the files one at a time to find the one that ends it",
}
"""Problem details of a job that was started too often."""


class QueueFullError(Exception):
    """Too many jobs wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(PlainForm):
    """Ingest of uploaded files or of a URL."""

    id: str
    """Id of the job."""
    state: JobState
    """State of the job; "done", "failed" and "cancelled" are final."""
    kind: Literal["upload", "url"]
    """Whether files were uploaded, or a URL is fetched."""
    documents: tuple[str, ...]
    """Ids of the uploaded files, or the URL without its signature."""
    replace: bool
    """Whether documents with the same ids from other sources are replaced."""
    options: Mapping[str, Plain]
    """Other arguments of `KnowledgeBase.add`, such as `metadata`."""
    created_at: str
    """Time of the request, in UTC."""
    started_at: str | None
    """Time of the first start, in UTC; None before."""
    finished_at: str | None
    """Time of the end, in UTC; None before."""
    progress: Mapping[str, Plain] | None
    """Fields of `IngestProgress` after the last document; None before the first one."""
    report: Mapping[str, Plain] | None
    """Fields of `IngestReport`; None until the job is done or has failed."""
    error: Mapping[str, Plain] | None
    """Problem details of the error that ended the job; None if there is none."""
    resumable: bool
    """Whether the job has failed or was cancelled, and its files or its URL are still kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to add to the queue."""

    id: str
    """New id."""
    names: Sequence[str]
    """Ids of the uploaded files, or the URL without its signature."""
    url: str = ""
    """URL to fetch; empty for uploaded files."""
    replace: bool
    """Whether documents from other sources are replaced."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of `KnowledgeBase.add`, as JSON data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A job that this process runs."""

    id: str
    url: str
    """URL to fetch, which may have a signature; empty for uploaded files."""
    names: tuple[str, ...]
    replace: bool
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Numbers of a queue for metrics."""

    jobs: dict[str, int]
    """Number of jobs that are queued and running, by state."""
    oldest_wait_seconds: float
    """Time that the oldest queued job has waited, in seconds; 0 if none waits."""
    totals: dict[str, float]
    """Totals since the first job, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Final state of a job."""

    state: JobState
    report: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class JobStore(Protocol):
    """Jobs of one knowledge base.

    Every method raises a StoreError if the jobs cannot be read or written.
    """

    def is_used(self) -> bool:
        """Return whether a job was ever added."""
        ...

    def add(self, job: NewJob, *, max_waiting: int) -> None:
        """Add a job to the end of the queue; it is stored durably when the call returns.

        Args:
            job: The job.
            max_waiting: Maximum number of unfinished jobs.

        Raises:
            QueueFullError: If too many jobs wait.
        """
        ...

    def resume(self, job_id: str, *, max_waiting: int) -> bool:
        """Add a failed or cancelled job to the end of the queue again.

        Return whether that was possible: its files or its URL must be kept.

        Raises:
            QueueFullError: If too many jobs wait.
        """
        ...

    def delete_finished(self, *, keep_seconds: float) -> None:
        """Delete jobs that ended longer ago, and finished jobs above the maximum number."""
        ...

    def waiting(self) -> int:
        """Return the number of unfinished jobs."""
        ...

    def get(self, job_id: str) -> Job | None:
        """Return a job; None if there is none with this id."""
        ...

    def find(self, *, state: JobState | None, offset: int, limit: int) -> tuple[list[Job], int]:
        """Return jobs, newest first, and the number of all jobs in this state.

        Args:
            state: State of the jobs; None for all.
            offset: Number of jobs to skip.
            limit: Maximum number of jobs.
        """
        ...

    def cancel(self, job_id: str, *, discard: bool = False) -> None:
        """Cancel a queued job, or ask the owner of a running job to cancel it.

        Args:
            job_id: Id of the job.
            discard: Whether the job cannot be resumed.
        """
        ...

    def claim(self, owner: str, *, lease_seconds: float) -> ClaimedJob | None:
        """Return the next job to run; None if there is none, or another process runs one.

        A running job whose lease has expired comes first.

        Args:
            owner: Name of the claiming runner.
            lease_seconds: Time until another process may take the job over.
        """
        ...

    def renew(
        self,
        job_id: str,
        owner: str,
        *,
        lease_seconds: float,
        progress: dict[str, Any] | None,
        documents: Mapping[str, int] | None = None,
    ) -> bool:
        """Renew a lease, and return whether the job should go on.

        False if the job was cancelled or another process has taken it over.

        Args:
            job_id: Id of the job.
            owner: Name of the runner.
            lease_seconds: Time until another process may take the job over.
            progress: Fields of `IngestProgress`; None to keep the last ones.
            documents: Number of documents since the last call, by outcome.
        """
        ...

    def finish(
        self,
        job_id: str,
        owner: str,
        outcome: Outcome,
        *,
        progress: dict[str, Any] | None,
        documents: Mapping[str, int] | None = None,
    ) -> bool:
        """Write the final state of a running job, and return whether this process still owned it.

        A URL with a signature is deleted.
        """
        ...

    def release(self, job_id: str, owner: str) -> None:
        """Put a running job back to the front of the queue, because its process ends."""
        ...

    def abandon(self, owner: str) -> None:
        """End the leases of a process that has died, so that its job can be taken over at once."""
        ...

    def keep_reserve(self) -> None:
        """Reserve room for `with_reserve`, if jobs are on the disk of this machine."""
        ...

    def with_reserve(self, write: Callable[[], _Result]) -> _Result:
        """Return the result of a write; on a full disk it is repeated in the reserved room."""
        ...

    def count(self, name: str) -> None:
        """Add 1 to a total."""
        ...

    def counts(self) -> QueueCounts:
        """Return the numbers for metrics."""
        ...

    def other_uploads(self, names: Sequence[str], *, job_id: str) -> list[str]:
        """Return the ids of other jobs that uploaded files with the same names."""
        ...

    def has_files(self, job_id: str) -> bool:
        """Return whether a job has uploaded files, also if the job itself is no longer listed."""
        ...

    def forget_uploads(self, names: Sequence[str], *, job_id: str) -> None:
        """Delete the entries of removed files."""
        ...


def document_totals(documents: Mapping[str, int] | None) -> dict[str, int]:
    """Return the totals that numbers of documents by outcome are added to."""
    return {f"documents_{outcome}": number for outcome, number in (documents or {}).items()}


def to_json(data: Any) -> str | None:
    """Return data as JSON in ASCII, which every database can store; None for None."""
    return None if data is None else json.dumps(data)


def job_of(row: Mapping[str, Any]) -> Job:
    """Return a job from a row: times in seconds since 1970, structured fields as JSON."""
    names = tuple(json.loads(row["names"]))
    return Job(
        id=row["id"],
        state=row["state"],
        kind="url" if names and "://" in names[0] else "upload",
        documents=names,
        replace=bool(row["is_replacing"]),
        options=json.loads(row["options"]),
        created_at=_when(row["created_at"]) or "",
        started_at=_when(row["started_at"]),
        finished_at=_when(row["finished_at"]),
        progress=_data(row["progress"]),
        report=_data(row["report"]),
        error=_data(row["error"]),
        resumable=bool(row["resumable"]),
    )


def claimed_job_of(row: Mapping[str, Any]) -> ClaimedJob:
    """Return a job to run from a row."""
    return ClaimedJob(
        id=row["id"],
        url=row["url"],
        names=tuple(json.loads(row["names"])),
        replace=bool(row["is_replacing"]),
        options=json.loads(row["options"]),
    )


def _when(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _data(text: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if text is None else json.loads(text)
    return found

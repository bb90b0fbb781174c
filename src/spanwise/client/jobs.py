"""Ingest jobs of a server, and additions that consist of several jobs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spanwise.client.failures import error_of
from spanwise.client.methods import _Requests, read_field, read_result
from spanwise.client.steps import Call, Pause, Steps
from spanwise.errors import OptionError, ServerError, SpanwiseError, shown
from spanwise.types import IngestFailure, IngestProgress, IngestReport, Usage
from spanwise.types.plain import Plain, PlainForm

_LISTED = 1_000  # jobs of one request
_LATEST = 20  # jobs among which one is looked up
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
MEMBER_MARK = "!/"
_UNKNOWN_STATUS = 500
_ID_FIELDS = ("added", "replaced", "updated", "unchanged", "removed", "partial", "needs_ocr")
_COUNTS = ("chunks", "embedded_chunks", "kept_vectors", "chars", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteJob(PlainForm):
    """Ingest job of a server."""

    id: str
    """Id of the job."""
    state: str
    """State of the job: "queued", "running", "done", "failed" or "cancelled"."""
    kind: str
    """Whether files were uploaded ("upload"), or a URL is fetched ("url")."""
    documents: tuple[str, ...]
    """Ids of the uploaded files, or the URL without its signature."""
    replace: bool
    """Whether documents with the same ids from other sources are replaced."""
    options: Mapping[str, Plain] = field(default_factory=dict)
    """Other arguments of `add`, such as `metadata`."""
    created_at: str
    """Time of the request, in UTC."""
    started_at: str | None = None
    """Time of the first start, in UTC; None before."""
    finished_at: str | None = None
    """Time of the end, in UTC; None before."""
    progress: IngestProgress | None = None
    """Progress after the last document; None before the first one."""
    report: IngestReport | None = None
    """Report; None until the job is done or has failed."""
    error: Plain = None
    """Problem details of the error that ended the job; None if there is none."""
    resumable: bool = False
    """Whether the job has failed or was cancelled, and `jobs.resume` can continue it."""

    @property
    def is_finished(self) -> bool:
        """Whether the job has ended."""
        return self.state not in ("queued", "running")

    def result(self) -> IngestReport:
        """Return the report of a finished job.

        Raises:
            SpanwiseError: The error that ended the job.
            ServerError: If the job was cancelled or has not finished.
        """
        if self.report is not None:
            return self.report
        if isinstance(self.error, Mapping):
            status = self.error.get("status")
            raise error_of(status if isinstance(status, int) else _UNKNOWN_STATUS, self.error)
        raise ServerError(f"the job {self.id} is {self.state}, so it has no report")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteIngest(PlainForm):
    """Files and URLs that `add` has sent to a server, which adds them in one or several jobs."""

    jobs: tuple[str, ...] = ()
    """Ids of the jobs, in the order of the sources."""
    locations: Mapping[str, str] = field(default_factory=dict)
    """Paths and URLs by the ids of the documents, in the order of the sources."""
    unchanged: tuple[str, ...] = ()
    """Ids of files that were not sent, because the server already has them unchanged."""
    updated: tuple[str, ...] = ()
    """Ids of files that were not sent, because the server has them; their metadata was changed."""
    failed: tuple[IngestFailure, ...] = ()
    """Sources that were not sent, because they cannot be read or the server refuses them."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about the sources."""

    def report(self, reports: Sequence[IngestReport]) -> IngestReport:
        """Return the report of `add`, with ids in the order of the sources.

        Args:
            reports: Reports of the jobs.
        """
        parts = [IngestReport(unchanged=self.unchanged, updated=self.updated), *reports]
        places = {document_id: place for place, document_id in enumerate(self.locations)}

        def place(document_id: str) -> int:
            return places.get(document_id.partition(MEMBER_MARK)[0], len(places))

        ids: dict[str, Any] = {
            name: tuple(sorted((one for part in parts for one in getattr(part, name)), key=place))
            for name in _ID_FIELDS
        }
        counts: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts) for name in _COUNTS
        }
        tasks = {name for part in parts for name in part.usage_by_task}
        return IngestReport(
            **ids,
            **counts,
            failed=(*self.failed, *(self._failure(one) for part in parts for one in part.failed)),
            warnings=(*self.warnings, *(text for part in parts for text in part.warnings)),
            usage=sum((part.usage for part in parts), Usage()),
            usage_by_task={
                name: sum((part.usage_by_task.get(name, Usage()) for part in parts), Usage())
                for name in sorted(tasks)
            },
        )

    def _failure(self, failure: IngestFailure) -> IngestFailure:
        """Return a failure of the server with the path of the file on this machine."""
        document_id, mark, member = failure.source.partition(MEMBER_MARK)
        location = self.locations.get(document_id)
        if location is None or location == document_id:
            return failure
        message = failure.message.removeprefix(failure.source)
        source = f"{location}{mark}{member}"
        text = source + message if message != failure.message else failure.message
        return replace(failure, source=source, message=text)


class Progress:
    """Progress of an addition over all of its jobs."""

    def __init__(
        self, notify: Callable[[IngestProgress], None] | None, *, files: int, size: int
    ) -> None:
        """Begin with nothing done.

        Args:
            notify: Function that is called after each change; None for none.
            files: Number of documents that are sent.
            size: Size of the files, in bytes.
        """
        self._notify = notify
        self._files = files
        self._bytes = size
        self._parts: dict[str, IngestProgress] = {}

    def note(self, job: RemoteJob) -> None:
        """Record the state of a job."""
        last = job.progress
        if last is None or self._parts.get(job.id) == last:
            return
        self._parts[job.id] = last
        parts = self._parts.values()
        done = sum(part.documents_done for part in parts)
        if self._notify is not None:
            size = sum(part.bytes_done for part in parts)
            merged = replace(
                last,
                documents_done=done,
                documents_total=max(self._files, sum(part.documents_total for part in parts)),
                bytes_done=size,
                bytes_total=max(self._bytes, size),
                chunks=sum(part.chunks for part in parts),
            )
            self._notify(merged)


class JobRequests(_Requests):
    """Ingest jobs of a knowledge base on a server; needs a key without a filter."""

    def list(self, state: str | None = None) -> Steps[builtins.list[RemoteJob]]:
        """Return the jobs, newest first. The server keeps at most 1,000 finished ones.

        Args:
            state: State of the jobs; None for all.
        """
        jobs = builtins.list[RemoteJob]()
        more: dict[str, str] = {} if state is None else {"state": state}
        while True:
            found = yield from self._get("jobs", offset=len(jobs), limit=_LISTED, **more)
            rows = read_field(found, "jobs")
            jobs += [read_result(RemoteJob, row) for row in rows]
            if len(rows) < _LISTED:
                return jobs

    def get(self, job_id: str) -> Steps[RemoteJob]:
        """Return a job.

        Raises:
            ServerError: If there is no job with this id.
        """
        return read_result(RemoteJob, (yield from self._get("jobs", job_id)))

    def cancel(self, job_id: str) -> Steps[RemoteJob]:
        """Cancel a job, and return its state. Documents that are already added stay.

        Raises:
            ServerError: If there is no job with this id.
        """
        call = Call(method="DELETE", path=self._place.path("jobs", job_id), changes=True)
        return read_result(RemoteJob, (yield call))

    def resume(self, job_id: str) -> Steps[RemoteJob]:
        """Continue a job that was cancelled or has failed, and return its state.

        Raises:
            ServerError: If there is no job with this id, or it cannot be continued.
        """
        path = self._place.path("jobs", job_id, "resume")
        return read_result(RemoteJob, (yield Call(method="POST", path=path, changes=True)))

    def wait(
        self,
        ingest: RemoteIngest | RemoteJob | str,
        *,
        on_document: Callable[[IngestProgress], None] | None = None,
    ) -> Steps[IngestReport]:
        """Wait until jobs have finished, and return the report that `add` would return.

        An interrupt ends the wait. It does not cancel the jobs.

        Args:
            ingest: Result of `add` with `wait=False`, or a job, or the id of one.
            on_document: Function that is called as documents are added, with their progress.

        Raises:
            SpanwiseError: The error that ended a job.
            ServerError: If a job was cancelled.
        """
        whole = _ingest_of(ingest)
        progress = Progress(on_document, files=len(whole.locations), size=0)
        reports = []
        for job_id in whole.jobs:
            job = yield from self.finished(job_id, progress.note)
            reports.append(job.result())
        return whole.report(reports)

    def latest(self) -> Steps[builtins.list[RemoteJob]]:
        """Return the newest jobs."""
        found = yield from self._get("jobs", limit=_LATEST)
        return [read_result(RemoteJob, row) for row in read_field(found, "jobs")]

    def finished(self, job_id: str, note: Callable[[RemoteJob], None]) -> Steps[RemoteJob]:
        """Return a job once it has finished.

        Args:
            job_id: Id of the job.
            note: Function that is called with each state that is read.
        """
        seconds = _FIRST_PAUSE_SECONDS
        while True:
            job = yield from self.get(job_id)
            note(job)
            if job.is_finished:
                return job
            yield Pause(seconds=seconds)
            seconds = min(seconds * 1.5, _LONGEST_PAUSE_SECONDS)

    def cancel_all(self, job_ids: Sequence[str]) -> Steps[None]:
        """Cancel jobs, as far as the server can be reached."""
        for job_id in reversed(job_ids):
            try:
                yield from self.cancel(job_id)
            except SpanwiseError:  # the interrupt is the error that counts
                return


def _ingest_of(given: RemoteIngest | RemoteJob | str) -> RemoteIngest:
    """Return the jobs that a caller names.

    Raises:
        OptionError: If the value is of another type.
    """
    if isinstance(given, RemoteIngest):
        return given
    if isinstance(given, RemoteJob):
        return RemoteIngest(jobs=(given.id,), locations={name: name for name in given.documents})
    if isinstance(given, str):
        return RemoteIngest(jobs=(given,))
    raise OptionError(f"ingest is {shown(given)}; give the result of `add`, a job or its id")

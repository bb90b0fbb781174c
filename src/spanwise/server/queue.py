"""The ingest queue of a knowledge base: accepts, cancels and resumes its jobs.

`queue_storage` chooses where the jobs and the uploaded files are. A `JobRunner` runs the jobs: in
the ingest process of `spanwise serve`, or on a thread of an application of the caller.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from spanwise.server.job_runner import JobRunner
from spanwise.server.jobs import NewJob, QueueFullError
from spanwise.server.problems import Problem
from spanwise.server.queue_storage import QueueStorage, storage_of
from spanwise.server.upload_retention import UploadRetention

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.server.options import QueueOptions
    from spanwise.server.uploads import UploadTarget
    from spanwise.types import DocumentRecord

_RETRY_SECONDS = 10


class IngestQueue:
    """Jobs of one knowledge base."""

    def __init__(
        self,
        base: KnowledgeBase,
        storage: QueueStorage,
        options: QueueOptions,
        *,
        llm: str | LanguageModel | None = None,
        runs_jobs: bool = True,
        owner: str = "",
    ) -> None:
        """Create the queue; nothing is written before the first job.

        Args:
            base: Open knowledge base.
            storage: Place of the jobs and of the uploaded files.
            options: Options.
            llm: Language model of the server; None if there is none.
            runs_jobs: Whether jobs run on a thread of this process. Otherwise another process runs
                them.
            owner: Unique name of the process as the owner of leases; empty for a random one.
        """
        self.jobs = storage.jobs
        self.options = options
        self.llm = llm if options.allow_generation else None
        """Language model that jobs may use; None if there is none."""
        self._uploads = 0
        self._place = storage.uploads
        self._retention = UploadRetention(self.jobs, base, storage.uploads)
        self._runner: JobRunner | None = None
        if runs_jobs:
            self._runner = JobRunner(
                self.jobs,
                base,
                self._retention,
                llm=self.llm,
                keep_uploads=options.keep_uploads,
                keep_days=options.keep_days,
                lease_seconds=options.lease_seconds,
                owner=owner,
            )

    def start(self) -> None:
        """Start to run jobs, also those of an earlier process, unless another process runs them."""
        if self._runner is not None:
            self._runner.start()

    def ask_to_stop(self) -> None:
        """Stop soon; the running job continues in the next process."""
        if self._runner is not None:
            self._runner.ask_to_stop()

    def stop(self) -> None:
        """Stop the running job, which continues in the next process."""
        if self._runner is not None:
            self._runner.stop()

    def check_room(self) -> None:
        """Check that another job may wait.

        Raises:
            Problem: If too many jobs wait.
            StoreError: If the jobs cannot be read.
        """
        if self.jobs.waiting() >= self.options.max_waiting:
            raise self._full()

    def new_upload(self) -> tuple[str, UploadTarget]:
        """Return the id of a new job and the place for its files, which does not exist yet."""
        job_id = secrets.token_hex(12)
        return job_id, self._place.target(job_id)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Count an upload while it is received. Used on the event loop only.

        Raises:
            Problem: If too many uploads are being received.
        """
        if self._uploads >= self.options.max_uploads:
            raise _busy("too_many_uploads", f"{self._uploads} uploads are being received")
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    def submit(self, job: NewJob) -> None:
        """Add a job, whose uploaded files are stored.

        Raises:
            Problem: If too many jobs wait.
            StoreError: If the jobs cannot be written.
        """
        try:
            self.jobs.add(job, max_waiting=self.options.max_waiting)
        except QueueFullError as error:
            raise self._full() from error
        self._wake()

    def resume(self, job_id: str) -> None:
        """Add a failed or cancelled job to the end of the queue again.

        Raises:
            Problem: If the job is not resumable, or too many jobs wait.
            StoreError: If the jobs cannot be written.
        """
        try:
            resumed = self.jobs.resume(job_id, max_waiting=self.options.max_waiting)
        except QueueFullError as error:
            raise self._full() from error
        if not resumed:
            raise Problem(
                409,
                "not_resumable",
                "only a failed or cancelled job whose files or URL are still kept can be resumed; "
                "send the files or the URL again",
            )
        self._wake()

    def cancel(self, job_id: str, *, discard: bool = False) -> None:
        """Cancel a job; a running one ends soon.

        Args:
            job_id: Id of the job.
            discard: Whether the files of the job are removed once it has ended, so that it cannot
                be resumed. Files of stored documents are kept.

        Raises:
            StoreError: If the jobs cannot be written.
        """
        self.jobs.with_reserve(partial(self.jobs.cancel, job_id, discard=discard))
        self._retention.tidy(job_id)

    def forget(self, record: DocumentRecord) -> None:
        """Remove the uploaded file of a removed document."""
        job_id = self._place.job_of(record.source_root)
        if job_id:
            self._retention.tidy(job_id)

    def _wake(self) -> None:
        if self._runner is not None:
            self._runner.start()
            self._runner.wake()

    def _full(self) -> Problem:
        return _busy("queue_full", f"{self.options.max_waiting} jobs are waiting")


def _busy(code: str, reason: str) -> Problem:
    headers = {"Retry-After": str(_RETRY_SECONDS)}
    return Problem(429, code, f"{reason}; try again later", headers=headers)


def queues_of(
    bases: Mapping[str, KnowledgeBase],
    options: QueueOptions,
    *,
    llm: str | LanguageModel | None = None,
    runs_jobs: bool = True,
    owner: str = "",
) -> dict[str, IngestQueue]:
    """Return the queues of the knowledge bases that can have one, by name; see `IngestQueue`."""
    storages = {name: storage_of(base) for name, base in bases.items()}
    return {
        name: IngestQueue(bases[name], storage, options, llm=llm, runs_jobs=runs_jobs, owner=owner)
        for name, storage in storages.items()
        if storage is not None
    }


@contextmanager
def running(queues: Mapping[str, IngestQueue]) -> Iterator[None]:
    """Run the jobs of queues during a block."""
    for queue in queues.values():
        queue.start()
    try:
        yield
    finally:
        for queue in queues.values():
            queue.ask_to_stop()
        for queue in queues.values():
            queue.stop()

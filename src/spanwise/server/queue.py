"""The ingest queue of a knowledge base: runs its jobs one at a time, on a thread of the server.

The jobs and the uploaded files are in a folder next to the knowledge base (`reports.kb.server`), so
that the folder of the knowledge base has its own files only. An uploaded file is kept while a
document comes from it, because page images are drawn from it.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.errors import OptionError, SpanwiseError, StoreError
from spanwise.ingest.sources import root_of
from spanwise.knowledge_base.internals import folder_of, store_of
from spanwise.server.jobs import ClaimedJob, JobFile, Outcome, QueueFullError
from spanwise.server.problems import Problem, crash_of, problem_of
from spanwise.server.uploads import is_abandoned, remove_unused
from spanwise.threads import start_cancellable
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import DocumentRecord, IngestProgress, IngestReport

_logger = logging.getLogger("spanwise.server")
_POLL_SECONDS = 1.0
_STOP_SECONDS = 15.0
_RETRY_SECONDS = 10
_CONFLICT = (
    "a document with this id comes from another source; send `replace=true` to replace it, or use "
    "another name or prefix"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions:
    """Options of the ingest queue of each knowledge base."""

    max_waiting: int = 100
    """Maximum number of unfinished jobs; more are refused with status 429."""
    keep_uploads: bool = True
    """Whether uploaded files are kept while a document comes from them. Without them, there are no
    images of pages and figures."""
    lease_seconds: float = 15.0
    """Time after which another process takes over the job of a killed process, in seconds."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            OptionError: If a number is not positive.
        """
        for name in ("max_waiting", "lease_seconds"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} is {getattr(self, name)}; give a positive number")


class IngestQueue:
    """Jobs of one knowledge base on disk."""

    def __init__(self, base: KnowledgeBase, folder: Path, options: QueueOptions) -> None:
        """Create the queue; nothing is written before the first job.

        Args:
            base: Open knowledge base.
            folder: Folder of the knowledge base.
            options: Options.
        """
        state = folder.with_name(f"{folder.name}.server")
        self.jobs = JobFile(state / "jobs.db")
        self.options = options
        self._base = base
        self._uploads = state / "uploads"
        self._owner = secrets.token_hex(16)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self._progress: dict[str, Any] | None = None

    def start(self) -> None:
        """Start to run jobs, also those of an earlier process."""
        with self._starting:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="spanwise-jobs", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop the running job, which continues in the next process."""
        self._stopping.set()
        self._wanted.set()
        with self._starting:
            if self._thread is not None:
                self._thread.join(_STOP_SECONDS)

    def check_room(self) -> None:
        """Check that another job may wait.

        Raises:
            Problem: If too many jobs wait.
            StoreError: If the jobs cannot be read.
        """
        if self.jobs.waiting() >= self.options.max_waiting:
            raise self._full()

    def new_upload(self) -> tuple[str, Path]:
        """Return the id of a new job and the folder for its files, which does not exist yet."""
        job_id = secrets.token_hex(12)
        return job_id, self._uploads / job_id

    def submit(self, job_id: str, names: list[str], *, url: str = "", replace: bool) -> None:
        """Add a job, whose uploaded files are on disk.

        Raises:
            Problem: If too many jobs wait.
            StoreError: If the jobs cannot be written.
        """
        try:
            self.jobs.add(
                job_id, names, url=url, replace=replace, max_waiting=self.options.max_waiting
            )
        except QueueFullError as error:
            raise self._full() from error
        self.start()
        self._wanted.set()

    def cancel(self, job_id: str) -> None:
        """Cancel a job; a running one ends soon.

        Raises:
            StoreError: If the jobs cannot be written.
        """
        self.jobs.cancel(job_id)
        job = self.jobs.get(job_id)
        if job is not None and job.state == "cancelled":
            self._tidy(self._uploads / job_id)

    def forget(self, record: DocumentRecord) -> None:
        """Remove the uploaded file of a removed document."""
        folder = Path(record.source_root)
        if folder.parent == Path(root_of(self._uploads)):
            self._tidy(self._uploads / folder.name)

    def _full(self) -> Problem:
        return Problem(
            429,
            "queue_full",
            f"{self.options.max_waiting} jobs wait already; try again later",
            headers={"Retry-After": str(_RETRY_SECONDS)},
        )

    def _run(self) -> None:
        with _logged("unused uploads cannot be removed"):
            self._tidy_all()
        while not self._stopping.is_set():
            self._wanted.clear()
            job = None
            with _logged("the jobs cannot be read"):
                job = self.jobs.claim(self._owner, lease_seconds=self.options.lease_seconds)
            if job is None:
                self._wanted.wait(_POLL_SECONDS)
                continue
            with _logged("a job is not finished, and will be repeated"):
                self._run_job(job)

    def _run_job(self, job: ClaimedJob) -> None:
        """Run a job, and renew its lease meanwhile."""
        self._progress = None
        cancelled = threading.Event()
        work = start_cancellable(partial(self._ingest, job), cancelled=cancelled)
        seconds = min(_POLL_SECONDS, self.options.lease_seconds / 4)
        while not wait_for((work,), timeout=seconds).done:
            goes_on = True
            with _logged("the lease of a job cannot be renewed"):
                goes_on = self.jobs.renew(
                    job.id,
                    self._owner,
                    lease_seconds=self.options.lease_seconds,
                    progress=self._progress,
                )
            if not goes_on or self._stopping.is_set():
                cancelled.set()
        outcome = _outcome(work.result, partial(self._shown, job))
        if outcome.state == "cancelled" and self._stopping.is_set():
            self.jobs.release(job.id, self._owner)
            return
        if self.jobs.finish(job.id, self._owner, outcome, progress=self._progress):
            self._tidy_after(job)

    def _ingest(self, job: ClaimedJob) -> IngestReport:
        """Add the files or the URL of a job to the knowledge base."""

        def note(progress: IngestProgress) -> None:
            self._progress = progress.to_dict()

        source = job.url or self._uploads / job.id
        return self._base.add(source, replace=job.replace, on_document=note)

    def _shown(self, job: ClaimedJob, report: IngestReport) -> dict[str, Any]:
        """Return a report without paths of the server, and without the signature of a URL."""
        folder, state = self._uploads / job.id, self._uploads.parent
        temporary = tempfile.gettempdir()
        hidden = {
            f"{root_of(folder)}{os.sep}": "",
            f"{root_of(folder)}/": "",
            f"{folder}{os.sep}": "",
            root_of(state): "the folder of the server",
            str(state): "the folder of the server",
            f"{temporary}{os.sep}spanwise-ingest-": "",
            f"{temporary}: ": "",
        }
        if job.url:
            hidden[job.url] = job.names[0]
        plain = report.to_dict()
        shown = {name: without(plain[name], hidden) for name in ("failed", "warnings")}
        for failure in shown["failed"]:
            if failure["code"] == "conflict":
                failure["message"] = f"{failure['source']}: {_CONFLICT}"
        return {**plain, **shown}

    def _tidy_after(self, job: ClaimedJob) -> None:
        """Remove the files that a finished job does not need, and those that it replaced."""
        if not self.options.keep_uploads:
            shutil.rmtree(self._uploads / job.id, ignore_errors=True)
            self.jobs.forget_uploads(job.names, job_id=job.id)
        for other in [job.id, *self.jobs.other_uploads(job.names, job_id=job.id)]:
            self._tidy(self._uploads / other)

    def _tidy_all(self) -> None:
        """Remove the unused files of all jobs, and uploads that a killed process left behind."""
        if not self._uploads.is_dir():
            return
        for folder in sorted(self._uploads.iterdir()):
            if self.jobs.has_files(folder.name):
                self._tidy(folder)
            elif is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _tidy(self, folder: Path) -> None:
        """Remove the files of a finished job that no document comes from."""
        job = self.jobs.get(folder.name)
        if not folder.is_dir() or (job is not None and job.state in ("queued", "running")):
            return
        root = root_of(folder)
        used = store_of(self._base).ids_from([root]).get(root, ())
        with suppress(OSError):  # another process tidies, or the disk does not allow it
            removed = remove_unused(folder, used)
            self.jobs.forget_uploads(removed, job_id=folder.name)


def queues_of(bases: Mapping[str, KnowledgeBase], options: QueueOptions) -> dict[str, IngestQueue]:
    """Return the queues of the knowledge bases that are folders, by name."""
    folders = {name: folder_of(base) for name, base in bases.items()}
    return {
        name: IngestQueue(bases[name], folder, options)
        for name, folder in folders.items()
        if folder is not None
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
            queue.stop()


def without(value: Any, hidden: Mapping[str, str]) -> Any:
    """Return JSON data with texts replaced in its strings.

    Args:
        value: JSON data.
        hidden: Replacements by text, in the order in which they are applied.
    """
    if isinstance(value, str):
        for text, shown in hidden.items():
            value = value.replace(text, shown)
        return value
    if isinstance(value, Mapping):
        return {name: without(item, hidden) for name, item in value.items()}
    return [without(item, hidden) for item in value] if isinstance(value, list) else value


def _outcome(
    result: Callable[[], IngestReport], shown: Callable[[IngestReport], dict[str, Any]]
) -> Outcome:
    """Return the final state of a job from the result of its work."""
    try:
        report = result()
    except CancelledError:
        return Outcome(state="cancelled")
    except SpanwiseError as error:
        return Outcome(state="failed", error=problem_of(error).body())
    except Exception as error:  # noqa: BLE001 - the queue continues with the next job
        return Outcome(state="failed", error=crash_of(error).body())
    stored = report.added or report.replaced or report.updated or report.unchanged
    public = {name: to_plain(value) for name, value in shown(report).items()}
    return Outcome(state="failed" if report.failed and not stored else "done", report=public)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log errors of the store, so that the queue continues."""
    try:
        yield
    except StoreError as error:
        _logger.error("%s: %s", what, error)  # noqa: TRY400 - the error says enough
    except Exception:
        _logger.exception("%s", what)

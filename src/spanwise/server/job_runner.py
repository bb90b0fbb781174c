"""Runs the ingest jobs of a knowledge base one at a time, on a thread."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from spanwise.errors import SpanwiseError, StoreError, StoreFullError
from spanwise.ingest.sources import root_of
from spanwise.server.job_options import add_arguments
from spanwise.server.jobs import STOP_SECONDS, ClaimedJob, JobFile, Outcome
from spanwise.server.problems import crash_of, problem_of
from spanwise.threads import start_cancellable
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.server.upload_folders import UploadFolders
    from spanwise.types import IngestProgress, IngestReport

_logger = logging.getLogger("spanwise.server")
_POLL_SECONDS = 0.5
_FULL_DISK_SECONDS = 2.0  # between two attempts to write the end of a job to a full disk
_TIDY_SECONDS = 3_600.0
_DAY_SECONDS = 86_400.0
_CONFLICT = (
    "a document with this id comes from another source; send `replace=true` to replace it, or use "
    "another name or prefix"
)
_FULL = (
    "the disk of the server is full; the documents that are already stored stay. Make room and "
    "resume the job"
)


class _Documents:
    """Progress of a job, and numbers of documents that are not yet written to the job file."""

    def __init__(self) -> None:
        self.progress: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()

    def note(self, progress: IngestProgress) -> None:
        """Record the progress after a document."""
        with self._lock:
            self.progress = progress.to_dict()
            self._outcomes[progress.outcome] += 1

    def take(self) -> Counter[str]:
        """Return the numbers of documents since the last call, by outcome."""
        with self._lock:
            taken, self._outcomes = self._outcomes, Counter()
            return taken

    def put_back(self, taken: Counter[str]) -> None:
        """Return numbers that could not be written."""
        with self._lock:
            self._outcomes += taken


class JobRunner:
    """Runs the jobs of one knowledge base."""

    def __init__(  # noqa: PLR0913 - keywords
        self,
        jobs: JobFile,
        base: KnowledgeBase,
        folders: UploadFolders,
        *,
        llm: str | LanguageModel | None,
        keep_uploads: bool,
        keep_days: float,
        lease_seconds: float,
        owner: str = "",
    ) -> None:
        """Create a runner.

        Args:
            jobs: Jobs.
            base: Open knowledge base.
            folders: Folders of uploaded files.
            llm: Language model that jobs may use; None if there is none.
            keep_uploads: Whether uploaded files are kept while a document comes from them.
            keep_days: Time for which finished jobs are kept, in days.
            lease_seconds: Time after which another process takes over the job of a killed process.
            owner: Unique name of the runner; empty for a random one.
        """
        self._jobs = jobs
        self._base = base
        self._folders = folders
        self._llm = llm
        self._keep_uploads = keep_uploads
        self._keep_days = keep_days
        self._lease_seconds = lease_seconds
        self._owner = owner or secrets.token_hex(16)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._wanted = threading.Event()

    def start(self) -> None:
        """Start the thread, unless it runs or was stopped."""
        with self._starting:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="spanwise-jobs", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Look for a job at once."""
        self._wanted.set()

    def ask_to_stop(self) -> None:
        """Stop soon; the running job is put back to the front of the queue."""
        self._stopping.set()
        self._wanted.set()

    def stop(self) -> None:
        """Stop the running job, which continues in the next process."""
        self.ask_to_stop()
        with self._starting:
            if self._thread is not None:
                self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        next_tidy = 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= next_tidy:
                next_tidy = time.monotonic() + _TIDY_SECONDS
                with _logged("old jobs and unused uploads cannot be removed"):
                    self._jobs.delete_finished(before=time.time() - self._keep_days * _DAY_SECONDS)
                    self._folders.tidy_all()
            self._wanted.clear()
            job = None
            with _logged("the jobs cannot be read"):
                job = self._jobs.claim(self._owner, lease_seconds=self._lease_seconds)
            if job is None:
                self._wanted.wait(_POLL_SECONDS)
                continue
            with _logged("a job is not finished, and will be repeated"):
                self._run_job(job)

    def _run_job(self, job: ClaimedJob) -> None:
        """Run a job, and renew its lease meanwhile."""
        self._jobs.keep_reserve()
        documents = _Documents()
        cancelled = threading.Event()
        work = start_cancellable(partial(self._ingest, job, documents), cancelled=cancelled)
        seconds = min(_POLL_SECONDS, self._lease_seconds / 4)
        while not wait_for((work,), timeout=seconds).done:
            goes_on = True
            with _logged("the lease of a job cannot be renewed"):
                goes_on = self._renew(job, documents)
            if not goes_on or self._stopping.is_set():
                cancelled.set()
        outcome = _outcome(work.result, partial(self._shown, job))
        if outcome.state == "cancelled" and self._stopping.is_set():
            with _logged("the documents of a job cannot be counted"):
                self._renew(job, documents)
            self._jobs.release(job.id, self._owner)
            return
        if self._finish(job, outcome, documents):
            self._folders.tidy_after(job, keep=self._keep_uploads)

    def _renew(self, job: ClaimedJob, documents: _Documents) -> bool:
        taken = documents.take()
        try:
            return self._jobs.renew(
                job.id,
                self._owner,
                lease_seconds=self._lease_seconds,
                progress=documents.progress,
                documents=taken,
            )
        except BaseException:
            documents.put_back(taken)
            raise

    def _finish(self, job: ClaimedJob, outcome: Outcome, documents: _Documents) -> bool:
        """Write the end of a job; wait for room if the disk is full, instead of repeating the job.

        Return whether this process still owned it.
        """
        write = partial(
            self._jobs.finish,
            job.id,
            self._owner,
            outcome,
            progress=documents.progress,
            documents=documents.take(),
        )
        is_logged = False
        while True:
            try:
                return self._jobs.with_reserve(write)
            except StoreFullError as error:
                if not is_logged:
                    _logger.error("the end of a job waits for room: %s", error)  # noqa: TRY400 - the error says enough
                is_logged = True
                if self._stopping.wait(_FULL_DISK_SECONDS):
                    raise

    def _ingest(self, job: ClaimedJob, documents: _Documents) -> IngestReport:
        """Add the files or the URL of a job to the knowledge base."""
        return self._base.add(
            job.url or self._folders.of(job.id),
            replace=job.replace,
            on_document=documents.note,
            **add_arguments(job.options, llm=self._llm),
        )

    def _shown(self, job: ClaimedJob, report: IngestReport) -> dict[str, Any]:
        """Return a report without paths of the server, and without the signature of a URL."""
        folder, state = self._folders.of(job.id), self._folders.path.parent
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
        body = problem_of(error).body()
        if isinstance(error, StoreFullError):
            body["detail"] = _FULL
        return Outcome(state="failed", error=body)
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

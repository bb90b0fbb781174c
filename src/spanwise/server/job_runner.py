"""Runs the ingest jobs of a knowledge base one at a time, on a thread."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from spanwise.errors import SpanwiseError, StoreError, StoreFullError, StoreUnavailableError
from spanwise.knowledge_base.internals import add_copies
from spanwise.server.job_options import add_arguments
from spanwise.server.jobs import STOP_SECONDS, ClaimedJob, JobStore, Outcome
from spanwise.server.problems import crash_of, problem_of
from spanwise.threads import start_cancellable
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.server.upload_retention import UploadRetention
    from spanwise.types import IngestProgress, IngestReport

_Result: TypeAlias = "tuple[IngestReport, dict[str, Any]]"
"""Report of a job, and its form without paths of the server."""
_logger = logging.getLogger("spanwise.server")
_POLL_SECONDS = 0.5
_RETRY_SECONDS = 2.0  # between two attempts to write to a full disk, or an unreachable database
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
    """Progress of a job, and numbers of documents that are not yet written to the jobs."""

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
        jobs: JobStore,
        base: KnowledgeBase,
        uploads: UploadRetention,
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
            uploads: Uploaded files.
            llm: Language model that jobs may use; None if there is none.
            keep_uploads: Whether uploaded files are kept while a document comes from them.
            keep_days: Time for which finished jobs are kept, in days.
            lease_seconds: Time after which another process takes over the job of a killed process.
            owner: Unique name of the runner; empty for a random one.
        """
        self._jobs = jobs
        self._base = base
        self._uploads = uploads
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
                    self._jobs.delete_finished(keep_seconds=self._keep_days * _DAY_SECONDS)
                    self._uploads.tidy_all()
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
        try:
            outcome = _outcome(work.result)
        except StoreUnavailableError:
            self._put_back(job)
            return
        if outcome.state == "cancelled" and self._stopping.is_set():
            with _logged("the documents of a job cannot be counted"):
                self._renew(job, documents)
            self._jobs.release(job.id, self._owner)
            return
        if self._finish(job, outcome, documents):
            with _logged("the files of a finished job cannot be removed yet"):
                self._uploads.tidy_after(job, keep=self._keep_uploads)

    def _put_back(self, job: ClaimedJob) -> None:
        """Put a job back to the queue once the database can be reached again."""
        _logger.error("a job waits, because the database cannot be reached")
        while not self._stopping.wait(_RETRY_SECONDS):
            with suppress(StoreUnavailableError):
                self._jobs.release(job.id, self._owner)
                return

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
        """Write the end of a job; wait for room on the disk, or for the database.

        Otherwise the job would be repeated.

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
            except (StoreFullError, StoreUnavailableError) as error:
                if not is_logged:
                    _logger.error("the end of a job cannot be written yet: %s", error)  # noqa: TRY400 - the error says enough
                is_logged = True
                if self._stopping.wait(_RETRY_SECONDS):
                    raise

    def _ingest(self, job: ClaimedJob, documents: _Documents) -> _Result:
        """Add the files or the URL of a job to the knowledge base."""
        arguments = {
            "replace": job.replace,
            "on_document": documents.note,
            **add_arguments(job.options, llm=self._llm),
        }
        place = self._uploads.place
        if job.url:
            report = self._base.add(job.url, **arguments)
            return report, _shown(report, {**place.hidden(job.id), job.url: job.names[0]})
        with place.files(job.id) as folder:
            report = add_copies(self._base, folder, **arguments)
        return report, _shown(report, place.hidden(job.id))


def _shown(report: IngestReport, hidden: Mapping[str, str]) -> dict[str, Any]:
    """Return a report without paths of the server, and without the signature of a URL."""
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


def _outcome(result: Callable[[], _Result]) -> Outcome:
    """Return the final state of a job from the result of its work.

    Raises:
        StoreUnavailableError: If the database could not be reached; the job has not ended.
    """
    try:
        report, shown = result()
    except CancelledError:
        return Outcome(state="cancelled")
    except StoreUnavailableError:
        raise
    except SpanwiseError as error:
        body = problem_of(error).body()
        if isinstance(error, StoreFullError):
            body["detail"] = _FULL
        return Outcome(state="failed", error=body)
    except Exception as error:  # noqa: BLE001 - the queue continues with the next job
        return Outcome(state="failed", error=crash_of(error).body())
    stored = report.added or report.replaced or report.updated or report.unchanged
    public = {name: to_plain(value) for name, value in shown.items()}
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

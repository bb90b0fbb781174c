"""Counters of one ingest: report, progress, failures, and detection of removed documents.

Rules:
    If the embedder rejects the text of a document, only this document fails.
    If the embedder fails for another reason for several documents in a row, the run ends, because
    each further document would wait for all retries too.
    Documents that were not started are reported as failed, so an incomplete run is visible.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from spanwise.errors import ConflictError, DocumentError, DocumentErrorCode, ModelError
from spanwise.ingest.sources import MEMBER_MARK, Source, containers_of
from spanwise.models.ledger import Ledger
from spanwise.threads import check_cancelled
from spanwise.types import IngestFailure, IngestProgress, IngestReport, Usage

if TYPE_CHECKING:
    from spanwise.errors import CostLimitError
    from spanwise.ingest.reader import ComparedSource
    from spanwise.parsers.parsed import Step
    from spanwise.stores.port import DocumentEntry
    from spanwise.types import Document, DocumentRecord, DocumentStatus
    from spanwise.types.listener import Listener

Outcome = Literal["added", "replaced", "updated", "unchanged", "removed", "failed"]
_STORED = ("added", "replaced", "updated", "removed")

_GROUP_SECONDS = 0.2  # bounds the share of time spent on flushing to disk

_LEFT_OUT_CODES = frozenset(("unsupported", "binary", "empty"))
"""Error codes of container members that are skipped without a failure.

Archives and e-mails often contain images and programs.
"""


@dataclass(slots=True)
class _LeftOut:
    """Skipped container members with the same reason."""

    first: str
    """Location of the first of these members."""
    count: int = 0


@dataclass(slots=True, kw_only=True)
class IngestCounter:
    """Counters and progress of one ingest."""

    total: int
    """Number of documents to process that are known so far."""
    bytes_total: int
    on_document: Callable[[IngestProgress], None] | None = None
    warnings: list[str] = field(default_factory=list)
    chunks: int = 0
    kept_vectors: int = 0
    chars: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger of the model calls."""
    _incomplete: dict[DocumentStatus, list[str]] = field(
        default_factory=lambda: {"partial": [], "needs_ocr": []}
    )
    _hidden_figures: dict[str, int] = field(default_factory=dict)
    """Number of figures without a caption or description, by document."""
    _started: float = field(default_factory=time.perf_counter)
    _done: int = 0
    _bytes_done: int = 0
    _ids: dict[Outcome, list[str]] = field(
        default_factory=lambda: {
            "added": [], "replaced": [], "updated": [], "unchanged": [], "removed": [], "failed": []
        }
    )  # fmt: skip
    _failures: list[IngestFailure] = field(default_factory=list)
    _left_out: dict[str, _LeftOut] = field(default_factory=dict)
    _commit: Callable[[], None] | None = None
    """Function that flushes stored documents to disk; None in a dry run."""
    _has_uncommitted: bool = False
    """Whether documents were stored since the last flush to disk."""
    _last_commit: float = field(default_factory=time.perf_counter)
    _unreported: list[IngestProgress] = field(default_factory=list)
    """Progress events to report after the next commit."""
    _found: set[str] = field(default_factory=set)
    """Ids of the documents that the sources contain."""
    _unreadable: set[str] = field(default_factory=set)
    """Ids of unreadable sources; the id of a container also covers its members."""

    def count(
        self, entry: DocumentEntry, *, kept_vectors: int, warnings: Sequence[str] = ()
    ) -> None:
        """Count a stored document.

        Args:
            entry: Entry of the stored document.
            kept_vectors: Number of reused vectors.
            warnings: Human-readable messages about parts that could not be generated.
        """
        document = entry.document
        self.chunks += len(entry.chunks)
        self.kept_vectors += kept_vectors
        self.chars += len(document.text)
        hidden = sum(not figure.is_searchable for figure in document.figures)
        if hidden:
            self._hidden_figures[document.id] = hidden
        location = document.source or document.id
        self.warnings += [f"{location}: {text}" for text in (*document.warnings, *warnings)]
        if document.status in self._incomplete:
            self._incomplete[document.status].append(document.id)

    def fail(self, error: DocumentError) -> None:
        """Record a failed document."""
        self._failures.append(
            IngestFailure(source=error.source, code=error.code, message=str(error))
        )

    def note(self, source: Source | DocumentError | DocumentRecord, outcome: Outcome) -> None:
        """Record the outcome for a source or for a removed document, and report it as progress.

        Raises:
            CancelledError: If the run was cancelled; stored documents are kept.
        """
        check_cancelled()
        if isinstance(source, DocumentError):
            document_id = source.source
        elif isinstance(source, Source):
            document_id = source.document_id
            self._bytes_done += source.bytes
            (self._unreadable if outcome == "failed" else self._found).add(document_id)
        else:
            document_id = source.id
        self._ids[outcome].append(document_id)
        self._done += 1
        self._unreported.append(
            IngestProgress(
                documents_done=self._done,
                documents_total=self.total,
                bytes_done=self._bytes_done,
                bytes_total=self.bytes_total,
                chunks=self.chunks,
                document_id=document_id,
                outcome=outcome,
            )
        )
        if outcome in _STORED and self._commit is not None:
            self._has_uncommitted = True
        if not self._has_uncommitted or time.perf_counter() - self._last_commit >= _GROUP_SECONDS:
            self.commit_and_report()

    def commit_and_report(self) -> None:
        """Flush stored documents to disk, then send the pending progress events.

        If the flush fails, they are never sent: their documents may be lost.
        """
        if self._commit is not None and self._has_uncommitted:
            try:
                self._commit()
            except BaseException:
                self._unreported.clear()
                raise
            self._has_uncommitted = False
            self._last_commit = time.perf_counter()
        events, self._unreported = self._unreported, []
        if self.on_document is not None:
            for progress in events:
                self.on_document(progress)

    @contextmanager
    def reporting_after_commit(self, commit: Callable[[], None]) -> Iterator[None]:
        """Send progress events inside the block only after their documents are on disk.

        Documents that are stored within a short time share one flush.

        Args:
            commit: Function that flushes stored documents to disk.
        """
        commit()
        self._commit = commit
        try:
            yield
        finally:
            self.commit_and_report()

    def note_failure(self, source: Source | DocumentError, error: DocumentError) -> None:
        """Record the failure of a source.

        Container members without a parser are not failures: they are counted by reason. Special
        files of a folder cause a warning.
        """
        if isinstance(source, Source) and source.is_member and error.code in _LEFT_OUT_CODES:
            reason = str(error).removeprefix(f"{source.location}: ").partition(";")[0]
            self._count_left_out(source, reason)
        elif isinstance(source, DocumentError) and error.code == "unsupported":
            reason = str(error).removeprefix(f"{error.source}: ")
            self.warnings.append(f"{error.source}: left out: {reason}")
        else:
            self.fail(error)
        self.note(source, "failed")

    def _count_left_out(self, source: Source, reason: str) -> None:
        self._left_out.setdefault(reason, _LeftOut(source.location)).count += 1

    def check_id(self, source: Source | DocumentError) -> None:
        """Check that a container member does not have the id of another document of this run.

        For example, the member "b" of "a.zip" and the file "b" in a folder "a.zip!" have the same
        id.

        Raises:
            ConflictError: If another document of this run has the id.
        """
        if not isinstance(source, Source) or MEMBER_MARK not in source.document_id:
            return
        if source.document_id in self._found:
            raise ConflictError(
                f"{source.location}: another document of this run has the id "
                f"{source.document_id!r}; rename one",
                source=source.location,
                code="conflict",
            )

    def note_unopened(self, source: Source, reason: str) -> None:
        """Record a container whose members are not read."""
        self._unreadable.add(source.document_id)
        self._count_left_out(source, reason)

    def note_opened(
        self, source: Source, members: Sequence[Source], lost: int, *, is_document: bool
    ) -> None:
        """Add the members of an opened container to the total."""
        self.total += sum(not member.members_only for member in members) + lost
        if not is_document and not source.members_only:
            self.total -= 1

    def note_incomplete(self, source: Source, error: DocumentError) -> None:
        """Record an error after which the other members of a container were not read."""
        self.fail(error)
        self._unreadable.add(source.document_id)

    @property
    def has_found(self) -> bool:
        """Whether the sources contain any document."""
        return bool(self._found)

    def has_seen(self, document_id: str) -> bool:
        """Return whether this run found a document or failed to read it."""
        return document_id in self._found or document_id in self._unreadable

    def not_found(self, records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
        """Return the records of documents that are no longer in their sources.

        A document may still be in an unreadable source, so its record is left out.
        """
        return [
            record
            for record in records
            if record.id not in self._found
            and self._unreadable.isdisjoint((*containers_of(record.id), record.id))
        ]

    def note_given(self, document_id: str, outcome: Outcome) -> None:
        """Record the outcome for a document that was added without a source."""
        self._found.add(document_id)
        self._ids[outcome].append(document_id)

    def _figure_warnings(self) -> list[str]:
        """Return a warning about figures that no search can find; none if there are none."""
        counts = self._hidden_figures
        if not counts:
            return []
        count, documents = sum(counts.values()), len(counts)
        return [
            f"{count} figure{'s' * (count > 1)} in {documents} document{'s' * (documents > 1)} "
            f"(first in {next(iter(counts))}) cannot be searched without a caption or "
            "description; describe figures by a model that accepts images (--describe-figures)"
        ]

    def report(self, *, embeds: bool) -> IngestReport:
        """Return the report of the run.

        Args:
            embeds: Whether the knowledge base has an embedder.
        """
        usage_by_task = self.ledger.usage_by_task
        left_out = [
            f"{members.first}: left out: {reason}"
            + (f" (and {members.count - 1} more in containers)" if members.count > 1 else "")
            for reason, members in self._left_out.items()
        ]
        return IngestReport(
            added=tuple(self._ids["added"]),
            replaced=tuple(self._ids["replaced"]),
            updated=tuple(self._ids["updated"]),
            unchanged=tuple(self._ids["unchanged"]),
            removed=tuple(self._ids["removed"]),
            failed=tuple(self._failures),
            warnings=(*self.warnings, *left_out, *self._figure_warnings()),
            partial=tuple(self._incomplete["partial"]),
            needs_ocr=tuple(self._incomplete["needs_ocr"]),
            chunks=self.chunks,
            embedded_chunks=self.chunks - self.kept_vectors if embeds else 0,
            kept_vectors=self.kept_vectors,
            chars=self.chars,
            seconds=time.perf_counter() - self._started,
            usage=sum(usage_by_task.values(), Usage()),
            usage_by_task=usage_by_task,
        )


class StepEvents:
    """Reports the progress inside documents to a listener. Thread-safe."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self._notifying = threading.Lock()
        self._last = time.perf_counter()

    def on_parser_step(self, step: Step) -> None:
        """Report that the parser has reached a page, as the step "parse"."""
        if step.page is not None:
            self._notify("parse", {"page": step.page, "pages": step.of})

    def on_embedded(self, done: int, total: int) -> None:
        """Report the number of embedded chunks of a document, as the step "embed"."""
        self._notify("embed", {"chunks": done, "total": total})

    def on_fetched(self, pages: int) -> None:
        """Report the number of pages that a crawl has requested, as the step "fetch"."""
        self._notify("fetch", {"pages": pages})

    def _notify(self, name: str, counts: Mapping[str, int]) -> None:
        if self._listener is None:
            return
        with self._notifying:
            now = time.perf_counter()
            seconds, self._last = now - self._last, now
            self._listener.on_step(name, seconds=seconds, counts=counts)


def joined_reports(reports: Sequence[IngestReport]) -> IngestReport:
    """Return the report of several runs as one; equal warnings are reported once."""
    usage_by_task: dict[str, Usage] = {}
    for report in reports:
        for task, usage in report.usage_by_task.items():
            usage_by_task[task] = usage_by_task.get(task, Usage()) + usage

    def ids(name: str) -> tuple[str, ...]:
        return tuple(document_id for report in reports for document_id in getattr(report, name))

    return IngestReport(
        added=ids("added"),
        replaced=ids("replaced"),
        unchanged=ids("unchanged"),
        removed=ids("removed"),
        failed=tuple(failure for report in reports for failure in report.failed),
        warnings=tuple(dict.fromkeys(ids("warnings"))),
        partial=ids("partial"),
        needs_ocr=ids("needs_ocr"),
        chunks=sum(report.chunks for report in reports),
        embedded_chunks=sum(report.embedded_chunks for report in reports),
        kept_vectors=sum(report.kept_vectors for report in reports),
        chars=sum(report.chars for report in reports),
        seconds=sum(report.seconds for report in reports),
        usage=sum(usage_by_task.values(), Usage()),
        usage_by_task=usage_by_task,
    )


_MAX_FAILURES = 3
_NOT_BEGUN = (
    f"not added, because the embedder failed for {_MAX_FAILURES} documents in a row; run the same "
    "command again to continue"
)
_REFUSED = frozenset({400, 413, 422})
"""HTTP status codes of an embedder that rejects the text; other texts may succeed."""


def embedding_failure(document: Document, error: ModelError) -> DocumentError:
    """Return the error of a document whose chunks cannot be embedded."""
    location = document.source or document.id
    return DocumentError(
        f"{location}: not added, as its chunks could not be embedded: {error}",
        source=location,
        code="not_embedded",
    )


def out_of_memory(source: Source | DocumentError | Document) -> DocumentError:
    """Return the error of a document that needs more memory than is available."""
    if isinstance(source, Source):
        location = source.location
    elif isinstance(source, DocumentError):
        location = source.source
    else:
        location = source.source or source.id
    return DocumentError(
        f"{location}: not added, as memory ran out; close other programs, split the document, "
        "or lower max_text_bytes to refuse documents as large as this one",
        source=location,
        code="too_large",
    )


@dataclass(slots=True)
class EmbeddingFailures:
    """Counts consecutive documents for which the embedder failed."""

    _count: int = 0

    def reset(self) -> None:
        """Reset the count, because a document was embedded."""
        self._count = 0

    def count(self, error: DocumentError) -> None:
        """Count a failed document.

        Args:
            error: Error of the document; it counts if the embedder caused it.
        """
        cause = error.__cause__
        if isinstance(cause, ModelError) and cause.status not in _REFUSED:
            self._count += 1

    @property
    def is_limit_reached(self) -> bool:
        """Whether the run must end."""
        return self._count >= _MAX_FAILURES

    def check(self, document: Document) -> None:
        """Raise an error for a document that is not started, because the run must end.

        Raises:
            DocumentError: If the limit is reached.
        """
        if self.is_limit_reached:
            location = document.source or document.id
            raise DocumentError(f"{location}: {_NOT_BEGUN}", source=location, code="not_begun")


def note_not_begun(
    sources: Sequence[ComparedSource], reached: Source | DocumentError, counter: IngestCounter
) -> None:
    """Record the remaining sources as not started, because the embedder fails.

    Args:
        sources: All sources of the run.
        reached: Source that was processed last.
        counter: Counter of the run.
    """
    _note_rest(sources, reached, counter, reason=_NOT_BEGUN, code="not_begun")


def note_too_costly(
    sources: Sequence[ComparedSource],
    reached: Source | DocumentError,
    counter: IngestCounter,
    cause: CostLimitError,
) -> None:
    """Record the source that would exceed the cost limit and the remaining sources as failed."""
    if isinstance(reached, Source):
        counter.note_failure(reached, _failure(reached, f"not added: {cause}", "cost_limit"))
    reason = "not added, because max_cost was reached; run the same command again to continue"
    _note_rest(sources, reached, counter, reason=reason, code="cost_limit")


def _note_rest(
    sources: Sequence[ComparedSource],
    reached: Source | DocumentError,
    counter: IngestCounter,
    *,
    reason: str,
    code: DocumentErrorCode,
) -> None:
    """Record the sources after `reached` as failed; members of its containers are skipped."""
    ids: list[str] = []
    if isinstance(reached, Source):
        ids = [*containers_of(reached.document_id), reached.document_id]
    is_remaining = False
    for source, verdict in sources:
        if isinstance(source, DocumentError):
            if is_remaining:
                counter.note_failure(source, source)
            continue
        is_remaining = is_remaining or source.document_id in ids
        if not is_remaining or source.members_only or counter.has_seen(source.document_id):
            continue
        error = verdict if isinstance(verdict, DocumentError) else None
        counter.note_failure(source, error or _failure(source, reason, code))


def _failure(source: Source, reason: str, code: DocumentErrorCode) -> DocumentError:
    return DocumentError(f"{source.location}: {reason}", source=source.location, code=code)

"""What an ingest counts: for its report, for the progress, and to know which documents are gone.

What a run does not take in: an embedder fails, a model would cost too much, memory runs out.

Rules:
    A document whose text the embedder refuses fails alone.
    Where the embedder fails otherwise, for some documents in a row, the run ends: each of the
    others would wait for all retries too.
    What was not begun is reported as failed, so that nobody takes the run for complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from spanwise.errors import ConflictError, DocumentError, DocumentErrorCode, ModelError
from spanwise.ingest.sources import MEMBER_MARK, Source, containers_of
from spanwise.models.ledger import Ledger
from spanwise.types import IngestFailure, IngestProgress, IngestReport, Usage

if TYPE_CHECKING:
    from spanwise.errors import CostLimitError
    from spanwise.ingest.reader import ComparedSource
    from spanwise.stores.port import DocumentEntry
    from spanwise.types import Document, DocumentRecord, DocumentStatus

Outcome = Literal["added", "replaced", "unchanged", "removed", "failed"]
_STORED = ("added", "replaced", "removed")

_GROUP_SECONDS = 0.2  # so that forcing commits to a disk takes a small share of the time

_LEFT_OUT_CODES = frozenset(("unsupported", "binary", "empty"))
"""Why a member is no failure: pictures and programs lie beside documents in archives and mails."""


@dataclass(slots=True)
class _LeftOut:
    """Members of containers that are left out for one reason."""

    first: str
    count: int = 0


@dataclass(slots=True, kw_only=True)
class IngestCounter:
    """Counts of one ingest."""

    total: int
    """Documents to be looked at, as far as it is known."""
    bytes_total: int
    on_document: Callable[[IngestProgress], None] | None = None
    warnings: list[str] = field(default_factory=list)
    chunks: int = 0
    kept_vectors: int = 0
    chars: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    """Counts what calls of models took."""
    _incomplete: dict[DocumentStatus, list[str]] = field(
        default_factory=lambda: {"partial": [], "needs_ocr": []}
    )
    _started: float = field(default_factory=time.perf_counter)
    _done: int = 0
    _bytes_done: int = 0
    _ids: dict[Outcome, list[str]] = field(
        default_factory=lambda: {
            "added": [], "replaced": [], "unchanged": [], "removed": [], "failed": []
        }
    )  # fmt: skip
    _failures: list[IngestFailure] = field(default_factory=list)
    _left_out: dict[str, _LeftOut] = field(default_factory=dict)
    _commit: Callable[[], None] | None = None
    """Forces to the disk what is stored; None where nothing is."""
    _has_uncommitted: bool = False
    """Whether something that is stored may not be on the disk."""
    _last_commit: float = field(default_factory=time.perf_counter)
    _unreported: list[IngestProgress] = field(default_factory=list)
    """What is told once it is on the disk."""
    _found: set[str] = field(default_factory=set)
    """Ids of documents that are there."""
    _unreadable: set[str] = field(default_factory=set)
    """Ids of what cannot be read now; a container stands for its members."""

    def count(
        self, entry: DocumentEntry, *, kept_vectors: int, warnings: Sequence[str] = ()
    ) -> None:
        """Count a document that is stored.

        Args:
            entry: The document.
            kept_vectors: How many of its vectors were there already.
            warnings: What could not be made of it.
        """
        document = entry.document
        self.chunks += len(entry.chunks)
        self.kept_vectors += kept_vectors
        self.chars += len(document.text)
        said = (*document.warnings, *warnings)
        self.warnings += [f"{document.source or document.id}: {one}" for one in said]
        if document.status in self._incomplete:
            self._incomplete[document.status].append(document.id)

    def fail(self, error: DocumentError) -> None:
        """Note what cannot be taken in."""
        self._failures.append(
            IngestFailure(source=error.source, code=error.code, message=str(error))
        )

    def note(self, source: Source | DocumentError | DocumentRecord, outcome: Outcome) -> None:
        """Count what became of a source, or of a document that is gone, and tell it."""
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
            self._commit_and_report()

    def _commit_and_report(self) -> None:
        """Force to the disk what is stored, and tell of it."""
        if self._commit is not None and self._has_uncommitted:
            self._commit()
            self._has_uncommitted = False
            self._last_commit = time.perf_counter()
        told, self._unreported = self._unreported, []
        if self.on_document is not None:
            for progress in told:
                self.on_document(progress)

    @contextmanager
    def reporting_after_commit(self, commit: Callable[[], None]) -> Iterator[None]:
        """Tell of documents once they are on the disk: several of a short time together.

        Args:
            commit: Forces to the disk what is stored, by an earlier run too.
        """
        commit()
        self._commit = commit
        try:
            yield
        finally:
            self._commit_and_report()

    def note_failure(self, source: Source | DocumentError, error: DocumentError) -> None:
        """Note what cannot be taken in.

        A member that no parser reads is counted with its like. What is no regular file in a folder
        is skipped with a warning.
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
        """Refuse a member that has the id of another document, as that of "a.zip!/b" in a folder.

        Raises:
            ConflictError: If there was a document of this id.
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
        """Note a container whose members are not looked at."""
        self._unreadable.add(source.document_id)
        self._count_left_out(source, reason)

    def note_opened(
        self, source: Source, members: Sequence[Source], lost: int, *, is_document: bool
    ) -> None:
        """Note a container with the members that are looked at, and whether it is a document."""
        self.total += sum(not member.members_only for member in members) + lost
        if not is_document and not source.members_only:
            self.total -= 1

    def note_incomplete(self, source: Source, error: DocumentError) -> None:
        """Note a container of which not all could be looked at."""
        self.fail(error)
        self._unreadable.add(source.document_id)

    @property
    def has_found(self) -> bool:
        """Whether there was any document."""
        return bool(self._found)

    def has_seen(self, document_id: str) -> bool:
        """Return whether a document was looked at in this run."""
        return document_id in self._found or document_id in self._unreadable

    def not_found(self, records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
        """Return the documents that were not found, though what they came from could be read."""
        return [
            record
            for record in records
            if record.id not in self._found
            and self._unreadable.isdisjoint((*containers_of(record.id), record.id))
        ]

    def note_given(self, document_id: str, outcome: Outcome) -> None:
        """Count a document that came from no source."""
        self._found.add(document_id)
        self._ids[outcome].append(document_id)

    def report(self, *, embeds: bool) -> IngestReport:
        """Return the report.

        Args:
            embeds: Whether the knowledge base has an embedder.
        """
        usage_by_task = self.ledger.usage_by_task
        left_out = [
            f"{one.first}: left out: {reason}"
            + (f" (and {one.count - 1} more in containers)" if one.count > 1 else "")
            for reason, one in self._left_out.items()
        ]
        return IngestReport(
            added=tuple(self._ids["added"]),
            replaced=tuple(self._ids["replaced"]),
            unchanged=tuple(self._ids["unchanged"]),
            removed=tuple(self._ids["removed"]),
            failed=tuple(self._failures),
            warnings=(*self.warnings, *left_out),
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


_MOST_IN_ROW = 3
_REFUSED = frozenset({400, 413, 422})
"""Status of what is wrong with a text, not with the provider."""


def embedding_failure(document: Document, error: ModelError) -> DocumentError:
    """Return what keeps a document out; to be raised from the error of the embedder."""
    location = document.source or document.id
    return DocumentError(
        f"{location}: not taken in, as its chunks could not be embedded: {error}",
        source=location,
        code="not_embedded",
    )


def out_of_memory(source: Source | DocumentError) -> DocumentError:
    """Return what keeps a document out that needs more memory than there is."""
    location = source.location if isinstance(source, Source) else source.source
    return DocumentError(
        f"{location}: not taken in, as memory ran out; close other programs, split the document, "
        "or lower max_text_bytes to refuse documents as large as this one",
        source=location,
        code="too_large",
    )


@dataclass(slots=True)
class EmbeddingFailures:
    """Counts the documents in a row for which the embedder failed."""

    _count: int = 0

    def end(self) -> None:
        """Begin anew: a document was embedded."""
        self._count = 0

    def is_limit_reached(self, error: DocumentError) -> bool:
        """Count a failure of a document, and return whether the run is to end.

        Args:
            error: What kept it out; only a failure of the embedder counts.
        """
        cause = error.__cause__
        if isinstance(cause, ModelError) and cause.status not in _REFUSED:
            self._count += 1
        return self._count == _MOST_IN_ROW


def note_not_begun(
    sources: Sequence[ComparedSource], reached: Source | DocumentError, counter: IngestCounter
) -> None:
    """Note all after the source that was reached as not begun, since the embedder fails.

    Args:
        sources: All that was to be taken in.
        reached: The last one that was tried, which is noted already.
        counter: Takes the notes.
    """
    reason = (
        f"not taken in, because the embedder failed for {_MOST_IN_ROW} documents in a row; run the "
        "same again to go on"
    )
    _note_rest(sources, reached, counter, reason=reason, code="not_begun")


def note_too_costly(
    sources: Sequence[ComparedSource],
    reached: Source | DocumentError,
    counter: IngestCounter,
    cause: CostLimitError,
) -> None:
    """Note the source that would have cost too much, and all after it, as not taken in."""
    if isinstance(reached, Source):
        counter.note_failure(reached, _failure(reached, f"not taken in: {cause}", "cost_limit"))
    reason = "not taken in any more, because max_cost was reached; run the same again to go on"
    _note_rest(sources, reached, counter, reason=reason, code="cost_limit")


def _note_rest(
    sources: Sequence[ComparedSource],
    reached: Source | DocumentError,
    counter: IngestCounter,
    *,
    reason: str,
    code: DocumentErrorCode,
) -> None:
    names: list[str] = []
    if isinstance(reached, Source):
        names = [*containers_of(reached.document_id), reached.document_id]
    is_left = False
    for source, verdict in sources:
        if isinstance(source, DocumentError):
            if is_left:
                counter.note_failure(source, source)
            continue
        is_left = is_left or source.document_id in names
        if not is_left or source.members_only or counter.has_seen(source.document_id):
            continue
        error = verdict if isinstance(verdict, DocumentError) else None
        counter.note_failure(source, error or _failure(source, reason, code))


def _failure(source: Source, reason: str, code: DocumentErrorCode) -> DocumentError:
    return DocumentError(f"{source.location}: {reason}", source=source.location, code=code)

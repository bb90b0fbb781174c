"""Comparison of sources with stored documents; unchanged files are detected by their hash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from spanwise.errors import ConflictError, DocumentError
from spanwise.ingest.sources import Source, file_hash
from spanwise.types import Scalar

if TYPE_CHECKING:
    from spanwise.types import Document, DocumentRecord


Verdict = Literal["unchanged", "new", "changed", "opened"] | DocumentError
"""Action for a source: "opened" means that only its members are read, if it is a container.

A URL is "new" or "changed" until it is fetched.
"""

_EMAIL = "message/rfc822"
_BATCH = 64  # sources per task: smaller tasks cost more than they gain


def compare(
    sources: Sequence[Source | DocumentError],
    *,
    records: Mapping[str, DocumentRecord],
    metadata: Mapping[str, Scalar] | None,
    replace_other: bool,
    threads: int,
    is_outdated: Callable[[DocumentRecord], bool],
) -> Generator[tuple[Source | DocumentError, Verdict]]:
    """Yield each source with its verdict, in order; nothing is parsed.

    An unchanged e-mail with attachments is yielded twice, because its attachments may be missing.

    Args:
        sources: Sources, and errors for those that could not be opened.
        records: Stored records by document id.
        metadata: Fields given by the caller; None to keep the stored ones.
        replace_other: Whether documents from other roots may be replaced.
        threads: Number of files hashed in parallel.
        is_outdated: Returns whether an unchanged document has to be processed again.
    """
    stopped = threading.Event()

    def look(batch: Sequence[Source | DocumentError]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for source in batch:
            if stopped.is_set():
                break
            if isinstance(source, DocumentError):
                verdicts.append(source)
                continue
            record = records.get(source.document_id)
            verdict = _verdict(source, record, metadata, replace_other=replace_other)
            if verdict == "unchanged" and record is not None and is_outdated(record):
                verdict = "changed"
            verdicts.append(verdict)
        return verdicts

    def with_attachments(source: Source | DocumentError, verdict: Verdict) -> bool:
        record = records.get(source.document_id) if isinstance(source, Source) else None
        return verdict == "unchanged" and record is not None and has_attachments(record)

    batches = [sources[start : start + _BATCH] for start in range(0, len(sources), _BATCH)]
    with ThreadPoolExecutor(threads, thread_name_prefix="spanwise-compare") as executor:
        try:
            for batch, verdicts in zip(batches, executor.map(look, batches), strict=True):
                for source, verdict in zip(batch, verdicts, strict=True):
                    yield source, verdict
                    if with_attachments(source, verdict):
                        yield source, "opened"
        finally:  # interrupted: do not wait for pending hashes
            stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)


def has_attachments(document: Document | DocumentRecord) -> bool:
    """Return whether a document is an e-mail with attachments."""
    return document.media_type == _EMAIL and bool(document.metadata.get("attachments"))


def _verdict(
    source: Source,
    record: DocumentRecord | None,
    metadata: Mapping[str, Scalar] | None,
    *,
    replace_other: bool,
) -> Verdict:
    if source.members_only:
        return "opened"
    if record is None:
        return "new"
    if record.source_root != source.root:
        other = conflict(record, location=source.location, root=source.root)
        return "changed" if replace_other else other
    if source.path is None or (metadata is not None and not _has_fields(record, metadata)):
        return "changed"
    try:
        content_hash = file_hash(source.path)
    except DocumentError as error:
        return error
    return "unchanged" if content_hash == record.content_hash else "changed"


def conflict(record: DocumentRecord, *, location: str, root: str) -> ConflictError:
    """Return the error for an id that belongs to a document from another root.

    Args:
        record: Stored document with the id.
        location: Location of the new document.
        root: Source root of the new document.
    """
    return ConflictError(
        f"{location}: the id {record.id!r} belongs to a document from {record.source_root!r}, and "
        f"this one comes from {root!r}; rename one, or replace the other one by name",
        source=location,
        code="conflict",
    )


def _has_fields(record: DocumentRecord, metadata: Mapping[str, Scalar]) -> bool:
    """Return whether the fields given by the caller equal the stored ones."""
    given = {name: record.metadata[name] for name in record.given_fields}
    return with_types(given) == with_types(metadata)


def stored_fields(record: DocumentRecord | None, *, root: str) -> dict[str, Scalar]:
    """Return the fields that the caller gave before for this document, if its root is the same."""
    if record is None or record.source_root != root:
        return {}
    return {name: record.metadata[name] for name in record.given_fields}


def with_types(metadata: Mapping[str, Scalar]) -> dict[str, tuple[type, Scalar]]:
    """Return fields with the types of their values, because 1, 1.0 and True compare equal."""
    return {name: (type(value), value) for name, value in metadata.items()}

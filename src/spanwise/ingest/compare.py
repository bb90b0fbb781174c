"""Sources beside what is stored: what is there already, unchanged, is told by a hash."""

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
"""What is to be done with a source; a URL counts as new or changed until it is fetched.

"opened": only what is in it is looked at, if it is a container.
"""

_EMAIL = "message/rfc822"
_BATCH = 64  # sources that a thread compares in one go: one by one, the threads cost more


def compare(
    sources: Sequence[Source | DocumentError],
    *,
    records: Mapping[str, DocumentRecord],
    metadata: Mapping[str, Scalar] | None,
    replace_other: bool,
    threads: int,
    is_outdated: Callable[[DocumentRecord], bool],
) -> Generator[tuple[Source | DocumentError, Verdict]]:
    """Yield each source with what is to be done with it, in order; nothing is parsed.

    An unchanged e-mail with attachments comes twice: its attachments may still be missing.

    Args:
        sources: What was found, and what could not be opened.
        records: What is stored under the ids of the sources, by id.
        metadata: Fields that the caller gives; None to keep those that were given before.
        replace_other: Whether documents from other roots may be replaced.
        threads: Files that are hashed at a time.
        is_outdated: Says whether a document whose file is unchanged is to be made anew.
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
        finally:  # interrupted: nobody waits for what is still to be hashed
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
    """Return the error of a document whose id another one has, from another root.

    Args:
        record: The other one.
        location: Where this one lies.
        root: What was named when it was found.
    """
    return ConflictError(
        f"{location}: the id {record.id!r} belongs to a document from {record.source_root!r}, and "
        f"this one comes from {root!r}; rename one, or replace the other one by name",
        source=location,
        code="conflict",
    )


def _has_fields(record: DocumentRecord, metadata: Mapping[str, Scalar]) -> bool:
    """Return whether a document has exactly these fields from the caller, whatever its own are."""
    given = {name: record.metadata[name] for name in record.given_fields}
    return with_types(given) == with_types(metadata)


def stored_fields(record: DocumentRecord | None, *, root: str) -> dict[str, Scalar]:
    """Return the fields that the caller gave before to the document of this root."""
    if record is None or record.source_root != root:
        return {}
    return {name: record.metadata[name] for name in record.given_fields}


def with_types(metadata: Mapping[str, Scalar]) -> dict[str, tuple[type, Scalar]]:
    """Return fields with the types of their values: 1, 1.0 and True are equal, and not the same."""
    return {name: (type(value), value) for name, value in metadata.items()}

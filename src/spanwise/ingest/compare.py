"""Comparison of sources with stored documents; unchanged files are detected by their hash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Literal, cast

from spanwise.errors import ConflictError, DocumentError
from spanwise.ingest.edit import has_new_fields
from spanwise.ingest.fields import stored_origins
from spanwise.ingest.sources import Source, file_hash
from spanwise.packs.known_kinds import cover_title
from spanwise.parsers.pdf.ocr import has_engine
from spanwise.parsers.plugins import EMAIL, parser_recipe
from spanwise.stores.entries import root_text
from spanwise.types import MetadataValue

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.ingest.job import IngestJob
    from spanwise.options import ParseOptions
    from spanwise.stores.port import Store
    from spanwise.types import Document, DocumentRecord


Verdict = Literal["unchanged", "updated", "new", "changed", "opened"] | DocumentError
"""Comparison of a source with the stored document; an error if the source cannot be compared.

"updated": the file is unchanged, and its metadata is new; only `compare_with_stored` returns it.
"opened": the source itself is not read, only its members if it is a container. A URL is "new" or
"changed" until it is fetched.
"""

_FEW = 50  # sources up to which records are read one by one, and files hashed on one thread
_BATCH = 64  # sources per task: smaller tasks cost more than they gain


def compare_with_stored(
    sources: Sequence[Source | DocumentError],
    *,
    store: Store,
    job: IngestJob,
    parse: ParseOptions,
    threads: int,
    records: Mapping[str, DocumentRecord] | None,
) -> Generator[tuple[Source | DocumentError, Verdict]]:
    """Yield the sources of a run with their verdicts, in order; nothing is parsed.

    Args:
        sources: Sources of the run, or members of one of its containers.
        store: Store with the documents.
        job: Options of the run.
        parse: Options of the parsers.
        threads: Number of files that are hashed in parallel.
        records: Stored records by document id; None to look them up.
    """
    records = _stored_records(store, sources) if records is None else records
    reads_pictures = has_engine(parse.ocr)

    def is_outdated(record: DocumentRecord) -> bool:
        parser = parser_recipe(parse.parser, record)
        return job.is_outdated(record, reads_pictures=reads_pictures, parser=parser)

    compared = compare(
        sources,
        records=records,
        metadata=job.metadata,
        replace_other=job.replace_other,
        threads=threads if len(sources) > _FEW else 1,
        is_outdated=is_outdated,
    )
    with closing(compared):
        for source, verdict in compared:
            is_updated = (
                verdict == "unchanged"
                and isinstance(source, Source)
                and has_new_fields(records[source.document_id], job.changes(source))
            )
            yield source, "updated" if is_updated else verdict


def _stored_records(
    store: Store, sources: Sequence[Source | DocumentError]
) -> dict[str, DocumentRecord]:
    """Return the stored records of the sources by id."""
    if len(sources) > _FEW:
        return {record.id: record for record in store.list_records()}
    ids = [source.document_id for source in sources if isinstance(source, Source)]
    records = [store.get_record(document_id) for document_id in ids]
    return {record.id: record for record in records if record is not None}


def compare(
    sources: Sequence[Source | DocumentError],
    *,
    records: Mapping[str, DocumentRecord],
    metadata: Mapping[str, MetadataValue] | None,
    replace_other: bool,
    threads: int,
    is_outdated: Callable[[DocumentRecord], bool],
) -> Generator[tuple[Source | DocumentError, Verdict]]:
    """Yield each source with its verdict, in order; nothing is parsed.

    An unchanged e-mail with attachments is yielded as "unchanged" and then as "opened", because its
    attachments may not be stored.

    Args:
        sources: Sources, and errors for those that could not be opened.
        records: Stored records by document id.
        metadata: Fields given by the caller; None to keep the stored ones.
        replace_other: Whether documents from other roots may be replaced.
        threads: Number of files that are hashed in parallel.
        is_outdated: Function that returns whether a document must be processed again although its
            file is unchanged.
    """
    stopped = threading.Event()

    def compare_batch(batch: Sequence[Source | DocumentError]) -> list[Verdict]:
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

    batches = [sources[start : start + _BATCH] for start in range(0, len(sources), _BATCH)]
    with ThreadPoolExecutor(threads, thread_name_prefix="spanwise-compare") as executor:
        try:
            for batch, verdicts in zip(batches, executor.map(compare_batch, batches), strict=True):
                for source, verdict in zip(batch, verdicts, strict=True):
                    yield source, verdict
                    if not isinstance(source, Source) or verdict != "unchanged":
                        continue
                    if has_attachments(records[source.document_id]):
                        yield source, "opened"
        finally:  # interrupted: do not wait for pending hashes
            stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)


def has_attachments(document: Document | DocumentRecord) -> bool:
    """Return whether a document is an e-mail with attachments."""
    return document.media_type == EMAIL and bool(document.metadata.get("attachments"))


def _verdict(
    source: Source,
    record: DocumentRecord | None,
    metadata: Mapping[str, MetadataValue] | None,
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
    if source.in_stored_folder:  # the fields are those of an update
        metadata = None
    is_known = source.path is not None or bool(source.known_hash)
    if not is_known or (metadata is not None and _needs_parsing(record, metadata)):
        return "changed"
    try:
        content_hash = source.known_hash or file_hash(cast("Path", source.path))
    except DocumentError as error:
        return error
    return "unchanged" if content_hash == record.content_hash else "changed"


def conflict(record: DocumentRecord, *, location: str, root: str) -> ConflictError:
    """Return the error for a document whose id belongs to a document from another source root.

    Args:
        record: Record of the stored document with this id.
        location: Location of the new document.
        root: Source root of the new document.
    """
    return ConflictError(
        f"{location}: the id {record.id!r} belongs to a document from "
        f"{root_text(record.source_root)}, and this one comes from {root_text(root)}; rename one "
        "of them, or replace the stored one (replace=True, --replace)",
        source=location,
        code="conflict",
    )


def _needs_parsing(record: DocumentRecord, metadata: Mapping[str, MetadataValue]) -> bool:
    """Return whether the document of an unchanged file is parsed again for the caller's fields.

    It is parsed again if a field of an earlier call is missing, because the file may have this
    field too and its value is not stored. It is also parsed again if the language changes, or a
    title that is made from fields.
    """
    origins = stored_origins(record)
    before, after = {**origins.file, **origins.given}, {**origins.file, **metadata}
    return (
        not origins.given.keys() <= metadata.keys()
        or before.get("language") != after.get("language")
        or cover_title(before, title="") != cover_title(after, title="")
    )

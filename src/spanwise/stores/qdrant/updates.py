"""Changed titles and metadata of documents, and the comparison of texts with their records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.core.documents.versions import text_version
from spanwise.types import CheckFinding

if TYPE_CHECKING:
    from spanwise.stores.port import DocumentEntry, DocumentUpdate
    from spanwise.types import DocumentRecord


def updated_record(record: DocumentRecord, update: DocumentUpdate) -> DocumentRecord:
    """Return a record with a new title and new metadata."""
    return replace(
        record,
        title=update.title,
        metadata=dict(update.metadata),
        given_fields=update.given_fields,
        origins=update.origins,
    )


def updated_entry(entry: DocumentEntry, update: DocumentUpdate) -> DocumentEntry:
    """Return an entry with a new title, new metadata and new searched parts.

    Args:
        entry: Entry as it was added.
        update: Update; its searched parts have a number of header tokens for each section.
    """
    searched = update.searched
    if searched is None:
        raise ValueError("the update does not change the searched parts of the document")
    document = replace(
        entry.document,
        metadata=dict(update.metadata),
        given_fields=update.given_fields,
        origins=update.origins,
    )
    return replace(
        entry,
        document=document,
        title=update.title,
        title_words=searched.title_words,
        language=searched.language,
        sections=tuple(
            replace(section, header_tokens=tokens)
            for section, tokens in zip(entry.sections, searched.header_tokens, strict=True)
        ),
    )


def text_finding(record: DocumentRecord, text: str) -> CheckFinding | None:
    """Return the defect of a document whose text does not match its record, or None."""
    if len(text) == record.chars and text_version(text) == record.version:
        return None
    return CheckFinding(
        code="text",
        document_id=record.id,
        message=f"the text of {record.id!r} differs from its record; add the document again",
        repaired=False,
    )

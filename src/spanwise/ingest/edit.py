"""Changes of the metadata and the title of stored documents, without reading their sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.core.documents.titles import title_words
from spanwise.errors import StoreBusyError
from spanwise.ingest.fields import (
    FieldChanges,
    base_title,
    same_origins,
    stored_origins,
    with_base_title,
    with_origins,
    with_types,
)
from spanwise.ingest.prepare import Outline
from spanwise.packs.header_lines import head_lines
from spanwise.stores.port import DocumentUpdate
from spanwise.types import Document, MetadataChange

if TYPE_CHECKING:
    from spanwise.ingest.prepare import Preparer
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord

_MAX_ATTEMPTS = 20  # while other processes change the same document


def has_new_fields(record: DocumentRecord, changes: FieldChanges) -> bool:
    """Return whether a call changes the fields or the title of a stored document."""
    origins = stored_origins(record)
    return not same_origins(origins, changes.applied(origins))


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataEditor:
    """Changes the metadata and the title of documents of one store."""

    store: Store
    preparer: Callable[[], Preparer]
    """Function that returns the preparer; called only if a change affects searches."""

    def change(
        self, document_id: str, changes: FieldChanges, *, dry_run: bool = False
    ) -> MetadataChange | None:
        """Change a document in one transaction, and return the change; None if it does not exist.

        Args:
            document_id: Id of the document.
            changes: Fields and title to change.
            dry_run: Whether to return the change without making it.

        Raises:
            OptionError: If the metadata cannot be stored.
            StoreBusyError: If other processes keep changing the document.
        """
        for _ in range(_MAX_ATTEMPTS):
            record = self.store.get_record(document_id)
            if record is None:
                return None
            document = _changed_document(record, changes)
            document, title = with_base_title(document, base_title(record))
            change = _change(record, document, title)
            if dry_run or not has_new_fields(record, changes):
                return change
            update = self._update(record, document, title)
            if update is not None and self.store.update_document(
                document_id, update, record=record
            ):
                return change
        raise StoreBusyError(
            f"other processes keep changing the document {document_id!r}; try again"
        )

    def _update(
        self, record: DocumentRecord, document: Document, title: str
    ) -> DocumentUpdate | None:
        """Return the update for a document without text; None if the record is not current."""
        update = DocumentUpdate(
            title=title,
            metadata=document.metadata,
            given_fields=document.given_fields,
            origins=document.origins,
        )
        if not _affects_search(record, document, title):
            return update
        whole = self.store.get_whole(record.id)
        if whole is None or whole.record != record:
            return None
        searched = self.preparer().searched_parts(
            replace(whole.document, metadata=document.metadata),
            Outline(title, record.summary, whole.sections),
        )
        return replace(update, searched=searched)


def _changed_document(record: DocumentRecord, changes: FieldChanges) -> Document:
    """Return a document with the id, the source and the new fields of a record, without text."""
    origins = changes.applied(stored_origins(record))
    return with_origins(Document(id=record.id, text="", source=record.source), origins)


def _affects_search(record: DocumentRecord, document: Document, title: str) -> bool:
    """Return whether the title, its words, the header or the language of a document may change."""
    before = replace(document, metadata=record.metadata)
    return (
        title != record.title
        or title_words(before, title=title) != title_words(document, title=title)
        or head_lines(title, summary=record.summary, metadata=record.metadata)
        != head_lines(title, summary=record.summary, metadata=document.metadata)
        or record.metadata.get("language") != document.metadata.get("language")
    )


def _change(record: DocumentRecord, document: Document, title: str) -> MetadataChange:
    before, after = with_types(record.metadata), with_types(document.metadata)
    names = [name for name in (before | after) if before.get(name) != after.get(name)]
    return MetadataChange(
        document_id=record.id,
        before={name: record.metadata.get(name) for name in names},
        after={name: document.metadata.get(name) for name in names},
        title_before=record.title,
        title_after=title,
    )

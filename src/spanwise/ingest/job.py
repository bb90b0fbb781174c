"""One ingest run: sources, options, fields of the documents, and the check for changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.core.documents.versions import text_version
from spanwise.errors import DocumentError
from spanwise.ingest.fields import (
    FieldChanges,
    base_document,
    follows_from,
    same_origins,
    stored_origins,
    with_origins,
    with_types,
)
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.prepare import DraftRequest
from spanwise.ingest.recipes import (
    Recipe,
    has_recipe,
    plain_title,
    reads_pages,
    requested_recipe,
)
from spanwise.ingest.sidecar import Sidecars
from spanwise.ingest.sources import Source
from spanwise.packs.known_kinds import cover_fields, cover_title, document_title
from spanwise.types import Document, FieldOrigins, GivenParts, IngestProgress, MetadataValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.ingest.enrich import Enricher
    from spanwise.ingest.pipeline import Ingestor
    from spanwise.ingest.prepare import Draft
    from spanwise.ingest.reader import PageRequest
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """Sources and options of one ingest run."""

    sources: Sequence[Source | DocumentError] = ()
    """Sources, and an error for each source that could not be opened."""
    deleted: Sequence[DocumentRecord] = ()
    """Stored documents to remove after the sources are added."""
    metadata: Mapping[str, MetadataValue] | None = None
    """Metadata fields of every document; None to keep the stored fields."""
    sidecars: Sidecars = field(default_factory=Sidecars)
    """Content of the sidecar files of the sources."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Callback after each document; None for no callback."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Patterns that select members of containers."""
    expected: Sequence[DocumentRecord] = ()
    """Stored documents of the sources and their members; removed if this run does not find them."""
    allow_empty: bool = False
    """Whether the expected documents may be removed even if the run finds no document at all."""
    given: Mapping[str, GivenParts] = field(default_factory=dict)
    """Parts supplied by the caller, by document id."""
    enricher: Enricher | None = None
    """Enricher that makes parts with a language model; None for no model."""
    vectors: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    """Vectors of chunks supplied by the caller, by document id."""

    def changes(self, source: Source) -> FieldChanges:
        """Return the fields that this run passes for a source.

        For a file of a folder that was added before, the fields of the caller are an update, so
        they are kept when the folder is synchronised.
        """
        sidecar = self.sidecars.row(source)
        if source.in_stored_folder:
            return FieldChanges(sidecar=sidecar, edited=self.metadata or {})
        return FieldChanges(sidecar=sidecar, given=self.metadata)

    def recipe(self, document_id: str) -> Recipe:
        """Return the requested recipe of a document; empty if no parts are requested."""
        given, vectors = self.given.get(document_id), self.vectors.get(document_id)
        if self.enricher is None:
            return requested_recipe(given=given, vectors=vectors)
        return requested_recipe(
            model=self.enricher.model, options=self.enricher.options, given=given, vectors=vectors
        )

    def draft_request(self, document_id: str) -> DraftRequest:
        """Return the parts of a document that the model makes or the caller supplies."""
        return DraftRequest(
            recipe=self.recipe(document_id),
            given=self.given.get(document_id, GivenParts()),
            enricher=self.enricher,
            vectors=self.vectors.get(document_id),
        )

    def is_outdated(
        self, record: DocumentRecord, *, reads_pictures: bool, parser: str = ""
    ) -> bool:
        """Return whether a document must be processed again although its file is unchanged.

        Args:
            record: Stored record.
            parser: Recipe of the parser function for the document; empty for other parsers.
            reads_pictures: Whether an OCR engine is available now. Documents that need OCR are then
                processed again, unless a model has read their pages.
        """
        needs_ocr = reads_pictures and record.status == "needs_ocr" and not reads_pages(record)
        return needs_ocr or not has_recipe(record, self.recipe(record.id), parser=parser)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """Page reader without a model: reuses the pages that a model read for the stored document."""

    store: Store
    job: IngestJob
    describes_figures: bool = True
    """Whether descriptions of figures are reused too."""

    def reads(self, document_id: str) -> bool:
        """Return whether the stored document has such pages, and no model is requested now."""
        record = self.store.get_record(document_id)
        return record is not None and reads_pages(record) and not self.job.recipe(document_id)

    def read_pages(self, request: PageRequest) -> Document:
        """Return the document with the stored text; a changed file is parsed without a model.

        Raises:
            ParseError: If the file has changed and cannot be parsed without a model.
        """
        stored = self.store.get_document(request.document.id)
        if stored is None or stored.content_hash != request.document.content_hash:
            return request.parse()
        return replace(
            request.document,
            text=stored.text,
            pages=stored.pages,
            headings=stored.headings,
            blocks=stored.blocks,
            figures=stored.figures,
            status=stored.status,
            warnings=stored.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """Preparation of one document, which is repeated if the stored state changes meanwhile."""

    draft: Callable[[Ingestor], Draft | None]
    """Function that returns the draft for the current state; None if it is already stored."""
    changes: FieldChanges | None = None
    """Fields that the caller passes; None if the document does not depend on stored fields."""

    def accepts(self, document: Document, stored: DocumentRecord | None) -> bool:
        """Return whether a draft still has the fields of the stored document."""
        if self.changes is None:
            return True
        origins = stored_origins(document)
        return follows_from(origins, self.changes, stored, root=document.source_root)


def with_fields(document: Document, changes: FieldChanges, *, before: FieldOrigins) -> Document:
    """Return a parsed document with its fields from all origins.

    A title found on the first page may replace the title of the file, which is often set by the
    program that created the file.

    Args:
        document: Parsed document.
        changes: Fields that this run passes for the document.
        before: Origins of the fields of the stored document.
    """
    cover = cover_fields(document.text)
    origins = replace(changes.applied(before), file={**cover, **document.metadata})
    fields = {**cover, **origins.given}
    title = cover_title(fields, title=document.title) if cover else document.title
    return with_origins(replace(document, title=title), origins)


def is_stored(record: DocumentRecord, document: Document) -> bool:
    """Return whether a document is stored in exactly this form."""
    return (
        record.content_hash == document.content_hash
        and record.version == text_version(document.text)
        and record.status == document.status
        and record.source_root == document.source_root
        and record.media_type == document.media_type
        and same_origins(stored_origins(record), stored_origins(document))
        and with_types(record.metadata) == with_types(document.metadata)
        and plain_title(record) == document_title(base_document(document))
    )

"""Options of one ingest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.errors import DocumentError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.prepare import DraftRequest
from spanwise.ingest.recipes import Recipe, has_recipe, reads_pages, requested_recipe
from spanwise.ingest.sources import Source
from spanwise.types import GivenParts, IngestProgress, Scalar

if TYPE_CHECKING:
    from spanwise.ingest.enrich import Enricher
    from spanwise.types import DocumentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """Sources and options of one ingest run."""

    sources: Sequence[Source | DocumentError] = ()
    """Sources, and errors for those that could not be opened."""
    deleted: Sequence[DocumentRecord] = ()
    """Stored documents to remove after the sources are added."""
    metadata: Mapping[str, Scalar] | None = None
    """Fields to set on every document; None keeps the stored ones."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Callback after each document."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Patterns that select members of containers."""
    expected: Sequence[DocumentRecord] = ()
    """Stored documents of the sources and their members; removed if not found in this run."""
    allow_empty: bool = False
    """Whether these may be removed even if no document is found at all."""
    given: Mapping[str, GivenParts] = field(default_factory=dict)
    """Parts given by the caller, by document id."""
    enricher: Enricher | None = None
    """Makes other parts with a language model; None for no model."""

    def recipe(self, document_id: str) -> Recipe:
        """Return the requested recipe of a document; empty if nothing is requested."""
        given = self.given.get(document_id)
        if self.enricher is None:
            return requested_recipe(given=given)
        return requested_recipe(
            model=self.enricher.model, options=self.enricher.options, given=given
        )

    def draft_request(self, document_id: str) -> DraftRequest:
        """Return the requested model-made and given parts of a document."""
        return DraftRequest(
            recipe=self.recipe(document_id),
            given=self.given.get(document_id, GivenParts()),
            enricher=self.enricher,
        )

    def is_outdated(self, record: DocumentRecord, *, reads_pictures: bool) -> bool:
        """Return whether a document with an unchanged file has to be processed again.

        Args:
            record: Stored record.
            reads_pictures: Whether an OCR engine is available now; documents that need OCR are read
                again, unless a model has read their pages.
        """
        needs_ocr = reads_pictures and record.status == "needs_ocr" and not reads_pages(record)
        return needs_ocr or not has_recipe(record, self.recipe(record.id))

"""What one ingest is to do."""

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
    """What is to be taken in, and how."""

    sources: Sequence[Source | DocumentError] = ()
    """What was found, and what could not be opened."""
    deleted: Sequence[DocumentRecord] = ()
    """Documents to remove, once the sources are in."""
    metadata: Mapping[str, Scalar] | None = None
    """Fields that every document gets beside its own; None for those it was given before."""
    replace_other: bool = False
    """Whether documents from other roots may be replaced."""
    on_document: Callable[[IngestProgress], None] | None = None
    """Called after each document."""
    patterns: PathPatterns = field(default_factory=PathPatterns)
    """Which members of containers are taken."""
    expected: Sequence[DocumentRecord] = ()
    """Documents of the sources and of their members; those that are found no more are removed."""
    allow_empty: bool = False
    """Whether they may be removed where no document at all is found."""
    given: Mapping[str, GivenParts] = field(default_factory=dict)
    """Parts of documents that the caller gives, by document id."""
    enricher: Enricher | None = None
    """Makes other parts with a language model; None to make them without one."""

    def recipe(self, document_id: str) -> Recipe:
        """Return how a document is to be made; empty where nothing is asked for."""
        given = self.given.get(document_id)
        if self.enricher is None:
            return requested_recipe(given=given)
        return requested_recipe(
            model=self.enricher.model, options=self.enricher.options, given=given
        )

    def draft_request(self, document_id: str) -> DraftRequest:
        """Return what is wanted of a document beside what is made without a model."""
        return DraftRequest(
            recipe=self.recipe(document_id),
            given=self.given.get(document_id, GivenParts()),
            enricher=self.enricher,
        )

    def is_outdated(self, record: DocumentRecord, *, reads_pictures: bool) -> bool:
        """Return whether a document whose file is unchanged is to be made anew.

        Args:
            record: What is stored.
            reads_pictures: Whether there is an OCR engine now: what needs one is read again, but
                where a model has read other pages.
        """
        needs_ocr = reads_pictures and record.status == "needs_ocr" and not reads_pages(record)
        return needs_ocr or not has_recipe(record, self.recipe(record.id))

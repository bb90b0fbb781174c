"""Pages that a model has read before, kept where the same bytes are parsed without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.ingest.recipes import reads_pages

if TYPE_CHECKING:
    from spanwise.ingest.job import IngestJob
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.stores.port import Store
    from spanwise.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """Reads pages from the document that is stored, where nothing is asked of a model."""

    store: Store
    job: IngestJob

    def reads(self, document_id: str) -> bool:
        """Return whether a model has read pages of the document that is stored."""
        record = self.store.get_record(document_id)
        return record is not None and reads_pages(record) and not self.job.recipe(document_id)

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,  # noqa: ARG002 - those that were read are in the stored text
        *,
        draw: Callable[[int], bytes],  # noqa: ARG002 - nothing is looked at
        parse: Callable[[], Document],
    ) -> Document:
        """Return the document with the text that is stored, if it was made of the same bytes.

        Args:
            document: The document, as it is parsed for somebody who reads its pages.
            pages: Which pages these are.
            draw: Draws a page.
            parse: Parses the document as it is without a model.

        Raises:
            ParseError: If it has changed, and cannot be read without a model.
        """
        stored = self.store.get_document(document.id)
        if stored is None or stored.content_hash != document.content_hash:
            return parse()
        return replace(
            document,
            text=stored.text,
            pages=stored.pages,
            headings=stored.headings,
            blocks=stored.blocks,
            status=stored.status,
            warnings=stored.warnings,
        )

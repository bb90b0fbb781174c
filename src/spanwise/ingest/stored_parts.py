"""Page reader that reuses the stored text of pages read by a model before."""

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
    """Reuses pages of the stored document if no model is requested."""

    store: Store
    job: IngestJob

    def reads(self, document_id: str) -> bool:
        """Return whether a model has read pages of the stored document."""
        record = self.store.get_record(document_id)
        return record is not None and reads_pages(record) and not self.job.recipe(document_id)

    def read_pages(
        self,
        document: Document,
        pages: PagesToRead,  # noqa: ARG002 - the stored text has the pages that were read
        *,
        draw: Callable[[int], bytes],  # noqa: ARG002 - no page is drawn
        parse: Callable[[], Document],
    ) -> Document:
        """Return the document with the stored text, if the file is unchanged.

        Args:
            document: Document, parsed for a page reader.
            pages: Pages to read.
            draw: Returns a page as a PNG file.
            parse: Parses the document without a model.

        Raises:
            ParseError: If the file has changed and cannot be parsed without a model.
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

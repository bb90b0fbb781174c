"""Pages of sources whose images go to a model that accepts images: tables and scans.

Rules:
    A page is shown if it was read by OCR or by a model, or if tables make up at least half of the
    text of the source on it.
    Only pages of PDFs whose original file is unchanged can be shown. A page that cannot be drawn is
    left out, with a warning.
    At most four pages are shown in one call, at most two of one source, in reading order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.core.documents.page_markdown import pages_read_from_images
from spanwise.errors import SpanwiseError
from spanwise.models.prompts.answers import PageImage

if TYPE_CHECKING:
    from spanwise.answers.answer_sources import Source
    from spanwise.types import Citation, DocumentRecord, Page, WholeDocument

MAX_IMAGES = 4
"""Maximum number of images in one call."""
_MAX_OF_SOURCE = 2
_TABLE_SHARE = 0.5
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDrawer:
    """Draws pages of stored documents for a model."""

    read: Callable[[Citation], WholeDocument | None]
    """Function that returns the document of a citation; None if it was removed."""
    draw: Callable[[DocumentRecord, Sequence[int]], tuple[bytes, ...]]
    """Function that returns pages of a document as PNG files."""

    def images(
        self, sources: Sequence[Source], numbers: Sequence[int]
    ) -> tuple[list[PageImage], list[str]]:
        """Return the images of pages that are tables or scans, and warnings about missing ones.

        Args:
            sources: Sources in reading order.
            numbers: Number of each source in the prompt.
        """
        images: list[PageImage] = []
        warnings: list[str] = []
        shown: set[tuple[str, str, int]] = set()
        for source, number in zip(sources, numbers, strict=True):
            whole = self.read(source.citation)
            if whole is None or whole.record.media_type != _PDF:
                continue
            document = (source.citation.knowledge_base, source.citation.document_id)
            pages = [
                page for page in pages_to_show(source, whole) if (*document, page) not in shown
            ]
            pages = pages[: min(_MAX_OF_SOURCE, MAX_IMAGES - len(images))]
            try:
                drawn = self.draw(whole.record, pages) if pages else ()
            except SpanwiseError as error:
                warnings.append(f"pages are not shown to the model as images: {error}")
                continue
            shown.update((*document, page) for page in pages)
            images += [
                PageImage(segment=number, page=page, image=image)
                for page, image in zip(pages, drawn, strict=True)
            ]
        return images, warnings


def pages_to_show(source: Source, whole: WholeDocument) -> Iterator[int]:
    """Yield the numbers of the pages of a source that are tables or scans."""
    scans = pages_read_from_images(whole.document.warnings)
    first, last = source.citation.pages or (1, 0)
    for number in range(first, min(last, len(whole.document.pages)) + 1):
        if number in scans or _is_table(source, whole.document.pages[number - 1], whole):
            yield number


def _is_table(source: Source, page: Page, whole: WholeDocument) -> bool:
    ranges = [
        (max(page.start, span.start), min(page.end, span.start + len(span.text)))
        for span in source.spans
    ]
    tables = [(block.start, block.end) for block in whole.document.blocks if block.kind == "table"]
    chars = sum(max(0, end - start) for start, end in ranges)
    in_tables = sum(
        max(0, min(end, table_end) - max(start, table_start))
        for start, end in ranges
        for table_start, table_end in tables
    )
    return in_tables > 0 and in_tables >= _TABLE_SHARE * chars

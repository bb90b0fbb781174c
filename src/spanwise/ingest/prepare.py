"""From a parsed document to an entry of the store, top to bottom; no reading, no writing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.chunks import chunk_lengths, split_chunks
from spanwise.core.citations import printed_labels
from spanwise.core.headers import chunk_header
from spanwise.core.languages import document_language
from spanwise.core.packs.file import recorded_packs
from spanwise.core.packs.landmarks import document_signals
from spanwise.core.render import frame
from spanwise.core.sections import split_sections
from spanwise.core.summary import summarise
from spanwise.core.table_heads import searched_text, table_heads
from spanwise.core.titles import document_title, title_words
from spanwise.core.vectors import unit_rows
from spanwise.errors import ParseError
from spanwise.options import HeaderOptions
from spanwise.ports import DocumentEntry
from spanwise.types import Chunk, Citation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.options import ChunkOptions, SectionOptions
    from spanwise.ports import Embedder, Tokenizer
    from spanwise.types import Document, Page, Section

__all__ = ["Preparer", "chunk_signals"]

_EMBED_BATCH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Makes entries in the way that one knowledge base wants them."""

    tokenizer: Tokenizer
    embedder: Embedder | None
    sections: SectionOptions
    chunks: ChunkOptions
    headers: HeaderOptions = field(default_factory=HeaderOptions)

    def entry(
        self, document: Document, *, known: Mapping[str, NDArray[np.float32]], packs: str = ""
    ) -> DocumentEntry:
        """Return a document cut, headed, counted and embedded.

        Args:
            document: The document, as parsed.
            known: Vectors of texts that were embedded before, which are not embedded again.
            packs: Those that are recorded. In a document where they find a landmark, chunks have
                no heads of tables: the landmark tells the same, and both together cost recall.

        Raises:
            ParseError: If the document holds no text.
        """
        if not document.text.strip():
            raise ParseError(
                f"{document.source or document.id} holds no text: there is nothing to search; "
                "a scanned document needs a text layer (OCR) first",
                source=document.source or document.id,
                code="no_text",
            )
        language = document_language(document.text, metadata=document.metadata)
        title = document_title(document)
        summary = summarise(document.text)
        sections = self._headed(document, title=title, summary=summary)
        chunks = self._chunks(document, sections, chunk_lengths(self.chunks, language=language))
        signals = chunk_signals(chunks, packs=packs)
        if signals:
            chunks = tuple(replace(chunk, table_head="") for chunk in chunks)
        return DocumentEntry(
            document=document,
            title=title,
            summary=summary,
            title_words=title_words(document, title=title),
            sections=sections,
            chunks=chunks,
            vectors=self._vectors(
                [searched_text(chunk.text, table_head=chunk.table_head) for chunk in chunks], known
            ),
            language=language,
            signals=signals,
            packs=packs,
        )

    def _headed(self, document: Document, *, title: str, summary: str) -> tuple[Section, ...]:
        """Return the sections of a document with the most tokens that their headers may take."""
        sections = split_sections(document, options=self.sections)
        length, pages = len(document.text), len(document.pages)
        labels = self._widest_labels(document.pages)
        frames = [
            frame(
                Citation(
                    document_id=document.id,
                    title=title,
                    start=length,
                    end=length,
                    pages=(pages, pages + 1) if pages else None,
                    page_labels=labels,
                    section_path=section.path,
                    source=document.source,
                ),
                chunk_header(
                    title, summary=summary, section_path=section.path, options=self.headers
                ),
            )
            for section in sections
        ]
        counts = self.tokenizer.count([part for parts in frames for part in parts])
        return tuple(
            replace(section, header_tokens=before + after)
            for section, before, after in zip(sections, counts[::2], counts[1::2], strict=True)
        )

    def _widest_labels(self, pages: Sequence[Page]) -> tuple[str, str] | None:
        """Return the labels of two pages that take most tokens; None where none is printed."""
        labels = printed_labels(pages)
        if not labels:
            return None
        labels.append(str(len(pages)))  # a page without a label is named by its number
        counts = self.tokenizer.count(labels)
        widest = labels[counts.index(max(counts))]
        return widest, widest

    def _chunks(
        self, document: Document, sections: Sequence[Section], options: ChunkOptions
    ) -> tuple[Chunk, ...]:
        spans = split_chunks(
            document.text,
            sections,
            blocks=document.blocks,
            options=options,
            count_tokens=self.tokenizer.count,
        )
        texts = [document.text[span.start : span.end] for span in spans]
        heads = table_heads(document.text, sections=sections, blocks=document.blocks, chunks=spans)
        return tuple(
            Chunk(
                index=index,
                start=span.start,
                end=span.end,
                section=span.section,
                tokens=max(1, tokens),
                text=text,
                table_head=head,
            )
            for index, (span, text, head, tokens) in enumerate(
                zip(spans, texts, heads, self.tokenizer.count(texts), strict=True)
            )
        )

    def _vectors(
        self, texts: Sequence[str], known: Mapping[str, NDArray[np.float32]]
    ) -> NDArray[np.float16] | None:
        """Return one vector a text, as it is stored; what is known is not embedded again."""
        if self.embedder is None:
            return None
        vectors = np.zeros((len(texts), self.embedder.dimension), dtype=np.float16)
        new = [at for at, text in enumerate(texts) if text not in known]
        for start in range(0, len(new), _EMBED_BATCH):
            batch = new[start : start + _EMBED_BATCH]
            vectors[batch] = unit_rows(self.embedder.embed([texts[at] for at in batch]))
        for at, text in enumerate(texts):
            if text in known:
                vectors[at] = known[text]
        return vectors


def chunk_signals(chunks: Sequence[Chunk], *, packs: str) -> Mapping[str, NDArray[np.float16]]:
    """Return the signals of a document's chunks by the packs that are recorded."""
    found = [named.pack for named in recorded_packs(packs)]
    return document_signals(found, [chunk.text for chunk in chunks])

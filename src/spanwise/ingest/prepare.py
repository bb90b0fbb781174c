"""From a parsed document to an entry of the store, top to bottom; no reading, no writing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.chunks import chunk_lengths, split_chunks
from spanwise.core.headers import chunk_header
from spanwise.core.languages import document_language
from spanwise.core.render import frame
from spanwise.core.sections import split_sections
from spanwise.core.summary import summarise
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
    from spanwise.types import Document, Section

__all__ = ["Preparer"]

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
        self, document: Document, *, known: Mapping[str, NDArray[np.float32]]
    ) -> DocumentEntry:
        """Return a document cut, headed, counted and embedded.

        Args:
            document: The document, as parsed.
            known: Vectors of texts that were embedded before, which are not embedded again.

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
        return DocumentEntry(
            document=document,
            title=title,
            summary=summary,
            title_words=title_words(document, title=title),
            sections=sections,
            chunks=chunks,
            vectors=self._vectors([chunk.text for chunk in chunks], known),
            language=language,
        )

    def _headed(self, document: Document, *, title: str, summary: str) -> tuple[Section, ...]:
        """Return the sections of a document with the most tokens that their headers may take."""
        sections = split_sections(document, options=self.sections)
        length, pages = len(document.text), len(document.pages)
        frames = [
            frame(
                Citation(
                    document_id=document.id,
                    title=title,
                    start=length,
                    end=length,
                    pages=(pages, pages + 1) if pages else None,
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
        return tuple(
            Chunk(
                index=index,
                start=span.start,
                end=span.end,
                section=span.section,
                tokens=max(1, tokens),
                text=text,
            )
            for index, (span, text, tokens) in enumerate(
                zip(spans, texts, self.tokenizer.count(texts), strict=True)
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

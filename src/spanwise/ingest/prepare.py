"""From a parsed document to an entry of the store, top to bottom; no reading, no writing.

The draft of an entry has all but vectors; a language model may make parts of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from spanwise.core.answers.citations import printed_labels
from spanwise.core.documents.chunks import chunk_lengths, split_chunks
from spanwise.core.documents.headers import chunk_header, headed_text
from spanwise.core.documents.sections import split_sections
from spanwise.core.documents.summary import summarise
from spanwise.core.documents.table_heads import searched_text, table_heads
from spanwise.core.documents.titles import document_title, title_words
from spanwise.core.extraction.render import frame
from spanwise.core.ranking.vectors import unit_rows
from spanwise.core.text.languages import document_language
from spanwise.errors import ParseError
from spanwise.ingest.given_parts import given_sections, with_contexts
from spanwise.ingest.recipes import Recipe, recorded_recipe
from spanwise.models.embed_caller import EmbedCaller
from spanwise.options import HeaderOptions
from spanwise.packs.landmarks import document_signals
from spanwise.packs.pack_file import recorded_packs
from spanwise.stores.port import DocumentEntry
from spanwise.types import Chunk, Citation, GivenParts, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.ingest.enrich import Enricher
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder, Tokenizer
    from spanwise.options import ChunkOptions, SectionOptions
    from spanwise.types import Document, Page


_Item = TypeVar("_Item")
_EMBED_BATCH = 1_536  # sixteen calls of 96 texts, which run at once


class Outline(NamedTuple):
    """What stands over the chunks of a document."""

    title: str
    summary: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What is wanted of a document beside what is enrichment without a model."""

    recipe: Recipe = field(default_factory=dict)
    """What is asked for, as it is recorded; empty for nothing."""
    given: GivenParts = field(default_factory=GivenParts)
    """Parts that the caller gives."""
    enricher: Enricher | None = None
    """Makes the others with a language model; None to make them without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An entry without vectors and signals."""

    entry: DocumentEntry
    warnings: tuple[str, ...] = ()
    """What a model could not make of it, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Makes entries in the way that one knowledge base wants them. Safe for several threads."""

    tokenizer: Tokenizer
    embedder: Embedder | None
    sections: SectionOptions
    chunks: ChunkOptions
    headers: HeaderOptions = field(default_factory=HeaderOptions)

    def draft(self, document: Document, *, request: DraftRequest) -> Draft:
        """Return a document cut, headed and counted.

        Args:
            document: The document, as parsed.
            wanted: What is wanted of it beside what is enrichment without a model.

        Raises:
            ParseError: If the document holds no text.
            OptionError: If the parts that are given do not fit to its text.
            CostLimitError: If a model would cost more than is allowed.
            ModelKeyError: If its provider refuses the key.
        """
        if not document.text or document.text.isspace():
            raise ParseError(
                f"{document.source or document.id} holds no text: there is nothing to search; "
                "a scanned document needs a text layer (OCR) first",
                source=document.source or document.id,
                code="no_text",
            )
        given = request.given
        language = document_language(document.text, metadata=document.metadata)
        plain_title = document_title(document)
        outline = Outline(
            title=given.title or plain_title,
            summary=given.summary or summarise(document.text),
            sections=given_sections(document, given)
            or split_sections(document, options=self.sections),
        )
        enrichment = request.enricher and request.enricher.start(
            document, given=given, language=language, count_tokens=self.tokenizer.count
        )
        if enrichment:
            outline = enrichment.outline(outline, limits=self.sections)
        title, sections = outline.title, self._headed(document, outline)
        chunks = self._chunks(document, sections, chunk_lengths(self.chunks, language=language))
        chunks = with_contexts(chunks, given)
        if enrichment:
            chunks = enrichment.with_contexts(chunks, sections=sections, title=title)
            enrichment.finish()
        entry = DocumentEntry(
            document=document,
            title=title,
            summary=outline.summary,
            title_words=title_words(document, title=title),
            sections=sections,
            chunks=chunks,
            vectors=None,
            language=language,
            recipe=recorded_recipe(
                request.recipe,
                plain_title=plain_title,
                again=enrichment.retry_parts if enrichment else (),
            ),
        )
        return Draft(entry=entry, warnings=tuple(enrichment.warnings) if enrichment else ())

    @property
    def is_remote(self) -> bool:
        """Whether its embedder is asked over a network."""
        return isinstance(self.embedder, EmbedCaller) and not self.embedder.embedder.is_local

    def entry(
        self,
        draft: Draft,
        *,
        known: Mapping[str, NDArray[np.float32]],
        packs: str,
        ledger: Ledger,
    ) -> DocumentEntry:
        """Return the entry of a draft, with its vectors and the signals of packs.

        Args:
            draft: The draft.
            known: Vectors of texts that were embedded before, which are not embedded again.
            packs: Those that are recorded. In a document where they find a landmark, chunks have
                no heads of tables: the landmark tells the same, and both together cost recall.
            ledger: Counts the calls of the embedder.

        Raises:
            CostLimitError: If embedding would cost more than is allowed.
            ModelError: If the embedder fails.
        """
        entry = _with_signals(draft.entry, packs=packs)
        texts = self._entry_texts(entry)
        return replace(entry, vectors=self._vectors(texts, known, ledger=ledger))

    def estimate(
        self,
        draft: Draft,
        *,
        known: Mapping[str, NDArray[np.float32]],
        packs: str,
        ledger: Ledger,
    ) -> None:
        """Count what the vectors of a draft would take; as `entry`, without calling."""
        if not (self.is_remote and isinstance(self.embedder, EmbedCaller)):
            return
        texts = self._entry_texts(_with_signals(draft.entry, packs=packs))
        caller = replace(self.embedder, ledger=ledger)
        for batch in _batches([text for text in texts if text not in known]):
            caller.foresee(batch)

    def embedded_texts(self, chunks: Sequence[Chunk], outline: Outline) -> list[str]:
        """Return what the vectors of chunks are enrichment of: text, under its header where it counts.

        A static embedder adds up words, so that a header would make all chunks of a document alike.
        """
        texts = [
            searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)
            for chunk in chunks
        ]
        if not isinstance(self.embedder, EmbedCaller):
            return texts
        headers = [
            chunk_header(
                outline.title,
                summary=outline.summary,
                section_path=section.path,
                section_summary=section.summary,
                options=self.headers,
            )
            for section in outline.sections
        ]
        return [
            headed_text(text, header=headers[chunk.section])
            for text, chunk in zip(texts, chunks, strict=True)
        ]

    def _entry_texts(self, entry: DocumentEntry) -> list[str]:
        return self.embedded_texts(
            entry.chunks, Outline(entry.title, entry.summary, entry.sections)
        )

    def _headed(self, document: Document, outline: Outline) -> tuple[Section, ...]:
        """Return the sections of a document with the most tokens that their headers may take."""
        length, pages = len(document.text), len(document.pages)
        labels = self._widest_labels(document.pages)
        frames = [
            frame(
                Citation(
                    document_id=document.id,
                    title=outline.title,
                    start=length,
                    end=length,
                    pages=(pages, pages + 1) if pages else None,
                    page_labels=labels,
                    section_path=section.path,
                    source=document.source,
                ),
                chunk_header(
                    outline.title,
                    summary=outline.summary,
                    section_path=section.path,
                    section_summary=section.summary,
                    options=self.headers,
                ),
            )
            for section in outline.sections
        ]
        counts = self.tokenizer.count([part for parts in frames for part in parts])
        return tuple(
            replace(section, header_tokens=before + after)
            for section, before, after in zip(
                outline.sections, counts[::2], counts[1::2], strict=True
            )
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
        self, texts: Sequence[str], known: Mapping[str, NDArray[np.float32]], *, ledger: Ledger
    ) -> NDArray[np.float16] | None:
        """Return one vector a text, as it is stored; what is known is not embedded again."""
        embedder = self.embedder
        if embedder is None:
            return None
        if isinstance(embedder, EmbedCaller):
            embedder = replace(embedder, ledger=ledger)
        vectors = np.zeros((len(texts), embedder.dimension), dtype=np.float16)
        for batch in _batches([at for at, text in enumerate(texts) if text not in known]):
            vectors[batch] = unit_rows(embedder.embed([texts[at] for at in batch]))
        for at, text in enumerate(texts):
            if text in known:
                vectors[at] = known[text]
        return vectors


def _with_signals(entry: DocumentEntry, *, packs: str) -> DocumentEntry:
    signals = chunk_signals(entry.chunks, packs=packs)
    chunks = entry.chunks
    if signals:
        chunks = tuple(replace(chunk, table_head="") for chunk in chunks)
    return replace(entry, chunks=chunks, signals=signals, packs=packs)


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield what is embedded together."""
    return (items[start : start + _EMBED_BATCH] for start in range(0, len(items), _EMBED_BATCH))


def chunk_signals(chunks: Sequence[Chunk], *, packs: str) -> Mapping[str, NDArray[np.float16]]:
    """Return the signals of a document's chunks by the packs that are recorded."""
    found = [named.pack for named in recorded_packs(packs)]
    return document_signals(found, [chunk.text for chunk in chunks])

"""Preparation of a store entry from a parsed document: sections, chunks, headers, vectors.

Nothing is read from or written to the store here. A draft is an entry without vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from spanwise.core.answers.citations import printed_labels
from spanwise.core.documents.chunk_table import ChunkRow, ChunkTable, ChunkTexts, chunk_rows
from spanwise.core.documents.chunks import ChunkSpan, iterate_chunks
from spanwise.core.documents.headers import (
    chunk_header,
    headed_text,
    searched_header,
    searched_text,
    table_heads,
)
from spanwise.core.documents.titles import summary_words, title_words
from spanwise.core.extraction.render import segment_frame
from spanwise.core.ranking.vectors import add_headers, unit_rows
from spanwise.core.text.languages import document_language
from spanwise.ingest.fields import base_document, with_base_title
from spanwise.ingest.given_parts import (
    check_has_text,
    given_sections,
    given_spans,
    with_contexts,
)
from spanwise.ingest.recipes import Recipe, recorded_recipe
from spanwise.models.contextual_caller import ContextualCaller
from spanwise.options import HeaderOptions
from spanwise.packs.header_lines import head_lines
from spanwise.packs.known_kinds import (
    document_title,
    plain_summary,
    split_sections,
)
from spanwise.packs.landmarks import document_signals
from spanwise.packs.pack_file import recorded_packs
from spanwise.stores.port import DocumentEntry, SearchedParts
from spanwise.types import Chunk, Citation, GivenParts, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.ingest.enrich import Enricher
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder, Tokenizer
    from spanwise.options import ChunkOptions, SectionOptions
    from spanwise.types import Document, Page


_Item = TypeVar("_Item")
_EMBED_BATCH = 1_536  # sixteen concurrent calls of 96 texts


class Outline(NamedTuple):
    """Title, summary and sections of a document."""

    title: str
    summary: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """Parts of a document that the caller supplies or a model makes."""

    recipe: Recipe = field(default_factory=dict)
    """Recipe to record with the document; empty if there is none."""
    given: GivenParts = field(default_factory=GivenParts)
    """Parts supplied by the caller."""
    enricher: Enricher | None = None
    """Enricher that makes other parts with a language model; None for no model."""
    vectors: NDArray[np.floating] | None = None
    """Vectors of the chunks supplied by the caller, (n, dimension); None to compute them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Store entry without vectors and signals."""

    entry: DocumentEntry
    warnings: tuple[str, ...] = ()
    """Human-readable messages about parts that a model could not make."""
    vectors: NDArray[np.floating] | None = None
    """Vectors of the chunks supplied by the caller, (n, dimension); None to compute them."""
    kept_vectors: int | None = None
    """Number of reused vectors of a complete entry, which has vectors and signals; None if the
    entry is not complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Prepares store entries with the settings of one knowledge base. Thread-safe."""

    tokenizer: Tokenizer
    embedder: Embedder | None
    sections: SectionOptions
    chunks: ChunkOptions
    headers: HeaderOptions = field(default_factory=HeaderOptions)
    adds_headers: bool = True
    """Whether the vectors of a static embedder include section headers."""

    def draft(self, document: Document, *, request: DraftRequest) -> Draft:
        """Return a document with sections, headers, chunks and token counts.

        Args:
            document: Parsed document.
            request: Parts that the caller supplies or a model makes.

        Raises:
            ParseError: If the document has no text.
            OptionError: If supplied parts do not fit the text.
            CostLimitError: If a model call would exceed the cost limit.
            ModelKeyError: If the provider rejects the key.
        """
        check_has_text(document)
        given = request.given
        language = document_language(document.text, metadata=document.metadata)
        plain_title = document_title(base_document(document))
        outline = Outline(
            title=given.title or plain_title,
            summary=given.summary
            or plain_summary(_body(document), base_document(document).metadata),
            sections=given_sections(document, given)
            or split_sections(document, options=self.sections),
        )
        enrichment = request.enricher and request.enricher.start(
            document, given=given, language=language, count_tokens=self.tokenizer.count
        )
        if enrichment:
            outline = enrichment.outline(outline, limits=self.sections)
        document, title = with_base_title(document, outline.title)
        outline = outline._replace(title=title)
        sections = self._headed(document, outline)
        chunks: Sequence[Chunk] = self._chunks(
            document, sections, language, chunk_ends=given.chunk_ends
        )
        chunks = with_contexts(chunks, given)
        if enrichment:
            chunks = enrichment.with_contexts(chunks, sections=sections, title=title)
            enrichment.finish()
        entry = DocumentEntry(
            document=document,
            title=title,
            summary=outline.summary,
            title_words=_routing_words(document, outline, language=language),
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
        warnings = tuple(enrichment.warnings) if enrichment else ()
        return Draft(entry=entry, warnings=warnings, vectors=request.vectors)

    def searched_parts(self, document: Document, outline: Outline) -> SearchedParts:
        """Return the parts of a stored document that depend on its title and metadata.

        Args:
            document: Stored document with its new metadata.
            outline: Its new title, its summary and its stored sections.
        """
        language = document_language(document.text, metadata=document.metadata)
        return SearchedParts(
            title_words=_routing_words(document, outline, language=language),
            language=language,
            header_tokens=tuple(
                section.header_tokens for section in self._headed(document, outline)
            ),
        )

    @property
    def is_remote(self) -> bool:
        """Whether the embedder is called over a network."""
        return isinstance(self.embedder, ContextualCaller) and not self.embedder.embedder.is_local

    def entry(
        self,
        draft: Draft,
        *,
        known: Mapping[str, NDArray[np.float32]],
        packs: str,
        ledger: Ledger,
        on_embedded: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> DocumentEntry:
        """Return the entry of a draft, with vectors and pack signals.

        Args:
            draft: Draft of the entry.
            known: Stored vectors by text, which are reused.
            packs: Recorded packs. The chunks of a document with a landmark get no table heads: the
                landmark holds the same information, and recall is lower with both.
            ledger: Ledger of the embedder calls.
            on_embedded: Callback with the number of embedded chunks and of all chunks to embed,
                after each batch.

        Raises:
            CostLimitError: If embedding would exceed the cost limit.
            ModelError: If the embedder fails.
        """
        entry = _with_signals(draft.entry, packs=packs)
        if draft.vectors is not None:
            return replace(entry, vectors=unit_rows(draft.vectors))
        return replace(entry, vectors=self._vectors(entry, known, ledger, on_embedded))

    def completed(
        self,
        draft: Draft,
        *,
        known: Mapping[str, NDArray[np.float32]],
        packs: str,
        ledger: Ledger,
        on_embedded: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Draft:
        """Return a draft with a complete entry; arguments and errors as for `entry`."""
        entry = self.entry(draft, known=known, packs=packs, ledger=ledger, on_embedded=on_embedded)
        kept = 0
        if draft.vectors is not None:
            kept = len(entry.chunks)
        elif known:
            kept = sum(text in known for text in self._entry_texts(entry))
        return replace(draft, entry=entry, kept_vectors=kept)

    def estimate(
        self,
        draft: Draft,
        *,
        known: Mapping[str, NDArray[np.float32]],
        packs: str,
        ledger: Ledger,
    ) -> None:
        """Add the estimated usage of embedding a draft to a ledger; arguments as for `entry`."""
        if draft.vectors is not None or not isinstance(self.embedder, ContextualCaller):
            return
        if not self.is_remote:
            return
        texts = self._entry_texts(_with_signals(draft.entry, packs=packs))
        caller = replace(self.embedder, ledger=ledger)
        for batch in _batches([text for text in texts if text not in known]):
            caller.dry_run(batch)

    def embedded_texts(self, chunks: Sequence[Chunk], outline: Outline) -> list[str]:
        """Return the texts that the vectors of chunks are computed from, with their headers.

        They identify the vectors: equal texts have equal vectors.
        """
        headers = self._embedded_headers(outline)
        return [_embedded_text(chunk, headers) for chunk in chunks]

    def _embedded_headers(self, outline: Outline) -> list[str]:
        """Return the header of each section that is part of the vectors of its chunks.

        A contextual embedder gets each text with its complete header. A static embedder adds up
        word vectors: a complete header would make all chunks of a document similar. It gets only
        the titles and the summary of the section. A section without a summary has no header here,
        because headings alone made the results worse.
        """
        if isinstance(self.embedder, ContextualCaller):
            return self._section_headers(outline)
        return [
            searched_header(section) if self.adds_headers and section.summary else ""
            for section in outline.sections
        ]

    def _entry_texts(self, entry: DocumentEntry) -> list[str]:
        return self.embedded_texts(entry.chunks, _outline_of(entry))

    def _section_headers(self, outline: Outline) -> list[str]:
        """Return the header of the chunks of each section, made of the parts of an outline."""
        return [
            chunk_header(
                outline.title,
                summary=outline.summary,
                section_path=section.path,
                section_summary=section.summary,
                options=self.headers,
            )
            for section in outline.sections
        ]

    def _headed(self, document: Document, outline: Outline) -> tuple[Section, ...]:
        """Return the sections of a document with the maximum tokens of their segment headers."""
        length, pages = len(document.text), len(document.pages)
        title, summary = head_lines(
            outline.title, summary=outline.summary, metadata=document.metadata
        )
        headers = self._section_headers(outline._replace(title=title, summary=summary))
        labels = self._widest_labels(document.pages)
        frames = [
            segment_frame(
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
                header,
            )
            for section, header in zip(outline.sections, headers, strict=True)
        ]
        distinct = list(dict.fromkeys(part for parts in frames for part in parts))
        counts = dict(zip(distinct, self.tokenizer.count(distinct), strict=True))
        return tuple(
            replace(section, header_tokens=counts[before] + counts[after])
            for section, (before, after) in zip(outline.sections, frames, strict=True)
        )

    def _widest_labels(self, pages: Sequence[Page]) -> tuple[str, str] | None:
        """Return the longest label range: the label with the most tokens as first and last label.

        The result is None if no page has a printed label.
        """
        labels = printed_labels(pages)
        if not labels:
            return None
        labels.append(str(len(pages)))  # a page without a label is named by its number
        counts = self.tokenizer.count(labels)
        widest = labels[counts.index(max(counts))]
        return widest, widest

    def _chunks(
        self,
        document: Document,
        sections: Sequence[Section],
        language: str,
        *,
        chunk_ends: Sequence[int],
    ) -> ChunkTable:
        spans: Iterable[ChunkSpan]
        if chunk_ends:
            spans = given_spans(sections, chunk_ends)
        else:
            spans = iterate_chunks(
                document.text,
                sections,
                blocks=document.blocks,
                options=self.chunks,
                count_tokens=self.tokenizer.count,
                language=language,
            )
        chunks = ChunkTable.of(document.text, spans, count_tokens=self.tokenizer.count)
        if not document.blocks:
            return chunks
        heads = table_heads(document.text, sections=sections, blocks=document.blocks, chunks=chunks)
        return chunks.with_table_heads(heads)

    def _vectors(
        self,
        entry: DocumentEntry,
        known: Mapping[str, NDArray[np.float32]],
        ledger: Ledger,
        on_embedded: Callable[[int, int], None],
    ) -> NDArray[np.float16] | None:
        """Return one unit vector per chunk, (n, dimension), with known vectors reused."""
        embedder = self.embedder
        if embedder is None:
            return None
        if isinstance(embedder, ContextualCaller):
            embedder = replace(embedder, ledger=ledger)
        headers = self._embedded_headers(_outline_of(entry))
        vectors = np.zeros((len(entry.chunks), embedder.dimension), dtype=np.float16)
        is_new = [True] * len(entry.chunks)
        if known:
            for at, text in enumerate(self._entry_texts(entry)):
                if text in known:
                    vectors[at], is_new[at] = known[text], False
        missing = list(compress(range(len(is_new)), is_new))
        rows = compress(chunk_rows(entry.chunks), is_new)
        done = 0
        for batch in _batches(missing):
            chunks = list(islice(rows, len(batch)))
            if isinstance(embedder, ContextualCaller):
                texts = [_embedded_text(chunk, headers) for chunk in chunks]
                vectors[batch] = unit_rows(embedder.embed(texts))
            else:
                vectors[batch] = _static_vectors(chunks, headers, embedder)
            done += len(batch)
            on_embedded(done, len(missing))
        return vectors


def _static_vectors(
    chunks: Sequence[ChunkRow], headers: Sequence[str], embedder: Embedder
) -> NDArray[np.float16]:
    """Return the vectors of chunks by a static embedder, with the headers of sections added."""
    vectors = unit_rows(embedder.embed([_searched(chunk) for chunk in chunks]))
    own = [headers[chunk.section] for chunk in chunks]
    distinct = {header: row for row, header in enumerate(dict.fromkeys(filter(None, own)))}
    if distinct:
        headed = [at for at, header in enumerate(own) if header]
        added = unit_rows(embedder.embed(list(distinct)))[[distinct[own[at]] for at in headed]]
        vectors[headed] = add_headers(vectors[headed], added)
    return vectors


def _embedded_text(chunk: Chunk | ChunkRow, headers: Sequence[str]) -> str:
    return headed_text(_searched(chunk), header=headers[chunk.section])


def _body(document: Document) -> str:
    """Return the text of a document without the front matter of Markdown."""
    if document.media_type != "text/markdown":
        return document.text
    from spanwise.parsers.markup.markdown import front_matter_end

    return document.text[front_matter_end(document.text) :]


def _outline_of(entry: DocumentEntry) -> Outline:
    return Outline(entry.title, entry.summary, entry.sections)


def _searched(chunk: Chunk | ChunkRow) -> str:
    return searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)


def _routing_words(document: Document, outline: Outline, *, language: str) -> str:
    """Return the routing words of a document, with new words of its summary."""
    headers = map(searched_header, outline.sections)
    new = summary_words(outline.summary, texts=(document.text, *headers), language=language)
    return " ".join(filter(None, (title_words(document, title=outline.title), new)))


def _with_signals(entry: DocumentEntry, *, packs: str) -> DocumentEntry:
    signals = chunk_signals(entry.chunks, packs=packs)
    chunks = entry.chunks
    if signals and isinstance(chunks, ChunkTable):
        chunks = chunks.with_table_heads(())
    elif signals:
        chunks = tuple(replace(chunk, table_head="") for chunk in chunks)
    return replace(entry, chunks=chunks, signals=signals, packs=packs)


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield the items in batches of `_EMBED_BATCH`."""
    return (items[start : start + _EMBED_BATCH] for start in range(0, len(items), _EMBED_BATCH))


def chunk_signals(chunks: Sequence[Chunk], *, packs: str) -> Mapping[str, NDArray[np.float16]]:
    """Return the signals of a document's chunks for the recorded packs, by landmark name."""
    packs_used = [recorded.pack for recorded in recorded_packs(packs)]
    return document_signals(packs_used, ChunkTexts(chunks))

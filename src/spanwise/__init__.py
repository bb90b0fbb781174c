"""Retrieval engine for long documents that returns spans of consecutive text with citations.

>>> from spanwise import KnowledgeBase
>>> with KnowledgeBase(":memory:") as kb:
...     _ = kb.add_text("Margins fell because freight costs rose.", document_id="note")
...     result = kb.search("Why did margins fall?")
>>> result.segments[0].text
'Margins fell because freight costs rose.'
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.client import (
        AsyncRemoteKnowledgeBase,
        RemoteIngest,
        RemoteJob,
        RemoteKnowledgeBase,
        connect,
        connect_async,
    )
    from spanwise.core.documents.chunks import split_chunks
    from spanwise.core.documents.headers import chunk_header
    from spanwise.core.extraction.exact import chunk_values, extract_segments
    from spanwise.core.extraction.published import beta_relevance, extract_published
    from spanwise.core.extraction.render import render_segments
    from spanwise.core.extraction.scored_chunks import ScoredSegment, segments_from_scores
    from spanwise.core.text.languages import document_language
    from spanwise.errors import SpanwiseError
    from spanwise.filters import field, parse_filter
    from spanwise.knowledge_base import AsyncKnowledgeBase, KnowledgeBase
    from spanwise.knowledge_base.parse import parse, parse_text
    from spanwise.knowledge_base.several import (
        ask,
        ask_each,
        excerpts,
        explain,
        locate,
        search,
    )
    from spanwise.options import (
        AnswerOptions,
        ChunkOptions,
        ContextOptions,
        CrawlOptions,
        ExcerptOptions,
        FetchOptions,
        HeaderOptions,
        ModelOptions,
        ParseOptions,
        PublishedOptions,
        QueryOptions,
        RerankOptions,
        SearchOptions,
        SectionOptions,
        SegmentOptions,
    )
    from spanwise.packs.known_kinds import split_sections
    from spanwise.search.chunk_weights import ChunkWeights, weigh_chunks
    from spanwise.search.explanation import Explanation
    from spanwise.types import (
        Answer,
        AnswerCalculation,
        AnswerCitation,
        BackupReport,
        CheckFinding,
        CheckReport,
        Chunk,
        Citation,
        CitationLocation,
        CompactReport,
        CopyReport,
        Document,
        DocumentAnswer,
        DocumentAnswers,
        DocumentCounts,
        DocumentRecord,
        Excerpt,
        ExcerptResult,
        ExcerptSpan,
        ExportReport,
        GivenChunk,
        GivenContext,
        GivenParts,
        IngestReport,
        RebuildReport,
        SearchResult,
        Section,
        Segment,
        SimilarMatch,
        Thread,
        UnsupportedClaim,
        Usage,
        WrittenQueries,
    )

__all__ = [
    "Answer",
    "AnswerCalculation",
    "AnswerCitation",
    "AnswerOptions",
    "AsyncKnowledgeBase",
    "AsyncRemoteKnowledgeBase",
    "BackupReport",
    "CheckFinding",
    "CheckReport",
    "Chunk",
    "ChunkOptions",
    "ChunkWeights",
    "Citation",
    "CitationLocation",
    "CompactReport",
    "ContextOptions",
    "CopyReport",
    "CrawlOptions",
    "Document",
    "DocumentAnswer",
    "DocumentAnswers",
    "DocumentCounts",
    "DocumentRecord",
    "Excerpt",
    "ExcerptOptions",
    "ExcerptResult",
    "ExcerptSpan",
    "Explanation",
    "ExportReport",
    "FetchOptions",
    "GivenChunk",
    "GivenContext",
    "GivenParts",
    "HeaderOptions",
    "IngestReport",
    "KnowledgeBase",
    "ModelOptions",
    "ParseOptions",
    "PublishedOptions",
    "QueryOptions",
    "RebuildReport",
    "RemoteIngest",
    "RemoteJob",
    "RemoteKnowledgeBase",
    "RerankOptions",
    "ScoredSegment",
    "SearchOptions",
    "SearchResult",
    "Section",
    "SectionOptions",
    "Segment",
    "SegmentOptions",
    "SimilarMatch",
    "SpanwiseError",
    "Thread",
    "UnsupportedClaim",
    "Usage",
    "WrittenQueries",
    "ask",
    "ask_each",
    "beta_relevance",
    "chunk_header",
    "chunk_values",
    "connect",
    "connect_async",
    "document_language",
    "excerpts",
    "explain",
    "extract_published",
    "extract_segments",
    "field",
    "locate",
    "parse",
    "parse_filter",
    "parse_text",
    "render_segments",
    "search",
    "segments_from_scores",
    "split_chunks",
    "split_sections",
    "weigh_chunks",
]

__version__ = "0.1.0"


class _CallablePackage(ModuleType):
    """Package `spanwise.search`, which can also be called as the function `search`."""

    def __call__(
        self, knowledge_bases: Sequence[KnowledgeBase], question: str, **arguments: Any
    ) -> SearchResult:
        """Search several knowledge bases as one, with the arguments of `KnowledgeBase.search`."""
        several = import_module("spanwise.knowledge_base.several")
        result: SearchResult = several.search(knowledge_bases, question, **arguments)
        return result


import_module("spanwise.search").__class__ = _CallablePackage

_HOMES = {
    "SpanwiseError": "errors",
    "Explanation": "search.explanation",
    "field": "filters",
    "parse_filter": "filters",
    "AsyncKnowledgeBase": "knowledge_base",
    "KnowledgeBase": "knowledge_base",
    "AsyncRemoteKnowledgeBase": "client",
    "RemoteIngest": "client",
    "RemoteJob": "client",
    "RemoteKnowledgeBase": "client",
    "connect": "client",
    "connect_async": "client",
    "ask": "knowledge_base.several",
    "ask_each": "knowledge_base.several",
    "excerpts": "knowledge_base.several",
    "explain": "knowledge_base.several",
    "locate": "knowledge_base.several",
    "beta_relevance": "core.extraction.published",
    "chunk_header": "core.documents.headers",
    "chunk_values": "core.extraction.exact",
    "document_language": "core.text.languages",
    "extract_published": "core.extraction.published",
    "extract_segments": "core.extraction.exact",
    "parse": "knowledge_base.parse",
    "parse_text": "knowledge_base.parse",
    "render_segments": "core.extraction.render",
    "ScoredSegment": "core.extraction.scored_chunks",
    "segments_from_scores": "core.extraction.scored_chunks",
    "split_chunks": "core.documents.chunks",
    "split_sections": "packs.known_kinds",
    "weigh_chunks": "search.chunk_weights",
    "ChunkWeights": "search.chunk_weights",
}
_OPTIONS = "Options"

__getattr__ = lazy_names(
    __name__,
    {
        name: _HOMES.get(name) or ("options" if name.endswith(_OPTIONS) else "types")
        for name in __all__
    },
)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Retrieval engine for long documents that returns spans of consecutive text with citations.

>>> from spanwise import KnowledgeBase
>>> with KnowledgeBase(":memory:") as kb:
...     _ = kb.add_text("Margins fell because freight costs rose.", document_id="note")
...     result = kb.search("Why did margins fall?")
>>> result.segments[0].text
'Margins fell because freight costs rose.'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.core.documents.chunks import split_chunks
    from spanwise.core.documents.headers import chunk_header
    from spanwise.core.extraction.exact import chunk_values, extract_segments
    from spanwise.core.extraction.published import beta_relevance, extract_published
    from spanwise.core.extraction.render import render_segments
    from spanwise.errors import SpanwiseError
    from spanwise.filters import field, parse_filter
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import (
        AnswerOptions,
        ChunkOptions,
        ContextOptions,
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
        AnswerCitation,
        BackupReport,
        CheckFinding,
        CheckReport,
        Chunk,
        Citation,
        CitationLocation,
        Document,
        DocumentCounts,
        DocumentRecord,
        Excerpt,
        ExcerptResult,
        ExcerptSpan,
        GivenContext,
        GivenParts,
        IngestReport,
        SearchResult,
        Section,
        Segment,
        SimilarMatch,
        Thread,
        Usage,
        WrittenQueries,
    )

__all__ = [
    "Answer",
    "AnswerCitation",
    "AnswerOptions",
    "BackupReport",
    "CheckFinding",
    "CheckReport",
    "Chunk",
    "ChunkOptions",
    "ChunkWeights",
    "Citation",
    "CitationLocation",
    "ContextOptions",
    "Document",
    "DocumentCounts",
    "DocumentRecord",
    "Excerpt",
    "ExcerptOptions",
    "ExcerptResult",
    "ExcerptSpan",
    "Explanation",
    "FetchOptions",
    "GivenContext",
    "GivenParts",
    "HeaderOptions",
    "IngestReport",
    "KnowledgeBase",
    "ModelOptions",
    "ParseOptions",
    "PublishedOptions",
    "QueryOptions",
    "RerankOptions",
    "SearchOptions",
    "SearchResult",
    "Section",
    "SectionOptions",
    "Segment",
    "SegmentOptions",
    "SimilarMatch",
    "SpanwiseError",
    "Thread",
    "Usage",
    "WrittenQueries",
    "beta_relevance",
    "chunk_header",
    "chunk_values",
    "extract_published",
    "extract_segments",
    "field",
    "parse_filter",
    "render_segments",
    "split_chunks",
    "split_sections",
    "weigh_chunks",
]

__version__ = "0.1.0"

_HOMES = {
    "SpanwiseError": "errors",
    "Explanation": "search.explanation",
    "field": "filters",
    "parse_filter": "filters",
    "KnowledgeBase": "knowledge_base",
    "beta_relevance": "core.extraction.published",
    "chunk_header": "core.documents.headers",
    "chunk_values": "core.extraction.exact",
    "extract_published": "core.extraction.published",
    "extract_segments": "core.extraction.exact",
    "render_segments": "core.extraction.render",
    "split_chunks": "core.documents.chunks",
    "split_sections": "packs.known_kinds",
    "weigh_chunks": "search.chunk_weights",
    "ChunkWeights": "search.chunk_weights",
}
_OPTIONS = "Options"


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
    home = _HOMES.get(name) or ("options" if name.endswith(_OPTIONS) else "types")
    value = getattr(import_module(f"spanwise.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Retrieval that returns spans, not fragments.

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
    from spanwise.errors import SpanwiseError
    from spanwise.filters import field, parse_filter
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import (
        ChunkOptions,
        FetchOptions,
        ParseOptions,
        SectionOptions,
        SegmentOptions,
    )
    from spanwise.types import (
        Chunk,
        Citation,
        Document,
        DocumentRecord,
        IngestReport,
        SearchResult,
        Section,
        Segment,
    )

__all__ = [
    "Chunk",
    "ChunkOptions",
    "Citation",
    "Document",
    "DocumentRecord",
    "FetchOptions",
    "IngestReport",
    "KnowledgeBase",
    "ParseOptions",
    "SearchResult",
    "Section",
    "SectionOptions",
    "Segment",
    "SegmentOptions",
    "SpanwiseError",
    "field",
    "parse_filter",
]

__version__ = "0.1.0"

_HOMES = {
    "SpanwiseError": "errors",
    "field": "filters",
    "parse_filter": "filters",
    "KnowledgeBase": "knowledge_base",
}
_OPTIONS = "Options"


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
    home = _HOMES.get(name) or ("options" if name.endswith(_OPTIONS) else "types")
    value = getattr(import_module(f"spanwise.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

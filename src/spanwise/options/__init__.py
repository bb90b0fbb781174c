"""Options of each step, as frozen dataclasses that are validated on creation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.options.answers import (
        AnswerOptions,
        QueryOptions,
    )
    from spanwise.options.crawl import CrawlOptions
    from spanwise.options.ingest import (
        ChunkOptions,
        FetchOptions,
        HeaderOptions,
        ParseOptions,
        SectionOptions,
    )
    from spanwise.options.models import (
        ContextOptions,
        ModelOptions,
        RerankOptions,
    )
    from spanwise.options.search import (
        METHOD_PRESETS,
        ExcerptOptions,
        PublishedOptions,
        SearchOptions,
        SegmentOptions,
        Spread,
        method_options,
    )

__all__ = [
    "METHOD_PRESETS",
    "AnswerOptions",
    "ChunkOptions",
    "ContextOptions",
    "CrawlOptions",
    "ExcerptOptions",
    "FetchOptions",
    "HeaderOptions",
    "ModelOptions",
    "ParseOptions",
    "PublishedOptions",
    "QueryOptions",
    "RerankOptions",
    "SearchOptions",
    "SectionOptions",
    "SegmentOptions",
    "Spread",
    "method_options",
]

_HOMES = {
    "METHOD_PRESETS": "search",
    "AnswerOptions": "answers",
    "ChunkOptions": "ingest",
    "ContextOptions": "models",
    "CrawlOptions": "crawl",
    "ExcerptOptions": "search",
    "FetchOptions": "ingest",
    "HeaderOptions": "ingest",
    "ModelOptions": "models",
    "ParseOptions": "ingest",
    "PublishedOptions": "search",
    "QueryOptions": "answers",
    "RerankOptions": "models",
    "SearchOptions": "search",
    "SectionOptions": "ingest",
    "SegmentOptions": "search",
    "Spread": "search",
    "method_options": "search",
}
"""Module of each name. Modules are loaded when they are used."""

__getattr__ = lazy_names(__name__, _HOMES)

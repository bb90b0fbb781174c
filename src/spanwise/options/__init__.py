"""Options of each step, as frozen dataclasses that are validated on creation."""

from spanwise.options.ingest import (
    ChunkOptions,
    CrawlOptions,
    FetchOptions,
    HeaderOptions,
    ParseOptions,
    SectionOptions,
)
from spanwise.options.models import (
    AnswerOptions,
    ContextOptions,
    ModelOptions,
    QueryOptions,
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

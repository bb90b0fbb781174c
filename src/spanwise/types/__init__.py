"""Inputs and results of the public API, as frozen dataclasses.

Ranges are half-open `[start, end)` and 0-based. Offsets are Python string indices (code points)
into `Document.text`, which never changes after a document is created. Page numbers alone are
1-based.
"""

from spanwise.types.answers import (
    Answer,
    AnswerCitation,
    QuoteStatus,
    Thread,
    ThreadInfo,
    Turn,
    WrittenQueries,
)
from spanwise.types.citations import Citation, CitationLocation, CitationStatus
from spanwise.types.documents import (
    Block,
    Chunk,
    Document,
    DocumentRecord,
    DocumentStatus,
    Durability,
    GivenContext,
    GivenParts,
    Heading,
    Page,
    Scalar,
    Section,
    WholeDocument,
)
from spanwise.types.excerpts import Excerpt, ExcerptResult, ExcerptSpan
from spanwise.types.reports import (
    BackupReport,
    CheckCode,
    CheckFinding,
    CheckReport,
    IngestFailure,
    IngestProgress,
    IngestReport,
    KnowledgeBaseInfo,
    PackInfo,
    PackPlace,
)
from spanwise.types.results import DocumentCounts, SearchResult, Segment, SimilarMatch
from spanwise.types.usage import Usage

__all__ = [
    "Answer",
    "AnswerCitation",
    "BackupReport",
    "Block",
    "CheckCode",
    "CheckFinding",
    "CheckReport",
    "Chunk",
    "Citation",
    "CitationLocation",
    "CitationStatus",
    "Document",
    "DocumentCounts",
    "DocumentRecord",
    "DocumentStatus",
    "Durability",
    "Excerpt",
    "ExcerptResult",
    "ExcerptSpan",
    "GivenContext",
    "GivenParts",
    "Heading",
    "IngestFailure",
    "IngestProgress",
    "IngestReport",
    "KnowledgeBaseInfo",
    "PackInfo",
    "PackPlace",
    "Page",
    "QuoteStatus",
    "Scalar",
    "SearchResult",
    "Section",
    "Segment",
    "SimilarMatch",
    "Thread",
    "ThreadInfo",
    "Turn",
    "Usage",
    "WholeDocument",
    "WrittenQueries",
]

"""Inputs and results of the public API, as frozen dataclasses.

Ranges are half-open `[start, end)` and 0-based. Offsets are Python string indices (code points)
into `Document.text`, which never changes after a document is created. Page numbers alone are
1-based.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.types.answers import (
        Answer,
        AnswerCalculation,
        AnswerCitation,
        CalculationOperand,
        CalculationStatus,
        ClaimKind,
        QuoteStatus,
        Thread,
        ThreadInfo,
        Turn,
        UnsupportedClaim,
    )
    from spanwise.types.citations import Citation, CitationLocation, CitationStatus
    from spanwise.types.document_answers import DocumentAnswer, DocumentAnswers, Verdict
    from spanwise.types.documents import (
        Block,
        Chunk,
        Document,
        DocumentRecord,
        DocumentStatus,
        Durability,
        FieldOrigins,
        Figure,
        GivenChunk,
        GivenContext,
        GivenParts,
        GivenValue,
        Heading,
        MetadataValue,
        Overlap,
        Page,
        Scalar,
        Section,
        WholeDocument,
    )
    from spanwise.types.excerpts import Excerpt, ExcerptResult, ExcerptSpan
    from spanwise.types.queries import WrittenQueries
    from spanwise.types.reports import (
        BackupReport,
        CheckCode,
        CheckFinding,
        CheckReport,
        CompactReport,
        CopyReport,
        ExportReport,
        IngestFailure,
        IngestProgress,
        IngestReport,
        KnowledgeBaseInfo,
        MetadataChange,
        MetadataReport,
        PackInfo,
        PackPlace,
        RebuildReport,
    )
    from spanwise.types.results import DocumentCounts, SearchResult, Segment, SimilarMatch
    from spanwise.types.usage import Usage

__all__ = [
    "Answer",
    "AnswerCalculation",
    "AnswerCitation",
    "BackupReport",
    "Block",
    "CalculationOperand",
    "CalculationStatus",
    "CheckCode",
    "CheckFinding",
    "CheckReport",
    "Chunk",
    "Citation",
    "CitationLocation",
    "CitationStatus",
    "ClaimKind",
    "CompactReport",
    "CopyReport",
    "Document",
    "DocumentAnswer",
    "DocumentAnswers",
    "DocumentCounts",
    "DocumentRecord",
    "DocumentStatus",
    "Durability",
    "Excerpt",
    "ExcerptResult",
    "ExcerptSpan",
    "ExportReport",
    "FieldOrigins",
    "Figure",
    "GivenChunk",
    "GivenContext",
    "GivenParts",
    "GivenValue",
    "Heading",
    "IngestFailure",
    "IngestProgress",
    "IngestReport",
    "KnowledgeBaseInfo",
    "MetadataChange",
    "MetadataReport",
    "MetadataValue",
    "Overlap",
    "PackInfo",
    "PackPlace",
    "Page",
    "QuoteStatus",
    "RebuildReport",
    "Scalar",
    "SearchResult",
    "Section",
    "Segment",
    "SimilarMatch",
    "Thread",
    "ThreadInfo",
    "Turn",
    "UnsupportedClaim",
    "Usage",
    "Verdict",
    "WholeDocument",
    "WrittenQueries",
]

_HOMES = {
    "Answer": "answers",
    "AnswerCalculation": "answers",
    "AnswerCitation": "answers",
    "BackupReport": "reports",
    "Block": "documents",
    "CalculationOperand": "answers",
    "CalculationStatus": "answers",
    "CheckCode": "reports",
    "CheckFinding": "reports",
    "CheckReport": "reports",
    "Chunk": "documents",
    "Citation": "citations",
    "CitationLocation": "citations",
    "CitationStatus": "citations",
    "ClaimKind": "answers",
    "CompactReport": "reports",
    "CopyReport": "reports",
    "Document": "documents",
    "DocumentAnswer": "document_answers",
    "DocumentAnswers": "document_answers",
    "DocumentCounts": "results",
    "DocumentRecord": "documents",
    "DocumentStatus": "documents",
    "Durability": "documents",
    "Excerpt": "excerpts",
    "ExcerptResult": "excerpts",
    "ExcerptSpan": "excerpts",
    "ExportReport": "reports",
    "FieldOrigins": "documents",
    "Figure": "documents",
    "GivenChunk": "documents",
    "GivenContext": "documents",
    "GivenParts": "documents",
    "GivenValue": "documents",
    "Heading": "documents",
    "IngestFailure": "reports",
    "IngestProgress": "reports",
    "IngestReport": "reports",
    "KnowledgeBaseInfo": "reports",
    "MetadataChange": "reports",
    "MetadataReport": "reports",
    "MetadataValue": "documents",
    "Overlap": "documents",
    "PackInfo": "reports",
    "PackPlace": "reports",
    "Page": "documents",
    "QuoteStatus": "answers",
    "RebuildReport": "reports",
    "Scalar": "documents",
    "SearchResult": "results",
    "Section": "documents",
    "Segment": "results",
    "SimilarMatch": "results",
    "Thread": "answers",
    "ThreadInfo": "answers",
    "Turn": "answers",
    "UnsupportedClaim": "answers",
    "Usage": "usage",
    "Verdict": "document_answers",
    "WholeDocument": "documents",
    "WrittenQueries": "queries",
}
"""Module of each name. Modules are loaded when they are used: most processes need a few of them."""


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'spanwise.types' has no attribute {name!r}")
    value = getattr(import_module(f"spanwise.types.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

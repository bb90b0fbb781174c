"""Segments and excerpts that a model reads for an answer, with the text that it may quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.types import Citation, Excerpt, ExcerptResult, SearchResult, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Consecutive text of a document."""

    start: int
    """Offset of the first character in the document."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Segment or excerpt that a model reads."""

    citation: Citation
    header: str
    text: str
    """Text as shown to the model."""
    spans: tuple[Span, ...]
    """Stored text in document order; only this text may be quoted, not the header."""
    also_in: int = 0
    """Number of other documents with nearly the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSources:
    """Result of a search as sources for a model."""

    sources: tuple[Source, ...]
    context: str
    """Text of the sources, formatted for a model."""
    shown: tuple[int, ...] | None = None
    """Positions of the sources in the context; None for all of them."""
    queries: tuple[str, ...]
    """Search queries, the question first."""
    warnings: tuple[str, ...] = ()
    """Warnings of the search, and one about weak evidence."""
    search_warnings: tuple[str, ...] = ()
    """Warnings of the search."""
    usage: Usage
    """Usage of the search, such as that of a reranker."""
    where: str = ""
    """Metadata filter of the search, in text form; empty without a filter."""
    no_document_passes: bool = False
    """Whether no document passes the filter; the first warning says so."""


def sources_of(result: SearchResult | ExcerptResult) -> AnswerSources:
    """Return the sources of a search result."""
    if isinstance(result, SearchResult):
        sources = tuple(
            Source(
                citation=segment.citation,
                header=segment.header,
                text=segment.text,
                spans=(Span(start=segment.start, text=segment.text),),
                also_in=len(segment.also_in),
            )
            for segment in result.segments
        )
    else:
        sources = tuple(_excerpt_source(excerpt) for excerpt in result.excerpts)
    weak = "weak evidence: the documents may not hold an answer" if result.weak_evidence else ""
    return AnswerSources(
        sources=sources,
        context=result.context,
        queries=result.queries,
        warnings=(*result.warnings, *([weak] if weak and sources else ())),
        search_warnings=result.warnings,
        usage=result.usage,
        where=result.where,
        no_document_passes=result.no_document_passes,
    )


def _excerpt_source(excerpt: Excerpt) -> Source:
    return Source(
        citation=excerpt.citation,
        header=excerpt.header,
        text=excerpt.text,
        spans=tuple(_merge([Span(start=span.start, text=span.text) for span in excerpt.spans])),
    )


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Return spans with adjacent ones merged."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].start + len(merged[-1].text) == span.start:
            last = merged.pop()
            merged.append(Span(start=last.start, text=last.text + span.text))
        else:
            merged.append(span)
    return merged

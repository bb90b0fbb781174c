"""What a model is shown for an answer: segments or excerpts, and their text that can be quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.types import Citation, Excerpt, ExcerptResult, SearchResult, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Stored text of a document from one place on."""

    start: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A segment or an excerpt."""

    citation: Citation
    header: str
    text: str
    """As it is shown."""
    runs: tuple[Run, ...]
    """What is stored of it, in document order; each can be quoted, headers cannot."""
    also_in: int = 0
    """How many other documents hold nearly the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found, ready to be read by a model."""

    sources: tuple[Source, ...]
    context: str
    queries: tuple[str, ...]
    """The question first."""
    warnings: tuple[str, ...] = ()
    usage: Usage
    """Of a reranker."""


def found_of(result: SearchResult | ExcerptResult) -> Found:
    """Return what a search found."""
    if isinstance(result, SearchResult):
        sources = tuple(
            Source(
                citation=segment.citation,
                header=segment.header,
                text=segment.text,
                runs=(Run(start=segment.start, text=segment.text),),
                also_in=len(segment.also_in),
            )
            for segment in result.segments
        )
    else:
        sources = tuple(_of_excerpt(excerpt) for excerpt in result.excerpts)
    weak = "weak evidence: the documents may not hold an answer" if result.weak_evidence else ""
    return Found(
        sources=sources,
        context=result.context,
        queries=result.queries,
        warnings=(*result.warnings, *([weak] if weak and sources else ())),
        usage=result.usage,
    )


def _of_excerpt(excerpt: Excerpt) -> Source:
    return Source(
        citation=excerpt.citation,
        header=excerpt.header,
        text=excerpt.text,
        runs=tuple(_joined([Run(start=one.start, text=one.text) for one in excerpt.spans])),
    )


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Return runs with those joined that touch."""
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1].start + len(joined[-1].text) == run.start:
            run = Run(start=joined[-1].start, text=joined.pop().text + run.text)  # noqa: PLW2901
        joined.append(run)
    return joined

"""Sources of the second round of an answer, which looks for the missing part of the first one.

Rules:
    Sources of the second search get the numbers after those of the first search. Text that the
    model has read already is not added again.
    The second call also gets the sources that statements of the first answer quote, or all
    sources if there is no answer yet, up to half of the token budget. They keep their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.core.extraction.render import SEPARATOR, render_segments
from spanwise.filters import read_filter

if TYPE_CHECKING:
    from spanwise.answers.answer_sources import AnswerSources, Source
    from spanwise.core.answers.drafts import Draft
    from spanwise.types import AnswerCitation, Citation

_KEPT_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Evidence and answer of the rounds so far."""

    evidence: AnswerSources
    """Sources of all rounds, and the context of the last call."""
    draft: Draft
    """Answer of the model."""
    warnings: tuple[str, ...] = ()
    """Messages about calls that failed."""
    rounds: int = 1
    """Number of searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSources:
    """Sources of the first round that the model reads again."""

    indices: tuple[int, ...] = ()
    """Positions of the sources, ascending."""
    tokens: int = 0
    """Upper bound of their tokens in the context."""


def kept_sources(
    first: Round,
    citations: Sequence[AnswerCitation],
    *,
    count_tokens: Callable[[str], int],
    budget_tokens: int,
) -> KeptSources:
    """Return the sources of the first round that the model reads again.

    Args:
        first: The first round.
        citations: Citations of its answer.
        count_tokens: Function that counts the tokens of a text.
        budget_tokens: Token budget of the second call.
    """
    quoted = [cited.citation for cited in citations if cited.citation is not None]
    indices: list[int] = []
    tokens = 0
    for index, source in enumerate(first.evidence.sources):
        if first.draft.answered and not any(_contains(source, citation) for citation in quoted):
            continue
        length = count_tokens(_render([source], [index]) + SEPARATOR)
        if tokens + length <= budget_tokens * _KEPT_SHARE:
            indices.append(index)
            tokens += length
    return KeptSources(indices=tuple(indices), tokens=tokens)


def second_evidence(first: AnswerSources, found: AnswerSources, kept: KeptSources) -> AnswerSources:
    """Return the evidence of both rounds, with the context of the second call.

    Args:
        first: Evidence of the first round.
        found: Result of the second search.
        kept: Sources of the first round that are in the context.
    """
    new = [source for source in found.sources if not _is_known(source, first.sources)]
    sources = (*first.sources, *new)
    shown = [*kept.indices, *range(len(first.sources), len(sources))]
    return replace(
        first,
        sources=sources,
        context=_render([sources[index] for index in shown], shown),
        shown=tuple(shown),
        queries=tuple(dict.fromkeys((*first.queries, *found.queries))),
        warnings=tuple(dict.fromkeys((*first.warnings, *found.search_warnings))),
        search_warnings=tuple(dict.fromkeys((*first.search_warnings, *found.search_warnings))),
        usage=first.usage + found.usage,
        where=_either(first.where, found.where),
    )


def _render(sources: Sequence[Source], indices: Sequence[int]) -> str:
    return render_segments(
        [source.text for source in sources],
        citations=[source.citation for source in sources],
        headers=[source.header for source in sources],
        also_in=[source.also_in for source in sources],
        numbers=[index + 1 for index in indices],
    )


def _is_known(source: Source, known: Sequence[Source]) -> bool:
    """Return whether all text of a source is in known sources of its document."""
    ranges = [
        (span.start, span.start + len(span.text))
        for other in known
        if _document(other.citation) == _document(source.citation)
        for span in other.spans
    ]
    return all(
        any(start <= span.start and span.start + len(span.text) <= end for start, end in ranges)
        for span in source.spans
    )


def _contains(source: Source, citation: Citation) -> bool:
    return _document(source.citation) == _document(citation) and any(
        span.start <= citation.start and citation.end <= span.start + len(span.text)
        for span in source.spans
    )


def _document(citation: Citation) -> tuple[str, str]:
    return citation.knowledge_base, citation.document_id


def _either(first: str, second: str) -> str:
    """Return a filter that documents pass if they pass one of two filters, in text form."""
    one, other = read_filter(first), read_filter(second)
    if one is None or other is None:
        return ""
    return first if first == second else str(one | other)

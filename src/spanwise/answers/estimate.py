"""Upper bound of the usage of an answer, without calling a language model.

Rules:
    The queries and the answer of a model are unknown, and so are the results of the search. Each
    search is therefore assumed to fill its token budget.
    If all outputs are cached, the question is answered from the cache, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.core.extraction.render import render_segments
from spanwise.models.dry_run import dry_run_caller
from spanwise.types import (
    Answer,
    Citation,
    Excerpt,
    ExcerptResult,
    ExcerptSpan,
    SearchResult,
    Segment,
    Usage,
)

if TYPE_CHECKING:
    from spanwise.answers.answerer import Answerer
    from spanwise.models.ports import LanguageModel
    from spanwise.options import AnswerOptions
    from spanwise.types import WrittenQueries
    from spanwise.types.output_cache import OutputCache


class AnswerEstimate(NamedTuple):
    """Upper bound of the usage of one answer."""

    usage: Usage
    """Maximum usage of language models."""
    answer: Answer | None
    """Answer from the cache; None if the question needs a call."""


def estimate_answer(
    answerer: Answerer,
    question: str,
    *,
    llm: LanguageModel,
    cache: OutputCache,
    answer_retries: int = 1,
) -> AnswerEstimate:
    """Return an upper bound of the usage of language models for one answer.

    Args:
        answerer: Answerer of the question; its caller is not used.
        question: The question.
        llm: Model whose calls are estimated.
        cache: Cache of earlier outputs.
        answer_retries: Maximum number of repeated requests for an unusable answer.

    Raises:
        SpanwiseError: As `Answerer.answer`, for a question that would fail before any call.
    """

    def estimating(**changes: Any) -> tuple[Answerer, Callable[[], Usage]]:
        """Return an answerer that makes no call, and a function that returns its usage."""
        dry_run = partial(dry_run_caller, cache=cache, answer_retries=answer_retries)
        caller, other = dry_run(llm), answerer.query_caller
        queries = None if other is None else dry_run(other.model)
        changed = replace(answerer, caller=caller, query_caller=queries, **changes)
        return changed, lambda: caller.usage + (Usage() if queries is None else queries.usage)

    full, usage = estimating(search=FullSearch(options=answerer.options), is_estimate=True)
    full.answer(question)
    if usage().cached_calls:
        cached, cached_usage = estimating()
        answer = cached.answer(question)
        if not cached_usage().calls:
            return AnswerEstimate(cached_usage(), answer)
    return AnswerEstimate(usage(), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSearch:
    """Search whose result fills the token budget with one word; it reads no document."""

    options: AnswerOptions

    def __call__(
        self, queries: WrittenQueries, *, budget_tokens: int
    ) -> SearchResult | ExcerptResult:
        """Return a result with as many tokens as the options allow."""
        options = self.options
        if not options.excerpts:
            text = " word" * budget_tokens
            segment = Segment(
                document_id="",
                start=0,
                end=len(text),
                first_chunk=0,
                last_chunk=1,
                text=text,
                header="",
                tokens=budget_tokens,
                relevance=1.0,
                value=1.0,
                rank=0,
                citation=_citation(text),
            )
            return SearchResult(
                question=queries.standalone,
                queries=(queries.standalone, *queries.more_queries),
                segments=(segment,),
                context=render_segments([text], citations=[segment.citation]),
                tokens=budget_tokens,
                budget_tokens=budget_tokens,
                candidates=1,
            )
        excerpts = (_excerpt(options.excerpt_tokens),) * options.excerpts
        return ExcerptResult(
            question=queries.standalone,
            queries=(queries.standalone, *queries.more_queries),
            excerpts=excerpts,
            context="",
            tokens=options.excerpts * options.excerpt_tokens,
            excerpt_tokens=options.excerpt_tokens,
            candidates=1,
        )


def _citation(text: str) -> Citation:
    return Citation(document_id="", title="", start=0, end=len(text))


def _excerpt(tokens: int) -> Excerpt:
    text = " word" * tokens
    span = ExcerptSpan(
        start=0, end=len(text), text=text, is_evidence=True, relevance=1.0, citation=_citation(text)
    )
    return Excerpt(
        document_id="",
        title="",
        spans=(span,),
        text=text,
        header="",
        tokens=tokens,
        relevance=1.0,
        value=1.0,
        is_whole=False,
        citation=_citation(text),
    )

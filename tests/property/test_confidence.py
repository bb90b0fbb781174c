"""Laws of the relevances that a result shows: one scale, best first, never above the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from spanwise.types import SearchResult

_TOPICS = {
    "freight": "Freight by barge cost less than by rail, so the margin of the mill rose. ",
    "notice": "Either party may end the agreement by notice of thirty days to the other party. ",
    "tides": "The range of the tides is greatest at full moon and at new moon in the bay. ",
    "tax": "The company paid a tax of three percent on the sales of the year 2018. ",
    "other": "Nothing in this paragraph concerns anything that a reader may want to know. ",
}
_PARAGRAPHS = st.lists(st.sampled_from(sorted(_TOPICS)), min_size=1, max_size=4)
_WORDS = st.sampled_from(
    "freight margin barge notice party tides moon range tax sales 2018 kangaroo volcano".split()
)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=5).map(" ".join)
_METHODS = st.sampled_from(["exact", "greedy"])


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    """A knowledge base with topics far apart in several documents, so that there are segments."""
    with KnowledgeBase(":memory:", tokenizer="chars:4") as made:
        order = [*_TOPICS, *reversed(_TOPICS)]
        for number in range(3):
            topics = order[number:] + order[:number]
            parts = [
                part
                for topic in topics
                for part in (_TOPICS[topic] * (1 + (number + len(topic)) % 3), _TOPICS["other"] * 5)
            ]
            made.add_text("\n\n".join(parts), document_id=f"d{number}")
        yield made


def _check_order(result: SearchResult) -> None:
    """Check the relevances of the segments of a result."""
    best_first = sorted(result.segments, key=lambda segment: segment.rank)
    relevances = [segment.relevance for segment in best_first]
    assert relevances == sorted(relevances, reverse=True)
    for segment in result.segments:
        assert 0 <= max(segment.relevances) <= segment.relevance <= 1


@settings(max_examples=25, deadline=None)
@given(
    question=_QUESTIONS,
    queries=st.lists(_QUESTIONS, max_size=2),
    method=_METHODS,
    budget=st.sampled_from([300, 1_000, 4_000]),
)
def test_the_relevances_of_segments_never_increase_with_the_rank(
    base: KnowledgeBase,
    question: str,
    queries: list[str],
    method: Literal["exact", "greedy"],
    budget: int,
) -> None:
    try:
        result = base.search(question, more_queries=queries, method=method, budget_tokens=budget)
    except OptionError:  # the budget holds no chunk
        return
    _check_order(result)
    firsts = dict.fromkeys(segment.document_id for segment in result.segments)
    best = [
        min(segment.rank for segment in result.segments if segment.document_id == document)
        for document in firsts
    ]
    assert best == sorted(best)


@settings(max_examples=12, deadline=None)
@given(question=_QUESTIONS, excerpts=st.integers(1, 4), tokens=st.sampled_from([200, 800]))
def test_the_relevances_of_excerpts_never_increase(
    base: KnowledgeBase, question: str, excerpts: int, tokens: int
) -> None:
    try:
        result = base.excerpts(question, excerpts=excerpts, excerpt_tokens=tokens)
    except OptionError:  # an excerpt holds no chunk
        return
    assert all(a.relevance >= b.relevance for a, b in pairwise(result.excerpts))
    for excerpt in result.excerpts:
        assert 0 <= max(span.relevance for span in excerpt.spans) <= excerpt.relevance <= 1


@settings(max_examples=12, deadline=None)
@given(question=_QUESTIONS, method=_METHODS)
def test_an_explanation_shows_the_relevances_of_the_result(
    base: KnowledgeBase, question: str, method: Literal["exact", "greedy"]
) -> None:
    explanation = base.explain(question, method=method, budget_tokens=4_000)
    result = explanation.result
    _check_order(result)
    shown = {
        (document.document_id, run.start + at): relevance
        for document in explanation.documents
        for run in document.runs
        for at, relevance in enumerate(run.relevances)
    }
    assert all(0 <= relevance <= 1 for relevance in shown.values())
    for segment in result.segments:
        places = range(segment.first_chunk, segment.last_chunk)
        bars = tuple(shown[segment.document_id, place] for place in places)
        assert bars == segment.relevances
    for candidate in explanation.candidates:
        assert candidate.relevance == shown[candidate.document_id, candidate.chunk]


@settings(max_examples=12, deadline=None)
@given(question=_QUESTIONS)
def test_no_number_is_above_the_probability_of_an_answer(
    base: KnowledgeBase, question: str
) -> None:
    explanation, excerpts = base.explain(question), base.excerpts(question)
    numbers = [candidate.relevance for candidate in explanation.candidates]
    numbers += [segment.relevance for segment in explanation.result.segments]
    numbers += [excerpt.relevance for excerpt in excerpts.excerpts]
    assert max(numbers, default=0.0) <= explanation.result.evidence

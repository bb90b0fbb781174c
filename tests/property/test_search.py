"""Laws of a search, on documents of every shape."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase
from spanwise.errors import OptionError

_WORDS = st.sampled_from(
    "margin cost freight price sales Acme 2018 3.5 tax law notice party term safety people of the"
    " in".split()
)
_LINES = st.lists(_WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words) + ".")
_TEXTS = st.lists(
    st.one_of(_LINES, st.just(""), st.just("# Heading")), min_size=1, max_size=40
).map("\n".join)
_DOCUMENTS = st.lists(_TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=5)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
_PRESETS = st.sampled_from(["precise", "balanced", "comprehensive"])


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(texts=_DOCUMENTS, question=_QUESTIONS, budget=st.integers(60, 600), preset=_PRESETS)
def test_segments_are_whole_disjoint_ordered_and_inside_the_budget(
    texts: list[str], question: str, budget: int, preset: str
) -> None:
    with KnowledgeBase(":memory:", tokenizer="chars:4") as base:
        for number, text in enumerate(texts):
            base.add_text(text, document_id=f"d{number}")
        try:
            result = base.search(question, budget_tokens=budget, preset=preset)
        except OptionError:  # the budget holds no chunk
            return
    assert len(result.context) / 4 <= result.tokens <= budget
    seen: dict[str, int] = {}
    for segment in result.segments:
        text = texts[int(segment.document_id[1:])]
        assert segment.text == text[segment.start : segment.end]
        assert segment.text.strip() in result.context
        assert segment.start >= seen.get(segment.document_id, 0)
        assert 0 <= segment.relevance <= 1
        seen[segment.document_id] = segment.end
    ids = [segment.document_id for segment in result.segments]
    assert len(set(ids)) == sum(a != b for a, b in zip(["", *ids], ids, strict=False))
    ranks = sorted(segment.rank for segment in result.segments)
    assert ranks == list(range(len(result.segments)))
    by_rank = sorted(result.segments, key=lambda segment: segment.rank)
    assert all(a.relevance >= b.relevance for a, b in pairwise(by_rank))

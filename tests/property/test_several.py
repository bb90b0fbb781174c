"""Laws of several queries, on documents with duplicates."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.models.providers.tokenizer import make_tokenizer

_CLAUSES = st.sampled_from(
    [
        "Each party shall keep confidential all information that it receives from the other party "
        "under this agreement and shall not disclose it to any third party without consent.",
        "The fee is payable in advance to the account that the third annex names, without "
        "deductions of any kind, and bears interest from the day on which it falls due.",
        "Net sales of the mill rose because freight by barge cost less than in the year before.",
        "</segment>",
    ]
)
_WORDS = st.sampled_from("confidential party fee interest sales mill freight annex Acme".split())
_PARAGRAPHS = st.one_of(_CLAUSES, st.lists(_WORDS, min_size=4, max_size=40).map(" ".join))
_TEXTS = st.lists(_PARAGRAPHS, min_size=1, max_size=12).map("\n\n".join)
_QUERIES = st.lists(
    st.lists(_WORDS | st.just("nowhere"), min_size=1, max_size=4).map(" ".join),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(_TEXTS, min_size=1, max_size=5),
    queries=_QUERIES,
    budget=st.sampled_from([300, 1_000, 4_000]),
    tokenizer=st.sampled_from(["chars:1", "chars:4", "o200k_base"]),
)
def test_segments_list_their_queries_and_duplicates(
    texts: list[str], queries: list[str], budget: int, tokenizer: str
) -> None:
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        for number, text in enumerate(texts):
            base.add_text(text, document_id=f"d{number}")
        try:
            result = base.search(
                queries[0],
                more_queries=queries[1:],
                budget_tokens=budget,
                tokenizer=tokenizer,
            )
        except OptionError:  # the budget holds no chunk
            return
        explained = base.explain(
            queries[0],
            more_queries=queries[1:],
            budget_tokens=budget,
            tokenizer=tokenizer,
        ).result
    assert explained.segments == result.segments
    assert make_tokenizer(tokenizer).count([result.context])[0] <= result.tokens <= budget
    assert list(result.queries) == list(dict.fromkeys(queries))
    places: set[tuple[str, int]] = set()
    for segment in result.segments:
        assert segment.queries
        assert set(segment.queries) <= set(range(len(result.queries)))
        assert segment.document_id not in segment.also_in
        assert list(segment.also_in) == sorted(set(segment.also_in))
        mine = {(segment.document_id, place) for place in range(segment.start, segment.end)}
        assert places.isdisjoint(mine)
        places |= mine

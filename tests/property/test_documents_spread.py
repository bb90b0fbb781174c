"""Laws of a search for documents, on documents of every shape."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase, SearchOptions
from spanwise.errors import OptionError

_WORDS = st.sampled_from(
    "insurance party audit law notice price term safety of the in 2018".split()
)
_LINES = st.lists(_WORDS, min_size=1, max_size=30).map(lambda words: " ".join(words) + ".\n")
_TEXTS = st.lists(_LINES, min_size=1, max_size=30).map("\n".join)


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(_TEXTS, min_size=1, max_size=6),
    question=st.lists(_WORDS, min_size=1, max_size=4).map(" ".join),
    budget=st.integers(30, 600),
    most=st.integers(1, 8),
    headers=st.booleans(),
)
def test_a_document_has_one_segment_and_the_best_documents_come_first(
    texts: list[str], question: str, budget: int, most: int, headers: bool
) -> None:
    options = SearchOptions(
        budget_tokens=budget, max_documents=most, headers=headers, spread="documents"
    )
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        for number, text in enumerate(texts):
            base.add_text(text, document_id=f"d{number}")
        try:
            result = base.search(question, options=options)
        except OptionError:  # no place fits into the budget with its header
            return
    ids = [segment.document_id for segment in result.segments]
    assert len(ids) == len(set(ids)) <= most
    relevances = [segment.relevance for segment in result.segments]
    assert relevances == sorted(relevances, reverse=True)
    assert [segment.rank for segment in result.segments] == list(range(len(ids)))
    assert all(max(s.relevances) == s.relevance <= result.evidence for s in result.segments)
    assert result.tokens <= budget
    if result.documents is not None:
        assert len(ids) == result.documents.shown
        assert result.weak_evidence or len(ids) <= result.documents.found
        assert not result.weak_evidence or not result.documents.found
        assert result.documents.found <= result.documents.searched <= len(texts)

"""Laws of the assessed evidence of a search."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase

_WORDS = st.sampled_from(
    "margin cost freight price sales Acme 2018 3.5 tax law notice summarize document the of zebra"
    " kangaroo volcano".split()
)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        made.add_text("Freight cost rose.\n\nThe price of sales fell in 2018.", document_id="a")
        made.add_text("Notice under the law of Acme: tax 3.5.", document_id="b")
        yield made


@settings(max_examples=60, deadline=None)
@given(question=_QUESTIONS, other=_QUESTIONS)
def test_evidence_is_a_chance_and_a_further_query_never_lowers_it(
    base: KnowledgeBase, question: str, other: str
) -> None:
    alone = base.search(question)
    assert 0 <= alone.evidence <= 1
    assert alone.weak_evidence or not alone.not_found
    assert alone.not_found == (alone.best_guess is not None)
    both = base.search(question, more_queries=[other])
    assert both.evidence == max(alone.evidence, base.search(other).evidence)


@settings(max_examples=30, deadline=None)
@given(question=_QUESTIONS)
def test_abstaining_does_not_change_the_segments(base: KnowledgeBase, question: str) -> None:
    shown, asked = base.search(question), base.search(question, abstain=True)
    assert (shown.evidence, shown.weak_evidence) == (asked.evidence, asked.weak_evidence)
    if not asked.not_found:
        assert asked.segments == shown.segments

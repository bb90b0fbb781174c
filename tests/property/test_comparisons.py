"""Laws of the reading of compared things."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase

_COMPANIES = ("Aldera", "Birchwood Foods", "Cedarline", "Dogwood", "3M", "Elmstone Street")
_PHRASINGS = (
    "{list}: dividend",
    "Compare the dividend of {list}",
    "Which of {list} pays a dividend?",
    "How do {list} differ in their dividend?",
    "dividend {list}",
    "What do {list} say about their dividend?",
)
_JOINTS = (", ", " and ", " vs ", " versus ", " or ", " & ", "/")
_CASES: tuple[Callable[[str], str], ...] = (str, str.lower)
_WORDS = st.sampled_from(
    "Aldera's Aldera Cedarline 3M the of and , in or vs 2018 2021 dividend Dogwood Street ? both "
    "compare Birchwood Foods Zephyrion".split()
)


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        for company in _COMPANIES:
            for year in (2018, 2021):
                text = f"{company} paid a dividend in {year}. The plants of {company} are old."
                made.add_text(text, document_id=f"{company} {year}", title=f"{company} {year}")
        yield made


@settings(max_examples=60, deadline=None)
@given(
    companies=st.lists(st.sampled_from(_COMPANIES), min_size=2, max_size=4, unique=True),
    phrasing=st.sampled_from(_PHRASINGS),
    joint=st.sampled_from(_JOINTS),
    case=st.sampled_from(_CASES),
)
def test_each_listed_company_has_a_place_whatever_the_phrasing(
    base: KnowledgeBase, companies: list[str], phrasing: str, joint: str, case: Callable[[str], str]
) -> None:
    result = base.search(case(phrasing.format(list=joint.join(companies))))
    shown = {segment.document_id.rsplit(" ", 1)[0] for segment in result.segments}
    assert shown == set(companies)
    assert len(result.queries) == 1 + len(companies)


@settings(max_examples=100, deadline=None)
@given(words=st.lists(_WORDS, min_size=1, max_size=9))
def test_each_segment_is_about_a_query_with_its_document(
    base: KnowledgeBase, words: list[str]
) -> None:
    question = " ".join(words)
    if not any(character.isalnum() for character in question):
        return
    result = base.search(question)
    assert result.queries[0] == question
    for segment in result.segments:
        assert all(0 <= number < len(result.queries) for number in segment.queries)
        assert (0 in segment.queries) == (len(result.queries) == 1)

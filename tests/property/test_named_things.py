"""Laws of the warnings about missing names, years and matters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase

_TEXT = (
    "Aldera sold wafers to Borealis Foods in 2019. Ms Quillon of the zLab in Nordstadt said that "
    "FY2016 was worse than 2007. The KX-40 and Ostrava's plant cost 3.5 million."
)
_TITLE = "Aldera annual report 2019"
_HELD = st.lists(st.sampled_from(_TEXT.replace(".", " ").split()), min_size=1, max_size=8)
_MISSING = st.sampled_from(["Zephyrion", "Mount Xanthe", "1901", "qTablet"])


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        made.add_text(_TEXT, document_id="aldera_2019_10k", title=_TITLE)
        yield made


def missing(base: KnowledgeBase, question: str) -> list[str]:
    """Return the warnings, without the one about the missing embedder."""
    return [warning for warning in base.search(question).warnings if "embedder" not in warning]


@settings(max_examples=150, deadline=None)
@given(words=_HELD)
def test_a_question_of_words_of_the_shown_text_has_no_warning(
    base: KnowledgeBase, words: list[str]
) -> None:
    assert missing(base, " ".join(words)) == []


@settings(max_examples=100, deadline=None)
@given(words=_HELD)
def test_a_question_in_lower_case_has_no_warning_about_a_name(
    base: KnowledgeBase, words: list[str]
) -> None:
    assert missing(base, f"what did zephyrion pay for {' '.join(words).lower()}?") == []


@settings(max_examples=50, deadline=None)
@given(thing=_MISSING)
def test_the_only_missing_thing_is_named(base: KnowledgeBase, thing: str) -> None:
    (warning,) = missing(base, f"What did Aldera sell to {thing}?")
    assert thing in warning

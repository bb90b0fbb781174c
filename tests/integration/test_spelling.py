"""A misspelt word of a question is searched in its correct spelling."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase
from spanwise.core.ranking.question import read_question
from spanwise.knowledge_base.internals import store_of
from spanwise.search.question_limits import read_questions
from spanwise.stores.port import Searchable

TEXTS = {
    "english": "The harbour authority spends money on the environment and on new cranes. " * 5,
    "german": "Die Gewährleistung endet nach zwei Jahren, sagt der Vertrag der Werft. " * 5,
    "chinese": "合同规定了不可抗力条款。" * 5,
}
MISSPELT = ("enviroment", "environnment", "gewährleistug", "habour", "cranky")
WORDS = (*MISSPELT, *TEXTS["english"].split(), "和平", "2024")


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as made:
        for name, text in TEXTS.items():
            made.add_text(text, document_id=name)
        made.add_text(
            "Nothing else is said here. " * 9, document_id="other", title="The Enviromint"
        )
        yield made


@pytest.fixture(scope="module")
def searchable(base: KnowledgeBase) -> Iterator[Searchable]:
    with store_of(base).snapshot() as snapshot:
        yield snapshot


def mended(text: str, searchable: Searchable) -> list[tuple[str, str]]:
    """Return the corrections of a question."""
    (question,) = read_questions([text], searchable)
    return [(correction.word, correction.found) for correction in question.corrections]


@pytest.mark.parametrize(
    ("question", "corrections"),
    [
        ("money for the enviroment", [("enviroment", "environment")]),
        ("Wann endet die Gewährleistug?", [("Gewährleistug", "gewährleistung")]),
        ("money for the environment", []),
        ("a cranky harbour", []),
        ("the enviromint", []),  # a title contains it
        ("合同规定了什么", []),
        ("the amount of 1,234 in 2O24", []),
    ],
)
def test_only_misspelt_words_are_mended(
    searchable: Searchable, question: str, corrections: list[tuple[str, str]]
) -> None:
    assert mended(question, searchable) == corrections


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_each_form_of_a_mended_question_has_one_term(
    searchable: Searchable, words: list[str]
) -> None:
    text = " ".join(words)
    plain = read_question(text, languages=searchable.languages())
    (mended_question,) = read_questions([text], searchable)
    forms, _ = mended_question.forms()
    assert len(forms) == len(set(forms))
    assert mended_question.terms == plain.terms
    assert set(plain.forms()[0]) <= set(forms)


def test_the_result_says_which_words_were_mended(base: KnowledgeBase) -> None:
    """In searches, excerpts and explanations alike, also for additional queries."""
    result = base.search("What does the enviroment get?")
    assert {segment.document_id for segment in result.segments} == {"english"}
    (warning,) = [text for text in result.warnings if "enviroment" in text]
    assert '"environment"' in warning
    assert warning in base.excerpts("What does the enviroment get?").warnings
    assert warning in base.explain("What does the enviroment get?").result.warnings
    assert warning in base.search("harbour", more_queries=["the enviroment"]).warnings
    assert not any("harbour" in text for text in base.search("the harbour").warnings)

"""Words of a text that match words of a question."""

from __future__ import annotations

import pytest
from tests.explanations import filled_base

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.search.explanation import QuestionWord
from spanwise.search.explanation.word_forms import WordForm, word_forms
from spanwise.types import SimilarMatch


def forms(text: str, *words: QuestionWord, languages: tuple[str, ...] = ("en",)) -> object:
    return word_forms([text], words, languages=languages)


def test_other_forms_of_a_word_are_the_same_word() -> None:
    margin = QuestionWord(word="margins", terms=("margin",))
    same = WordForm(word="margins", similarity=None)
    assert forms("The Margin and MARGINS fell.", margin) == {"margin": same, "margins": same}


def test_a_similar_word_is_told_from_the_word_itself() -> None:
    similar = SimilarMatch(question_word="cellar", word="basement", similarity=0.614)
    cellar = QuestionWord(word="cellar", terms=("cellar",), similar=(similar,))
    assert forms("Two basements, one cellar, no attic.", cellar) == {
        "basements": WordForm(word="cellar", similarity=0.61),
        "cellar": WordForm(word="cellar", similarity=None),
    }


def test_the_more_similar_of_two_words_is_named() -> None:
    near = SimilarMatch(question_word="doctor", word="nurse", similarity=0.7)
    far = SimilarMatch(question_word="teacher", word="nurse", similarity=0.5)
    doctor = QuestionWord(word="doctor", terms=("doctor",), similar=(near,))
    teacher = QuestionWord(word="teacher", terms=("teacher",), similar=(far,))
    assert forms("A nurse.", teacher, doctor) == {"nurse": WordForm(word="doctor", similarity=0.7)}


def test_pairs_of_letters_match_in_a_script_without_spaces() -> None:
    revenue = QuestionWord(word="営業利益", terms=("利益",))
    found = word_forms(["当期の営業利益は増えた"], [revenue], languages=("ja",))
    assert found["利益"] == WordForm(word="営業利益", similarity=None)


def test_a_text_without_words_of_the_question_has_no_forms() -> None:
    assert forms("Nothing here.", QuestionWord(word="margin", terms=("margin",))) == {}
    assert forms("", QuestionWord(word="margin", terms=("margin",))) == {}


def test_an_explanation_names_the_words_of_its_question() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            "# House\n\nThe basements were flooded, and the doctor lent a boat.",
            document_id="house.md",
            media_type="text/markdown",
        )
        found = base.explain("Which physician helped when it was flooding?")
    words = {word.word: word for word in found.words}
    assert set(words) == {"physician", "helped", "flooding"}
    assert words["flooding"].terms == ("flood",)
    assert [match.word for match in words["physician"].similar] == ["doctor"]
    assert found.languages == ("en",)


def test_a_comparison_reduces_the_charge() -> None:
    with filled_base() as base:
        options = SegmentOptions(segment_charge=0.03)
        plain = base.explain("Why did the margin fall?", segment_options=options).terms
        compared = base.explain("Compare the margin across reports", segment_options=options).terms
    assert (plain.charge_factor, plain.segment_charge) == (1, 0.03)
    assert compared.charge_factor < 1
    assert compared.segment_charge == pytest.approx(0.03 * compared.charge_factor)

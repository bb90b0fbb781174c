"""Laws of terms, in every language."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.question import read_question
from spanwise.core.text.language_traits import FUNCTION_WORDS
from spanwise.core.text.languages import detect_language, question_language
from spanwise.core.text.terms import STEMMERS, text_terms, word_terms, words

LANGUAGES = st.sampled_from(["", "ja", "th", "zh", *STEMMERS])
LETTERS = st.sampled_from(
    "aZéßİIıøłÅ1٢२9.,_-'’ \n\u0301\u0323\u200c\u200dـَُکيكתםּसािँ์ที่กขあﾊﾟパ々한ᄒ收入𠀀ﬁﷺＡ①²ǅΣσς"
)
TEXTS = st.text(st.one_of(LETTERS, st.characters(exclude_categories=["Cs"])), max_size=40)


@settings(max_examples=150)
@given(TEXTS, LANGUAGES)
def test_no_term_is_empty(text: str, language: str) -> None:
    assert all(text_terms(text, language=language))


@settings(max_examples=150)
@given(TEXTS, LANGUAGES)
def test_a_language_changes_stems_and_never_their_number(text: str, language: str) -> None:
    for word in words(text):
        assert len(word_terms(word, language=language)) == len(word_terms(word))


@settings(max_examples=100)
@given(TEXTS, LANGUAGES)
def test_the_terms_of_a_text_are_those_of_its_runs(text: str, language: str) -> None:
    """The index takes a text run by run of characters without white space."""
    runs = [term for run in text.split() for term in text_terms(run, language=language)]
    assert text_terms(text, language=language) == runs


@settings(max_examples=100)
@given(TEXTS)
def test_words_are_parts_of_the_text_in_order(text: str) -> None:
    place = 0
    for word in words(text):
        place = text.index(word, place) + len(word)


@settings(max_examples=100)
@given(st.text(st.characters(categories=["L"]), max_size=20), LANGUAGES)
def test_decomposed_letters_give_the_same_terms(text: str, language: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert text_terms(composed, language=language) == text_terms(decomposed, language=language)


@settings(max_examples=60)
@given(TEXTS, st.lists(LANGUAGES, max_size=4))
def test_forms_of_a_question_are_the_terms_of_its_words(text: str, languages: list[str]) -> None:
    question = read_question(text, languages=languages)
    forms, places = question.forms()
    assert len(set(forms)) == len(forms)
    assert forms[: len(question.terms)] == question.terms
    assert not places or len(places) == len(forms)
    known = {
        term
        for name in languages or [""]
        for w in words(text)
        for term in word_terms(w, language=name)
    }
    assert known.issuperset(forms)
    assert question.uses.keys() == set(question.terms)


@settings(max_examples=100)
@given(TEXTS)
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert detect_language(text) in {"", "ja", "ko", "th", "zh", *FUNCTION_WORDS}
    assert question_language(text, ["de", "ru"]) in {"de", "en", "ru"}

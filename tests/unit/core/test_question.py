"""Analysis of a question."""

import unicodedata

import numpy as np
import pytest

from spanwise.core.ranking.abstention import is_assessable
from spanwise.core.ranking.question import informative_terms, read_question


def test_terms_are_distinct_and_in_order() -> None:
    assert read_question("Margin of 3M: margins?").terms == ("margin", "3m", "3", "m")


def test_a_question_without_words_has_no_terms() -> None:
    assert read_question("?!").terms == ()


def test_words_that_a_title_contains_are_omitted() -> None:
    question = read_question("What was the revenue of Acme in 2020?")
    assert question.without(frozenset({"acm"})) == "What was the revenue of in 2020"


def test_a_title_without_a_word_of_the_question_changes_nothing() -> None:
    assert read_question("What was the revenue?").without(frozenset({"acm"})) is None


def test_a_title_with_all_words_of_the_question_leaves_it_whole() -> None:
    assert read_question("Acme revenue").without(frozenset({"acm", "revenu"})) is None


@pytest.mark.parametrize(
    "question",
    [
        "How have Apple's net sales changed over time?",
        "Compare the gross margins of 3M and Apple.",
        "How does spending stack up against prior quarters?",
        "Which of these agreements may be assigned?",
    ],
)
def test_questions_that_compare_documents_are_known(question: str) -> None:
    assert read_question(question).compares


@pytest.mark.parametrize(
    "question", ["What drove the change in gross margin?", "Who may terminate the agreement?"]
)
def test_other_questions_are_no_comparisons(question: str) -> None:
    assert not read_question(question).compares


def test_the_most_informative_terms_are_rare_or_repeated() -> None:
    question = read_question("common rare common unknown often often often often")
    assert question.terms == ("common", "rare", "unknown", "often")
    chosen = informative_terms(question, np.array([0.1, 5.0, 0.0, 3.0]), limit=2)
    assert chosen == ("rare", "often")


def test_ties_go_to_the_earlier_term() -> None:
    assert informative_terms(read_question("x y z"), np.ones(3), limit=2) == ("x", "y")


def test_a_word_is_one_term_in_all_languages_of_the_documents() -> None:
    question = read_question("Informationen der Regierung", languages=("de", "en", "zh"))
    assert question.terms == ("informationen", "regierung")
    assert question.forms() == (
        ("informationen", "regierung", "information", "regier"),
        (0, 1, 0, 1),
    )


def test_a_form_that_two_words_share_makes_them_one_term() -> None:
    question = read_question("Häuser haus", languages=("de", "en"))
    assert question.terms == ("häuser",)
    assert question.uses == {"häuser": 2}
    assert read_question("haus Häuser", languages=("de", "en")).terms == ("haus",)


def test_documents_in_english_alone_leave_one_form_to_a_word() -> None:
    for languages in ((), ("",), ("en",), ("", "en"), ("vi", "zh")):
        question = read_question("What drove gross margins in 2021?", languages=languages)
        assert question == read_question("What drove gross margins in 2021?")
        assert question.forms() == (("drove", "gross", "margin", "2021"), ())


def test_a_question_is_read_in_its_own_language() -> None:
    question = read_question("Wie viele Werke hat die Firma?", languages=("de",))
    assert question.terms == ("werk", "firma")
    assert question.asks_number


@pytest.mark.parametrize(
    ("question", "terms", "forms"),
    [
        ("the R&D costs", ("research", "develop", "cost"), {"research": ("r",), "develop": ("d",)}),
        ("G & A costs", ("general", "administr", "cost"), {"general": ("g",)}),
        ("opex", ("oper", "expens"), {"oper": ("opex",)}),
        ("R. D. Smith and SG&A", ("r", "d", "smith", "sg"), {}),
        ("A&B", ("b",), {}),
    ],
)
def test_a_known_abbreviation_is_searched_by_its_words(
    question: str, terms: tuple[str, ...], forms: dict[str, tuple[str, ...]]
) -> None:
    found = read_question(question, languages=("en",))
    assert (found.terms, found.other_forms) == (terms, forms)


def test_words_that_are_omitted_count_where_they_are_repeated() -> None:
    assert read_question("owned by its own").uses["own"] == 2


def test_letters_typed_in_two_parts_are_the_same_letters() -> None:
    asked = "Für welche Verträge haftet die Gesellschaft über das Jahr hinaus?"
    whole = read_question(asked, languages=["de"])
    apart = read_question(unicodedata.normalize("NFD", asked), languages=["de"])
    assert apart.terms == whole.terms
    assert is_assessable(apart)
    assert apart.text == unicodedata.normalize("NFD", asked)

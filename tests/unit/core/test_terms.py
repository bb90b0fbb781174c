"""Terms: what the index counts and what a question is matched by."""

import pytest

from spanwise.core.terms import content_words, is_number_question, text_terms, word_terms


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("margins", ("margin",)),
        ("FY2018", ("fy2018", "fy", "2018")),
        ("DiffExecutor", ("diffexecutor", "diff", "executor")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("1,577.0", ("1,577.0",)),
        ("2018", ("2018",)),
        ("Company", ("compani",)),
        ("黑豹队", ("黑豹", "豹队")),
        ("中", ("中",)),
        ("Überraschungen", ("überraschungen",)),
        ("PDF黑豹", ("pdf", "黑豹")),
    ],
)
def test_a_word_gives_its_stem_and_the_stems_of_its_parts(
    word: str, terms: tuple[str, ...]
) -> None:
    assert word_terms(word) == terms


def test_a_long_run_of_data_is_known_by_its_first_characters() -> None:
    assert word_terms("a" * 500) == word_terms("a" * 64)


def test_a_text_gives_all_its_terms_in_order() -> None:
    assert text_terms("Margins fell; margins rose.") == ["margin", "fell", "margin", "rose"]


def test_a_question_drops_its_stop_words() -> None:
    assert content_words("What drove the change in margin?") == ["drove", "change", "margin"]


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert content_words("To be or not to be?") == ["To", "be", "or", "not", "to", "be"]


@pytest.mark.parametrize("question", ["How much was paid?", "net margin in 2019", "Is it $5?"])
def test_questions_for_numbers_are_known(question: str) -> None:
    assert is_number_question(question)


def test_other_questions_ask_for_no_number() -> None:
    assert not is_number_question("Who signed the contract?")

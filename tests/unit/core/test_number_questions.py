"""Whether a question asks for a number, in its language."""

import pytest

from spanwise.core.ranking.question import is_number_question


@pytest.mark.parametrize("question", ["How much was paid?", "net margin in 2019", "Is it $5?"])
def test_questions_for_numbers_are_known(question: str) -> None:
    assert is_number_question(question)


def test_other_questions_ask_for_no_number() -> None:
    assert not is_number_question("Who signed the contract?")


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Wie viele Punkte gab die Mannschaft ab?"),
        ("fr", "Combien de clients la société a-t-elle ?"),
        ("ru", "Сколько стоила покупка?"),
        ("en", "黑豹队的防守丢了多少分？"),
        ("en", "売上高はいくらですか"),
        ("es", "¿Qué % de las ventas?"),
    ],
)
def test_they_are_known_in_other_languages(language: str, question: str) -> None:
    assert is_number_question(question, language=language)


def test_words_of_one_language_do_not_count_in_another() -> None:
    assert not is_number_question("Was war in viel zu kleinen Kisten?", language="fr")
    assert not is_number_question("Wer hat unterschrieben?", language="de")

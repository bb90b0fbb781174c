"""Stems by language."""

import pytest
import Stemmer

from spanwise.core.text.terms import STEMMERS, stem, stem_language


def stem_one(word: str, language: str) -> str:
    (found,) = stem([word], language=language)
    return found


def test_every_stemmer_is_there() -> None:
    """The English and Dutch variants of Porter alone are left aside."""
    assert sorted(STEMMERS.values()) == sorted(
        set(Stemmer.algorithms()) - {"porter", "dutch_porter"}
    )


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("ar", ("الكتاب", "كِتَاب", "كتابـــ")),
        ("de", ("Häuser", "Haus", "häusern", "haeuser")),
        ("de", ("Straße", "STRASSE", "Strassen")),
        ("el", ("λόγος", "ΛΌΓΟΣ", "λόγοι")),
        ("es", ("información", "INFORMACIÓN", "informaciones", "informacion")),
        ("fa", ("کتاب‌ها", "کتاب", "كتاب")),
        ("fr", ("société", "Sociétés", "societe")),
        ("hi", ("किताबें", "किताब")),
        ("pl", ("książki", "książka", "ksiazki")),
        ("ru", ("компании", "компания", "КОМПАНИЮ")),
        ("sr", ("књиге", "knjige")),
        ("tr", ("kitapları", "kitap", "KİTAPLAR")),
        ("tr", ("IBM", "ibm")),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: tuple[str, ...]) -> None:
    assert len({stem_one(form, language) for form in forms}) == 1


def test_letters_that_differ_are_kept_apart_where_they_make_words() -> None:
    assert stem_one("för", "sv") != stem_one("for", "sv")


def test_latin_words_in_other_scripts_are_english() -> None:
    assert stem_one("margins", "ru") == stem_one("margins", "ar") == "margin"


def test_a_language_without_stemmer_is_treated_as_english() -> None:
    assert stem_language("vi") == stem_language("") == "en"
    assert stem_one("Margins", "vi") == "margin"


@pytest.mark.parametrize(("language", "word"), [("el", "Ήσε"), ("ne", "को"), ("ta", "ற்ற்க")])
def test_no_word_is_without_a_stem(language: str, word: str) -> None:
    assert Stemmer.Stemmer(STEMMERS[language]).stemWord(word.lower()) in ("", word.lower())
    assert stem_one(word, language) == word.lower()

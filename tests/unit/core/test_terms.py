"""Terms of the keyword index."""

import re
import unicodedata

import pytest

from spanwise.core.text.terms import MARKS, content_words, text_terms, word_terms, words


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
def test_a_compound_word_yields_its_stem_and_those_of_its_parts(
    word: str, terms: tuple[str, ...]
) -> None:
    assert word_terms(word) == terms


def test_a_long_run_of_data_is_known_by_its_first_characters() -> None:
    assert word_terms("a" * 500) == word_terms("a" * 64)


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("ar", "كِتَابٌ الكتاب كتـــاب ٢٠٢١", ["كتاب", "كتاب", "كتاب", "2021"]),
        ("de", "Umsätze der Häuser", ["umsatz", "der", "haus"]),
        ("el", "ΛΌΓΟΣ λόγοι", ["λογ", "λογ"]),
        ("es", "Ventas de la compañía", ["vent", "de", "la", "compan"]),
        ("fa", "کتاب‌ها", ["کتاب"]),
        ("he", "סֵפֶר ספר", ["ספר", "ספר"]),
        ("hi", "किताबें २०२१", ["किताब", "2021"]),
        ("ja", "売上高は時々ﾊﾟﾝ", ["売上", "上高", "高は", "は時", "時々", "々パ", "パン"]),
        ("ko", "매출은 증가", ["매출", "출은", "증가"]),
        ("km", "កម្ពុជា", ["កម្", "ម្ពុ", "ពុជា"]),
        ("ru", "Компании компанию", ["компан", "компан"]),
        ("th", "ที่นี่", ["ที่นี่"]),
        ("th", "รายได้ปี 2564", ["รา", "าย", "ยไ", "ได้", "ด้ปี", "2564"]),
        ("tr", "Kitapları İSTANBUL", ["kitap", "istanbul"]),
        ("zh", "收入ＡＢＣ增长", ["收入", "abc", "增长"]),
    ],
)
def test_words_of_other_languages_are_whole(language: str, text: str, terms: list[str]) -> None:
    assert text_terms(text, language=language) == terms


@pytest.mark.parametrize("word", ["café", "한국어", "کتاب", "हिन्दी", "Ünited", "ｱ", "ﬁnance"])
def test_one_way_to_write_a_letter(word: str) -> None:
    decomposed = unicodedata.normalize("NFD", word)
    assert words(decomposed) == [decomposed]
    assert word_terms(decomposed) == word_terms(word)
    assert word_terms(unicodedata.normalize("NFKC", word)) == word_terms(word)


def test_signs_on_digits_belong_to_no_word() -> None:
    assert text_terms("1\ufe0f\u20e3 2") == ["1", "2"]


def test_marks_without_a_letter_are_no_term() -> None:
    assert word_terms("ـ") == ()
    assert text_terms("ـ ـ") == []


def test_long_text_without_spaces_is_read_to_its_end() -> None:
    assert text_terms("收" * 80 + "入")[-1] == "收入"


def test_capitals_with_accents_are_one_word() -> None:
    assert word_terms("ÜBERSICHT", language="de") == ("ubersicht",)


def test_all_terms_of_a_text_are_in_order() -> None:
    assert text_terms("Margins fell; margins rose.") == ["margin", "fell", "margin", "rose"]


def test_a_question_drops_its_stop_words() -> None:
    assert content_words("What drove the change in margin?") == ["drove", "change", "margin"]


def test_a_question_drops_the_stop_words_of_its_language() -> None:
    assert content_words("Wie hoch war der Umsatz?", language="de") == ["hoch", "Umsatz"]
    assert content_words("रिपोर्ट में क्या है", language="hi") == ["रिपोर्ट"]


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert content_words("To be or not to be?") == ["To", "be", "or", "not", "to", "be"]


def test_marks_are_the_combining_marks_of_letters() -> None:
    """All characters up to U+FE00 are tried; the module skips ranges without marks."""
    pattern = re.compile(f"[{MARKS}]")
    found = [character for character in map(chr, range(0xFE00)) if pattern.match(character)]
    assert found == [
        character
        for character in map(chr, range(0xFE00))
        if unicodedata.category(character) in ("Mn", "Mc") and not "\u20d0" <= character <= "\u20ff"
    ]

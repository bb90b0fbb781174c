"""Reading quoted phrases and finding the chunks that hold them."""

from __future__ import annotations

import time

import pytest

from spanwise.core.ranking.phrases import phrase_runs, read_phrases


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('What is "gross margin"?', ["gross margin"]),
        ("What is “gross margin”?", ["gross margin"]),
        ("Was ist die „grobe Fahrlässigkeit“?", ["grobe Fahrlässigkeit"]),
        ("Qu'est-ce que « force majeure » ?", ["force majeure"]),
        ("「不可抗力」とは何ですか", ["不可抗力"]),
        ('哪里提到"不可抗力"条款?', ["不可抗力"]),
        ('"cost" and "price" and "Cost"', ["cost", "price"]),
        ('Does a 6" pipe cost more than an 8" pipe?', []),
        ('ארה"ב וצה"ל', []),
        ("the so-called 'margin'", []),
        ('an open " quote', []),
        ('"" and "..."', []),
    ],
)
def test_phrases_are_read_from_double_quotes(question: str, phrases: list[str]) -> None:
    assert [phrase.text for phrase in read_phrases(question)] == phrases


@pytest.mark.parametrize(
    ("phrase", "text", "holds"),
    [
        ("gross margin", "The GROSS\nMargin fell.", True),
        ("gross margin", "the gross, margin", True),
        ("gross margin", "gross profit margin", False),
        ("gross margin", "margin gross", False),
        ("margin", "margins", False),
        ("grobe Fahrlässigkeit", "Grobe\nFahrlässigkeit", True),
        ("STRASSE", "die Straße", True),
        ("不可抗力", "因不可\n抗力而", True),
        ("不可抗力", "不可能抗力", False),
        ("不可抗力", "不可。抗力", False),
    ],
)
def test_case_and_gaps_are_ignored_and_words_are_not(phrase: str, text: str, holds: bool) -> None:
    (read,) = read_phrases(f'"{phrase}"')
    assert phrase_runs(read, [[text]]).tolist() == [holds]


def test_a_phrase_over_the_end_of_a_chunk_is_held_by_both_chunks() -> None:
    (phrase,) = read_phrases('"written notice"')
    held = phrase_runs(phrase, [["Notice. ", "It needs a written ", "notice. ", "Signed."]])
    assert held.tolist() == [False, True, True, False]


def test_the_time_of_a_comparison_grows_with_the_text_and_not_with_the_phrase() -> None:
    (phrase,) = read_phrases('"' + "alpha " * 1_300 + 'beta"')
    text = "alpha " * 60_000
    started = time.process_time()
    assert not phrase_runs(phrase, [[text]]).any()
    assert phrase_runs(phrase, [[text + "beta"]]).all()
    assert time.process_time() - started < 2


def test_the_time_of_a_comparison_grows_with_a_long_run_of_short_words() -> None:
    (phrase,) = read_phrases('"1.5 a"')
    started = time.process_time()
    assert phrase_runs(phrase, [["1.5a," * 40_000]]).all()
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("phrase", "texts", "held"),
    [
        ("a b a", ["a b ", "a b ", "a b"], [True, True, True]),
        ("b a b", ["a b a ", "x b ", "a b"], [False, True, True]),
        ("ab", ["a b ", "ab"], [False, True]),
        ("不可不可抗", ["不可", "不可不可", "抗"], [False, True, True]),
        ("a", ["", "b a", ""], [False, True, False]),
    ],
)
def test_occurrences_may_overlap_and_begin_and_end_in_any_chunk(
    phrase: str, texts: list[str], held: list[bool]
) -> None:
    (read,) = read_phrases(f'"{phrase}"')
    assert phrase_runs(read, [texts]).tolist() == held

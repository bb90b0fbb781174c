"""Words that are similar by meaning or spelling: selection, order and limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.core.ranking.similar_words import (
    SimilarWord,
    listed_words,
    most_similar,
    nearest_spellings,
    searched_word,
)
from spanwise.core.text.terms import term_words, text_terms

TEXT = """The leases of DiffExecutor in FY2018 were 1,577.0, e.g. naïve Straße; 3M, iPhone手机套
収益 is up. कार्य สวัสดี a\u0301b می‌روم Iİ 2018annual x"""


@pytest.mark.parametrize("language", ["", "en", "de", "tr", "fa", "zh"])
def test_the_terms_of_words_are_those_of_the_text(language: str) -> None:
    pairs = term_words(TEXT, language=language)
    assert [term for term, _ in pairs] == text_terms(TEXT, language=language)
    assert all(word == "" or (word.isalpha() and word == word.lower()) for _, word in pairs)


def test_the_parts_of_a_compound_are_words() -> None:
    words = {word for _, word in listed_words(term_words("DiffExecutor FY2018 iPhone手机 of 12"))}
    assert words == {"diffexecutor", "diff", "executor", "iphone", "phone"}


@pytest.mark.parametrize(
    ("word", "searched"),
    [
        ("Lease", "lease"),
        ("e\u0301tage", "étage"),
        ("FY2018", ""),
        ("of", ""),
        ("", ""),
        ("1.5", ""),
    ],
)
def test_only_words_of_letters_are_searched(word: str, searched: str) -> None:
    assert searched_word(word) == searched


def similar(cosines: Sequence[float], entries: Sequence[tuple[str, str]]) -> list[SimilarWord]:
    values = np.array(cosines, dtype=np.float32)
    return list(most_similar(values, entries.__getitem__, word="own", terms={"mine"}))


def test_a_term_counts_once_with_its_most_similar_word() -> None:
    entries = [("car", "cars"), ("car", "car"), ("own", "own"), ("mine", "x"), ("far", "far")]
    assert similar([0.5, 0.75, 1, 1, 0.25], entries) == [SimilarWord("car", "car", 0.75)]
    assert similar([0.5, 0.5, 1, 1, 0.2], entries) == [SimilarWord("car", "car", 0.5)]


def test_ties_go_to_the_shorter_word_then_by_alphabet() -> None:
    entries = [("a", "zz"), ("b", "bbb"), ("c", "aaa"), ("d", "yyyy")]
    assert [found.word for found in similar([0.5, 0.5, 0.5, 0.75], entries)] == [
        "yyyy",
        "zz",
        "aaa",
        "bbb",
    ]


@pytest.mark.parametrize("forms", [1, 5, 100])
def test_many_words_of_few_terms_do_not_hide_the_others(forms: int) -> None:
    """The best 32 terms are found, however many words the first ones have."""
    entries = [(f"t{t:02}", f"t{t:02}" + "x" * form) for t in range(40) for form in range(forms)]
    cosines = [0.9 - t / 100 - form / 100_000 for t in range(40) for form in range(forms)]
    found = similar(cosines, entries)
    assert [word.term for word in found] == [f"t{t:02}" for t in range(32)]
    assert all(word.word == word.term for word in found)


def spell(words: Sequence[str], listed: Sequence[str], **counts: int) -> list[str | None]:
    def count_chunks(terms: Sequence[str]) -> NDArray[np.int64]:
        return np.array([counts.get(term, 1) for term in terms], dtype=np.int64)

    found = nearest_spellings(words, listed, listed, count_chunks=count_chunks)
    return [None if word is None else word.word for word in found]


def test_longer_words_may_differ_by_more_edits() -> None:
    listed = ["lease", "dividends", "abc"]
    assert spell(["laese", "leaes", "lase", "les"], listed) == ["lease", "lease", "lease", None]
    assert spell(["lseae", "dviidedns", "dviidednx"], listed) == [None, "dividends", None]
    assert spell(["abd", "FY2018", "", "Lease"], listed) == [None, None, None, "lease"]
    assert spell(["lease"], []) == [None]


def test_of_equally_near_words_the_most_frequent_is_found() -> None:
    listed = ["lease", "leave", "leaves"]
    assert spell(["leaxe"], listed) == ["lease"]
    assert spell(["leaxe"], listed, leave=2) == ["leave"]
    assert spell(["leavs"], listed, leave=9) == ["leave"]


def test_the_similarity_of_a_spelling_is_one_less_the_share_of_edits() -> None:
    (found,) = nearest_spellings(
        ["laese"], ["leas"], ["lease"], count_chunks=lambda terms: np.ones(len(terms), np.int64)
    )
    assert found == SimilarWord("lease", "leas", 1 - 1 / 5)

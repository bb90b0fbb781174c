"""Truncation of a text to a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.text.sentences import truncate


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def letters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def test_a_text_that_fits_is_whole() -> None:
    assert truncate("one two three\n", max_tokens=3, count_tokens=words) == "one two three\n"


def test_a_longer_one_ends_at_white_space() -> None:
    assert truncate("one two three four", max_tokens=11, count_tokens=letters) == "one two"
    assert truncate("one\ntwo three", max_tokens=4, count_tokens=letters) == "one"


def test_text_without_white_space_is_cut_anywhere() -> None:
    assert truncate("abcdefghij", max_tokens=4, count_tokens=letters) == "abcd"


@given(st.text(max_size=300), st.integers(1, 50))
def test_no_more_tokens_are_given_than_are_wanted(text: str, most: int) -> None:
    found = truncate(text, max_tokens=most, count_tokens=letters)
    assert text.startswith(found)
    assert len(found) <= most
    assert found or not text or text[:1].isspace()

"""Counting tokens."""

import pytest

from spanwise.errors import OptionError
from spanwise.models.providers.tokenizer import make_tokenizer


def test_a_vocabulary_counts_as_its_models_do() -> None:
    assert make_tokenizer("o200k_base").count(["hello world", "", "Überraschung"]) == [2, 0, 3]
    assert make_tokenizer("gpt-4").name == "cl100k_base"


def test_characters_are_rounded_up() -> None:
    assert make_tokenizer("chars:4").count(["", "a", "abcd", "abcde"]) == [0, 1, 1, 2]


def test_a_long_text_is_counted_in_pieces() -> None:
    text = "word " * 60_000
    assert make_tokenizer("o200k_base").count([text])[0] == pytest.approx(60_000, rel=0.01)


@pytest.mark.parametrize("name", ["", "chars:0.5", "chars:", "bert"])
def test_an_unknown_tokenizer_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"tokenizer is|at least 1 character"):
        make_tokenizer(name)

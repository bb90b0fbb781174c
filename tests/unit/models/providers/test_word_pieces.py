"""Token ids of a few words, computed without the library that reads the tokenizer's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.models.providers import wordllama
from spanwise.models.providers.word_pieces import piece_ids, read_vocabulary
from spanwise.models.providers.wordllama import WordLlama, count_pieces, find_wordllama

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenizers import Tokenizer

_PACKAGE = find_wordllama()
if _PACKAGE is None:  # it has no wheel for this platform
    pytest.skip("the package wordllama is not installed", allow_module_level=True)
_FILE = Path(_PACKAGE, "tokenizers", "l2_supercat_tokenizer_config.json")
_PAGES = Path(__file__).resolve().parents[4] / "docs"


@pytest.fixture(scope="module")
def vocabulary() -> Mapping[str, int]:
    return read_vocabulary(_FILE.read_bytes())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(_FILE))


def library_ids(tokenizer: Tokenizer, words: list[str]) -> list[list[int]]:
    """Return the ids of words according to the library."""
    encodings = tokenizer.encode_batch_fast(words, add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def test_words_of_pages_have_the_ids_of_the_library(
    vocabulary: Mapping[str, int], tokenizer: Tokenizer
) -> None:
    pages = "\n".join(path.read_text("utf-8") for path in sorted(_PAGES.glob("*.md")))
    words = [word for word in sorted(set(pages.split())) if piece_ids([word], vocabulary)]
    assert len(words) > 10_000
    assert piece_ids(words, vocabulary) == library_ids(tokenizer, words)


@given(st.lists(st.text("aabeilnorstäéß0129.-'/Вое中の▁<s>\U0001f600", min_size=1), min_size=1))
def test_any_words_have_the_ids_of_the_library_or_none(
    vocabulary: Mapping[str, int], tokenizer: Tokenizer, words: list[str]
) -> None:
    ids = piece_ids(words, vocabulary)
    assert ids is None or ids == library_ids(tokenizer, words)


@pytest.mark.parametrize("word", ["<s>", "a▁b", "\U0001f9ff", "long" * 11, "\ud800"])
def test_words_that_need_the_library_have_none(vocabulary: Mapping[str, int], word: str) -> None:
    assert piece_ids(["plain", word], vocabulary) is None


def test_a_few_words_have_the_same_vectors_with_and_without_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["Why", "did", "margins", "fall?", "Teleologically,", "x1,577.0"]
    wordllama._read_tokenizer.cache_clear()
    alone, counts = WordLlama().sum_tokens(words), count_pieces(words)
    assert not wordllama._read_tokenizer.cache_info().currsize, "the library was not needed"
    monkeypatch.setattr(wordllama, "_FEW_WORDS", 0)
    assert np.array_equal(alone, WordLlama().sum_tokens(words))
    assert counts == count_pieces(words)
    assert wordllama._read_tokenizer.cache_info().currsize

"""The static embedder, read from the files of an installed package."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.errors import OptionError, StoreError
from spanwise.models.providers import wordllama
from spanwise.models.providers.wordllama import WordLlama, find_wordllama
from spanwise.options import ModelOptions

FOLDER = find_wordllama() or Path()
if Path() == FOLDER:  # it has no wheel for this platform
    pytest.skip("the package wordllama is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def embedder() -> WordLlama:
    return WordLlama()


def cosine(embedder: WordLlama, first: str, second: str) -> float:
    a, b = embedder.embed([first, second])
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_texts_of_like_meaning_lie_closer(embedder: WordLlama) -> None:
    near = cosine(embedder, "The company paid dividends.", "Shareholders received a payout.")
    far = cosine(embedder, "The company paid dividends.", "Boil the potatoes until soft.")
    assert near > far + 0.1


def test_a_vector_is_the_sum_of_its_words(embedder: WordLlama) -> None:
    whole, first, second = embedder.embed(["gross margin", "gross", "margin"])
    assert np.allclose(whole, first + second, atol=1e-5)


def test_white_space_makes_no_difference(embedder: WordLlama) -> None:
    one, two = embedder.embed(["gross margin", "  gross \n\n margin "])
    assert np.array_equal(one, two)


def test_an_empty_text_has_no_direction(embedder: WordLlama) -> None:
    assert not embedder.embed(["", " \n"]).any()


def test_one_text_and_many_give_the_same_bits(embedder: WordLlama) -> None:
    texts = [f"text number {at} about margins and costs" for at in range(100)]
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_words_get_the_sums_of_their_own_tokens(embedder: WordLlama) -> None:
    words = ["margins", "Bruttomarge", "売上総利益", "<s>", "a</s>b", "<unk>", "\u2581", "x\u2581y"]
    words += ["0123456789abcdef\U0001f600", "gross-margin,"]
    weights = wordllama._read_weights(FOLDER / wordllama._WEIGHTS)
    tokenizer = wordllama._read_tokenizer(FOLDER / wordllama._TOKENIZER)
    for word, total in zip(words, embedder.sum_tokens(words), strict=True):
        ids = tokenizer.encode(word, add_special_tokens=False).ids
        tokens = weights[ids].astype(np.float32)
        assert np.array_equal(total, np.add.reduceat(tokens, [0], axis=0)[0]), word


def test_a_text_that_cannot_be_tokenized_spoils_no_other(embedder: WordLlama) -> None:
    expected = embedder.embed(["gross novelword"])
    model = WordLlama()
    with pytest.raises(TypeError):
        model.embed(["gross novelword", "margin \ud800"])
    assert np.array_equal(model.embed(["gross novelword"]), expected)


def test_a_full_cache_keeps_the_words_that_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "_MAX_WORDS", 8)
    texts = [f"gross margin {at} of {at + 100} and {at + 200}" for at in range(12)]
    expected = WordLlama().embed(texts)
    learned: list[str] = []
    model = WordLlama()
    sums = model.sum_tokens

    def counted(words: Sequence[str]) -> NDArray[np.float32]:
        learned.extend(words)
        return sums(words)

    monkeypatch.setattr(model, "sum_tokens", counted)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.array_equal(alone, expected)
    assert learned.count("margin") == 1
    assert len(model._words) <= 8 + 6


def test_float16_numbers_keep_their_value() -> None:
    finite = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = finite[np.isfinite(finite)]
    expected = finite.astype(np.float32)
    assert wordllama._as_float32(finite).tobytes() == expected.tobytes()


def test_no_texts_give_no_vectors(embedder: WordLlama) -> None:
    assert embedder.embed([]).shape == (0, 256)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"something else")
    with pytest.raises(StoreError, match="not the expected file"):
        WordLlama(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        WordLlama(tmp_path)


def test_another_model_is_refused() -> None:
    with pytest.raises(OptionError, match="must be 'wordllama:l2-supercat-256'"):
        WordLlama.of_name("wordllama:large", ModelOptions())

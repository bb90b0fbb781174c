"""Word lists of index parts: construction, merge, damage, and stores without word vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.similar_words import SimilarWord
from spanwise.models import word_vectors
from spanwise.models.word_vectors import quantise_words
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.part import WordLists, open_part
from spanwise.stores.words import build_words, merge_words
from spanwise.testing.store_entries import SETTINGS, make_entry

DOCUMENTS: Sequence[set[tuple[str, str]]] = (
    {("leas", "lease"), ("leas", "leases"), ("rent", "rent")},
    set(),
    {("straß", "straße"), ("leas", "leases")},
    {("rent", "rent"), ("car", "cars")},
)


def arrays(words: WordLists) -> list[object]:
    """Return the arrays of word lists as comparable values."""
    named = (words.texts, words.vectors, words.scales, words.entries, words.ends)
    return [(array.dtype, array.tolist()) for array in named]


def test_a_list_does_not_depend_on_the_order_of_words() -> None:
    backwards = [sorted(words, reverse=True) for words in DOCUMENTS]
    assert arrays(build_words(backwards)) == arrays(build_words([sorted(w) for w in DOCUMENTS]))


@pytest.mark.parametrize("split", [0, 1, 2, 4])
@pytest.mark.parametrize("dropped", [(), (0,), (1, 3), (0, 1, 2, 3)])
def test_a_merge_equals_a_list_of_the_kept_documents(split: int, dropped: Sequence[int]) -> None:
    is_kept = np.array([index not in dropped for index in range(len(DOCUMENTS))])
    merged = merge_words(
        [
            (build_words(DOCUMENTS[:split]), is_kept[:split]),
            (build_words(DOCUMENTS[split:]), is_kept[split:]),
        ]
    )
    kept = [words for words, keep in zip(DOCUMENTS, is_kept, strict=True) if keep]
    assert arrays(merged) == arrays(build_words(kept))


def write_store(path: Path) -> None:
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
        store.put_document(make_entry("a", ["The automobile. ", "The cars, and profits."]))
        store.put_document(make_entry("b", ["Earnings of the landlord."]))


def find(store: EmbeddedStore) -> tuple[tuple[tuple[SimilarWord, ...], ...], SimilarWord | None]:
    with store.snapshot() as snapshot:
        (nearest,) = snapshot.similar_spellings(["lanldord"])
        return snapshot.similar_words([1, 2], ["car", "profit"]), nearest


def test_words_of_similar_meaning_are_found(tmp_path: Path) -> None:
    if not word_vectors.word_vectors_version():
        pytest.skip("there are no word vectors without wordllama")
    write_store(tmp_path / "a.kb")
    with closing(open_embedded(tmp_path / "a.kb")) as store, store.snapshot() as snapshot:
        car, profit = snapshot.similar_words([1, 2], ["car", "profit"])
        assert (car[0].word, profit[0].word) == ("automobile", "earnings")
        assert all(found.term not in ("car", "profit") for found in (*car, *profit))
        assert snapshot.similar_words([1], ["profit"]) == ((),), "words of the given document only"


def test_damaged_word_vectors_are_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.kb"
    write_store(path)
    (file,) = (path / "index").glob("*.part")
    part = open_part(file)
    if not part.words.vectors.size:
        pytest.skip("there are no word vectors without wordllama")
    with closing(open_embedded(path)) as store:
        expected = find(store)
    data = bytearray(file.read_bytes())
    data[data.find(part.words.vectors.tobytes()) + 3] ^= 1
    file.write_bytes(data)
    with caplog.at_level(logging.WARNING, "spanwise"), closing(open_embedded(path)) as store:
        assert find(store) == expected
    assert "damaged" in caplog.text


@pytest.fixture
def no_wordllama(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide the package `wordllama`."""
    word_vectors.word_vectors_version.cache_clear()
    monkeypatch.setattr(word_vectors, "find_wordllama", lambda: None)
    yield
    word_vectors.word_vectors_version.cache_clear()


@pytest.mark.usefixtures("no_wordllama")
def test_without_word_vectors_only_spellings_are_found(tmp_path: Path) -> None:
    assert quantise_words(["lease"])[0].shape == (1, 0)
    write_store(tmp_path / "a.kb")
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        similar, nearest = find(store)
        assert similar == ((), ())
        assert nearest is not None
        assert nearest.word == "landlord"


def test_an_index_without_word_vectors_is_rebuilt_when_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(tmp_path / "a.kb")
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        expected = find(store)
    word_vectors.word_vectors_version.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(word_vectors, "find_wordllama", lambda: None)
        with closing(open_embedded(tmp_path / "a.kb")) as store:
            assert find(store)[0] == ((), ())
            store.compact()
    word_vectors.word_vectors_version.cache_clear()
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        assert find(store) == expected

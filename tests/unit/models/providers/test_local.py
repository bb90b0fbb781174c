"""Models that run in this process: what their libraries are asked, and how they fail.

The libraries stand in by modules with their interface: they need models that must be downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase
from spanwise.errors import ModelError, OptionError
from spanwise.models.embed_caller import is_contextual
from spanwise.models.registry import make_embedder, make_reranker
from spanwise.options import ModelOptions
from spanwise.testing.rerankers import check_reranker

OPTIONS = ModelOptions()
Rows = NDArray[np.float32]


def rows(texts: Iterable[str], side: float) -> Rows:
    return np.array([[len(text), text.count("margin"), side] for text in texts], dtype=np.float32)


class TextEmbedding:
    embedding_size = 3

    def __init__(self, model_name: str) -> None:
        if model_name != "small":
            raise ValueError(f"Model {model_name} is not supported in TextEmbedding.")

    def passage_embed(self, texts: Iterable[str]) -> Iterator[Rows]:
        yield from rows(texts, 1)

    def query_embed(self, query: Iterable[str]) -> Iterator[Rows]:
        yield from rows(query, 2)


class TextCrossEncoder:
    def __init__(self, model_name: str) -> None:
        pass

    def rerank(self, query: str, documents: Iterable[str]) -> Iterator[float]:
        yield from (float(text.count("margin")) for text in documents)


class SentenceTransformer:
    def __init__(self, name: str, *, model_kwargs: Mapping[str, object]) -> None:
        assert model_kwargs == {"use_safetensors": True}

    def get_embedding_dimension(self) -> int:
        return 3

    def encode_document(
        self, texts: Sequence[str], *, show_progress_bar: bool, convert_to_numpy: bool
    ) -> Rows:
        return rows(texts, 1)

    def encode_query(
        self, texts: Sequence[str], *, show_progress_bar: bool, convert_to_numpy: bool
    ) -> Rows:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        return rows(texts, 2)


class Config:
    architectures: Sequence[str] | None = ("BertForSequenceClassification",)


class CrossEncoder:
    def __init__(self, name: str, *, model_kwargs: Mapping[str, object]) -> None:
        assert model_kwargs == {"use_safetensors": True}
        self.name = name
        self.config = Config()
        if name == "embedder":
            self.config.architectures = ("BertModel",)

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, show_progress_bar: bool
    ) -> NDArray[np.float32]:
        if self.name == "several":
            return np.ones((len(pairs), 3), dtype=np.float32)
        return np.array([text.count("margin") for _, text in pairs], dtype=np.float32)


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    def module(name: str, *classes: type) -> None:
        made = ModuleType(name)
        for one in classes:
            setattr(made, one.__name__, one)
        monkeypatch.setitem(sys.modules, name, made)

    module("fastembed", TextEmbedding)
    module("fastembed.rerank", TextEmbedding)
    module("fastembed.rerank.cross_encoder", TextCrossEncoder)
    module("sentence_transformers", SentenceTransformer, CrossEncoder)


@pytest.mark.parametrize("name", ["fastembed:small", "sentence-transformers:small"])
def test_both_sides_of_a_search_are_embedded_each_its_way(name: str) -> None:
    embedder = make_embedder(name, options=OPTIONS)
    assert is_contextual(embedder)
    assert embedder.is_local
    assert (embedder.name, embedder.dimension) == (name, 3)
    for kind, side in (("document", 1), ("query", 2)):
        reply = embedder.embed_texts(["a margin", "b"], kind=kind)  # type: ignore[arg-type]
        assert np.array_equal(reply.vectors, rows(["a margin", "b"], side))
        assert reply.usage.calls == 1


@pytest.mark.parametrize("name", ["fastembed:small", "sentence-transformers:small"])
def test_a_knowledge_base_is_searched_by_it(name: str) -> None:
    with KnowledgeBase(":memory:", embedder=name) as base:
        base.add_text("The margin fell. " * 50, document_id="a")
        result = base.search("Why did the margin fall?")
    assert result.segments
    assert result.usage.cost == 0.0


@pytest.mark.parametrize("name", ["fastembed:small", "sentence-transformers:small"])
def test_a_cross_encoder_keeps_what_rerankers_promise(name: str) -> None:
    check_reranker(make_reranker(name, options=OPTIONS))


def test_a_model_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(ModelError, match="fastembed:huge cannot be loaded: Model huge is not"):
        make_embedder("fastembed:huge", options=OPTIONS)


def test_a_library_that_fails_is_told() -> None:
    embedder = make_embedder("sentence-transformers:small", options=OPTIONS)
    assert is_contextual(embedder)
    with pytest.raises(ModelError, match="sentence-transformers:small failed: RuntimeError: out"):
        embedder.embed_texts(["fail"], kind="query")


def test_an_embedder_is_refused_as_a_reranker() -> None:
    with pytest.raises(ModelError, match="it is not a reranker: its files contain only BertModel"):
        make_reranker("sentence-transformers:embedder", options=OPTIONS)


def test_a_model_of_several_scores_a_text_is_told() -> None:
    reranker = make_reranker("sentence-transformers:several", options=OPTIONS)
    with pytest.raises(ModelError, match="sentence-transformers:several failed: TypeError"):
        reranker.rerank("why", ["a", "b"])


@pytest.mark.parametrize("library", ["fastembed", "sentence-transformers"])
def test_a_library_that_is_not_installed_says_how(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fastembed", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionError, match=rf"pip install 'spanwise\[{library}\]'"):
        make_embedder(f"{library}:small", options=OPTIONS)


@pytest.mark.parametrize("name", ["fastembed", "sentence-transformers:"])
def test_a_model_must_be_named(name: str) -> None:
    with pytest.raises(OptionError, match="MODEL"):
        make_reranker(name, options=OPTIONS)

"""Embedders and cross-encoders of the library fastembed, which runs ONNX files without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.models.providers.local_model import LocalEmbedder, LocalReranker, load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.options import ModelOptions


def make_embedder(name: str, _options: ModelOptions) -> LocalEmbedder:
    """Return an embedder by name, such as "fastembed:BAAI/bge-small-en-v1.5".

    Raises:
        OptionError: If fastembed is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _embedder(name, model))


def make_reranker(name: str, _options: ModelOptions) -> LocalReranker:
    """Return a cross-encoder by name, such as "fastembed:Xenova/ms-marco-MiniLM-L-6-v2".

    Raises:
        OptionError: If fastembed is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _reranker(name, model))


def _embedder(name: str, model: str) -> LocalEmbedder:
    from fastembed import TextEmbedding

    library = TextEmbedding(model)

    def documents(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(list(library.passage_embed(texts)))

    def queries(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(list(library.query_embed(texts)))

    return LocalEmbedder(
        name, dimension=library.embedding_size, embed_documents=documents, embed_queries=queries
    )


def _reranker(name: str, model: str) -> LocalReranker:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    encoder = TextCrossEncoder(model)
    return LocalReranker(name, score=lambda query, texts: list(encoder.rerank(query, texts)))

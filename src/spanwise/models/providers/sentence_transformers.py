"""Embedders and cross-encoders of the library sentence-transformers, which runs them with torch.

Only weights in the safetensors format are loaded, and no code of a model repository is executed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spanwise.models.providers.local_model import LocalEmbedder, LocalReranker, load

if TYPE_CHECKING:
    from spanwise.options import ModelOptions


_SAFE_WEIGHTS = {"use_safetensors": True}


def make_embedder(name: str, _options: ModelOptions) -> LocalEmbedder:
    """Return an embedder by name, such as "sentence-transformers:all-MiniLM-L6-v2".

    Raises:
        OptionError: If sentence-transformers is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _embedder(name, model))


def make_reranker(name: str, _options: ModelOptions) -> LocalReranker:
    """Return a cross-encoder by name, such as "sentence-transformers:cross-encoder/NAME".

    Raises:
        OptionError: If sentence-transformers is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _reranker(name, model))


def _embedder(name: str, model: str) -> LocalEmbedder:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, model_kwargs=_SAFE_WEIGHTS)
    quiet = {"show_progress_bar": False, "convert_to_numpy": True}
    return LocalEmbedder(
        name,
        dimension=encoder.get_embedding_dimension(),
        # Documents and queries get the prompts that the model was trained with.
        embed_documents=partial(encoder.encode_document, **quiet),
        embed_queries=partial(encoder.encode_query, **quiet),
    )


def _reranker(name: str, model: str) -> LocalReranker:
    from sentence_transformers import CrossEncoder

    encoder = CrossEncoder(model, model_kwargs=_SAFE_WEIGHTS)
    kinds = encoder.config.architectures or []
    if any(kind.endswith("Model") for kind in kinds):
        # The library would add a random output layer and only log a warning.
        raise ValueError(f"it is not a reranker: its files contain only {', '.join(kinds)}")
    return LocalReranker(
        name,
        score=lambda query, texts: encoder.predict(
            [(query, text) for text in texts], show_progress_bar=False
        ),
    )

"""sentence-transformers: every model of its kind, with torch.

Only files of the safetensors format are loaded, and no code that comes with a model is run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spanwise.models.providers.local_model import LocalEmbedder, LocalReranker, load

if TYPE_CHECKING:
    from spanwise.options import ModelOptions


_SAFE = {"use_safetensors": True}


def make_embedder(name: str, _options: ModelOptions) -> LocalEmbedder:
    """Return an embedder, such as "sentence-transformers:all-MiniLM-L6-v2".

    Raises:
        OptionError: If sentence-transformers is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _embedder(name, model))


def make_reranker(name: str, _options: ModelOptions) -> LocalReranker:
    """Return a cross-encoder, such as "sentence-transformers:cross-encoder/ms-marco-MiniLM-L6-v2".

    Raises:
        OptionError: If sentence-transformers is not installed.
        ModelError: If the model cannot be loaded.
    """
    return load(name, lambda model: _reranker(name, model))


def _embedder(name: str, model: str) -> LocalEmbedder:
    from sentence_transformers import SentenceTransformer

    found = SentenceTransformer(model, model_kwargs=_SAFE)
    quiet = {"show_progress_bar": False, "convert_to_numpy": True}
    return LocalEmbedder(
        name,
        dimension=found.get_embedding_dimension(),
        # Each side has the prompt that the model was trained with.
        embed_documents=partial(found.encode_document, **quiet),
        embed_queries=partial(found.encode_query, **quiet),
    )


def _reranker(name: str, model: str) -> LocalReranker:
    from sentence_transformers import CrossEncoder

    found = CrossEncoder(model, model_kwargs=_SAFE)
    kinds = found.config.architectures or []
    if any(kind.endswith("Model") for kind in kinds):
        # The library would put a layer of chance numbers on top, and say so in its log alone.
        raise ValueError(f"it is no reranker: its files hold {', '.join(kinds)} alone")
    return LocalReranker(
        name,
        score=lambda query, texts: found.predict(
            [(query, text) for text in texts], show_progress_bar=False
        ),
    )

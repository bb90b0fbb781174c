"""Relevance models that come with the package."""

from __future__ import annotations

from functools import cache

from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.loading import package_text
from spanwise.models.providers.catalog import MINILM

_MODELS = {MINILM: "relevance_minilm.json"}
_DEFAULT_MODEL = "relevance.json"


def shipped_model(embedder: str = "") -> RelevanceModel:
    """Return the shipped relevance model for an embedder.

    Args:
        embedder: Name of the embedder. If there is no model for it, the model of the default
            embedder is returned.
    """
    return _read_model(_MODELS.get(embedder, _DEFAULT_MODEL))


@cache
def _read_model(name: str) -> RelevanceModel:
    text = package_text("spanwise.core.ranking", name)
    return RelevanceModel.from_json(text, features=tuple(FEATURES))

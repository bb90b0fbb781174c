"""The relevance model that comes with the package."""

from __future__ import annotations

from functools import cache
from importlib import resources

from spanwise.core.features import FEATURES
from spanwise.core.relevance import RelevanceModel

__all__ = ["shipped_model"]


@cache
def shipped_model() -> RelevanceModel:
    """Return the model, which was trained with the default embedder."""
    text = resources.files("spanwise.core").joinpath("relevance.json").read_text("utf-8")
    return RelevanceModel.from_json(text, features=tuple(FEATURES))

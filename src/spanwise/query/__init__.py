"""From a question to segments."""

from spanwise.query.pipeline import Searcher
from spanwise.query.shipped import shipped_model

__all__ = ["Searcher", "shipped_model"]

"""From a question to segments."""

from spanwise.query.pipeline import Searcher, shipped_model

__all__ = ["Searcher", "shipped_model"]

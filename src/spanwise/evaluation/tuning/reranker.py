"""A reranker that is named, as a tuning uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.calls.reranking import RerankCaller
from spanwise.options import ModelOptions, RerankOptions
from spanwise.query import shipped_model
from spanwise.query.rerank import Reranking
from spanwise.registry import make_reranker

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.ports import Reranker

__all__ = ["tuned_reranking"]


def tuned_reranking(
    base: KnowledgeBase,
    reranker: str | Reranker,
    *,
    chunks: int = RerankOptions().chunks,
    models: ModelOptions | None = None,
) -> Reranking:
    """Return a reranker whose scores become a feature.

    What it says is kept in the knowledge base, so that the same is asked once.

    Args:
        base: The knowledge base.
        reranker: Name or object.
        chunks: How many candidates of each question it reads.
        models: How it is called.

    Raises:
        OptionError: If there is no such reranker.
        ModelKeyError: If there is no key for it.
    """
    if isinstance(reranker, str):
        reranker = make_reranker(reranker, options=models or ModelOptions())
    store = base.searcher(shipped_model()).store
    return Reranking(
        caller=RerankCaller(reranker=reranker, cache=store),
        options=RerankOptions(chunks=chunks),
    )

"""A reranker, as a tuning uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.calls.reranking import RerankCaller
from spanwise.options import RerankOptions
from spanwise.query import shipped_model
from spanwise.query.rerank import Reranking

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.ports import Reranker

__all__ = ["tuned_reranking"]


def tuned_reranking(
    base: KnowledgeBase, reranker: Reranker, *, chunks: int = RerankOptions().chunks
) -> Reranking:
    """Return a reranker whose scores become a feature.

    What it says is kept in the knowledge base, so that the same is asked once.

    Args:
        base: The knowledge base.
        reranker: The reranker; `paying.Purse` makes one of a name.
        chunks: How many candidates of each question it reads.
    """
    store = base.searcher(shipped_model()).store
    return Reranking(
        caller=RerankCaller(reranker=reranker, cache=store),
        options=RerankOptions(chunks=chunks),
    )

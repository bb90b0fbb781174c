"""The main classes of the public API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.knowledge_base.facade import KnowledgeBase

if TYPE_CHECKING:
    from spanwise.knowledge_base.asynchronous import AsyncKnowledgeBase

__all__ = ["AsyncKnowledgeBase", "KnowledgeBase"]


def __getattr__(name: str) -> object:
    """Import the asynchronous class when it is first used."""
    if name != "AsyncKnowledgeBase":
        raise AttributeError(f"module 'spanwise.knowledge_base' has no attribute {name!r}")
    from spanwise.knowledge_base.asynchronous import AsyncKnowledgeBase

    globals()[name] = AsyncKnowledgeBase
    return AsyncKnowledgeBase

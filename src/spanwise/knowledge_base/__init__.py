"""The main classes of the public API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.knowledge_base.facade import KnowledgeBase
from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.knowledge_base.asynchronous import AsyncKnowledgeBase

__all__ = ["AsyncKnowledgeBase", "KnowledgeBase"]

__getattr__ = lazy_names(__name__, {"AsyncKnowledgeBase": "asynchronous"})

"""The main classes of the public API."""

from spanwise.knowledge_base.asynchronous import AsyncKnowledgeBase
from spanwise.knowledge_base.facade import KnowledgeBase

__all__ = ["AsyncKnowledgeBase", "KnowledgeBase"]

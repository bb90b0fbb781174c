"""The knowledge base: what users hold."""

from spanwise.knowledge_base.base import KnowledgeBase

__all__ = ["KnowledgeBase"]

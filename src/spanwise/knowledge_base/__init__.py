"""The knowledge base: what users hold."""

from spanwise.knowledge_base.facade import KnowledgeBase

__all__ = ["KnowledgeBase"]

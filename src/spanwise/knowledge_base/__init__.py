"""The knowledge base, the main object of the library."""

from spanwise.knowledge_base.facade import KnowledgeBase

__all__ = ["KnowledgeBase"]

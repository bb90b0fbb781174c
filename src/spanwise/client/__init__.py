"""Client of a Spanwise server: a remote knowledge base with the methods of `KnowledgeBase`."""

from spanwise.client.remote import RemoteKnowledgeBase, connect

__all__ = ["RemoteKnowledgeBase", "connect"]

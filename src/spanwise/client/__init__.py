"""Client of a Spanwise server: a remote knowledge base with the methods of `KnowledgeBase`."""

from spanwise.client.asynchronous import AsyncRemoteKnowledgeBase, connect_async
from spanwise.client.jobs import RemoteIngest, RemoteJob
from spanwise.client.remote import RemoteKnowledgeBase, connect

__all__ = [
    "AsyncRemoteKnowledgeBase",
    "RemoteIngest",
    "RemoteJob",
    "RemoteKnowledgeBase",
    "connect",
    "connect_async",
]

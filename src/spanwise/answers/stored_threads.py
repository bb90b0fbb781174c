"""Stored conversations of a knowledge base."""

from __future__ import annotations

import builtins
import secrets
import time
from typing import TYPE_CHECKING

from spanwise.errors import ThreadNotFoundError

if TYPE_CHECKING:
    from spanwise.stores.port import Store
    from spanwise.types import Thread, ThreadInfo

_RANDOM_BYTES = 3  # in the id of a conversation


class Threads:
    """Stored conversations of a knowledge base. `KnowledgeBase.ask` adds turns to them."""

    def __init__(self, store: Store) -> None:
        """Provide access to the conversations of a store."""
        self._store = store

    def list(self) -> builtins.list[ThreadInfo]:
        """Return a description of each conversation, most recent turn first."""
        return self._store.list_threads()

    def get(self, thread_id: str) -> Thread:
        """Return a conversation with its turns in order.

        Raises:
            ThreadNotFoundError: If there is no conversation with this id.
            FormatError: If a turn is missing or damaged.
        """
        thread = self._store.get_thread(thread_id)
        if thread is None:
            raise ThreadNotFoundError(
                f"no conversation has the id {thread_id!r}; `threads list` shows all of them"
            )
        return thread

    def remove(self, thread_id: str) -> bool:
        """Remove a conversation with all its turns, and return whether it existed."""
        return self._store.delete_thread(thread_id)


def new_thread_id() -> str:
    """Return an id for a new conversation: the time in UTC and a random part."""
    started = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{started}-{secrets.token_hex(_RANDOM_BYTES)}"


def utc_now() -> str:
    """Return the current time, ISO 8601 in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

"""The conversations of a knowledge base: listed, read and deleted."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from spanwise.errors import ThreadNotFoundError

if TYPE_CHECKING:
    from spanwise.stores.port import Store
    from spanwise.types import Thread, ThreadInfo


_RANDOM_BYTES = 3


class KeptThreads:
    """What a `KnowledgeBase` says of the conversations in its store; `ask` adds to them."""

    _store: Store

    def threads(self) -> list[ThreadInfo]:
        """Return what is known of all conversations, the one with the latest turn first."""
        return self._store.list_threads()

    def thread(self, thread_id: str) -> Thread:
        """Return a conversation with its turns in order.

        Raises:
            ThreadNotFoundError: If there is none with this id.
            FormatError: If a turn is missing or damaged.
        """
        found = self._store.get_thread(thread_id)
        if found is None:
            raise ThreadNotFoundError(
                f"no conversation has the id {thread_id!r}; `threads` shows those there are"
            )
        return found

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation with all its turns, and return whether there was one."""
        return self._store.delete_thread(thread_id)


def new_thread_id() -> str:
    """Return an id for a conversation that begins now: ids sort as they begin, to the second."""
    began = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{began}-{secrets.token_hex(_RANDOM_BYTES)}"


def moment() -> str:
    """Return the time of the clock, ISO 8601, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

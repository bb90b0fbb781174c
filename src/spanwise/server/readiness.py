"""Readiness of the server: whether it should get requests, as a load balancer asks at /readyz.

A process is ready if each knowledge base can be searched and the server is not stopping. The check
calls no model.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.errors import SpanwiseError, StoreRebuiltError
from spanwise.knowledge_base.internals import store_of
from spanwise.server.problems import RETRY_SECONDS, Problem
from spanwise.stores.port import SharedStore

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase

_logger = logging.getLogger("spanwise.server")
_VALID_SECONDS = 1.0  # anybody may ask, so a check is not repeated more often


class Readiness:
    """Readiness of one process."""

    def __init__(self, bases: Mapping[str, KnowledgeBase], *, stopping_file: str = "") -> None:
        """Create the check.

        Args:
            bases: Open knowledge bases by name.
            stopping_file: Path of a file that is created when the server stops; empty for none.
        """
        self._bases = bases
        self._stopping = Path(stopping_file) if stopping_file else None
        self._lock = Lock()
        self._checked, self._fails = -_VALID_SECONDS, False

    def check(self) -> None:
        """Check that the process can answer requests.

        Raises:
            Problem: If the server is stopping, or a knowledge base cannot be searched.
        """
        if self._stopping is not None and self._stopping.exists():
            raise _not_ready("the server is stopping")
        with self._lock:
            if time.monotonic() - self._checked >= _VALID_SECONDS:
                self._fails = not all(map(_can_be_searched, self._bases.items()))
                self._checked = time.monotonic()
            fails = self._fails
        if fails:
            raise _not_ready("a knowledge base cannot be searched; the log of the server says why")


def _can_be_searched(named: tuple[str, KnowledgeBase]) -> bool:
    name, base = named
    try:
        store = store_of(base)
        if isinstance(store, SharedStore):
            store.check_format()
        with store.snapshot() as snapshot:
            snapshot.term_counts(["ready"])
    except StoreRebuiltError:  # the next search opens the new state
        return True
    except (SpanwiseError, OSError) as error:
        _logger.error("%s cannot be searched: %s", name, error)  # noqa: TRY400 - no traceback
        return False
    return True


def _not_ready(detail: str) -> Problem:
    return Problem(503, "not_ready", detail, headers={"Retry-After": str(RETRY_SECONDS)})

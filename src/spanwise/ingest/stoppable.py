"""Language model of an ingest that can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.models.ports import WrappedModel

if TYPE_CHECKING:
    from spanwise.models.ports import ModelReply, ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppableModel(WrappedModel):
    """Language model that makes no further calls once an event is set."""

    stopped: threading.Event

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        return self.model.generate(request)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        yield from self.model.stream(request)

    def _check(self) -> None:
        if self.stopped.is_set():
            raise CancelledError

"""Callback interface for pipeline events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

ProgressCallback = Callable[[int, int], None]
"""Callback with the amount of work done so far and the total, such as pages or characters."""


class Listener(Protocol):
    """Callback for the steps of a pipeline, such as progress output; the library never prints."""

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Receive a step that has ended.

        Args:
            name: Name of the step, such as "extract" or "model.title".
            seconds: Wall time of the step.
            counts: Quantities of the step by name, such as the number of chunks.
        """

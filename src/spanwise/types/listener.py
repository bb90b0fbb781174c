"""Who hears what a pipeline does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Listener(Protocol):
    """Hears what a pipeline does; the command line draws it, the library never prints."""

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Hear that a step ended, how long it took and what it counted."""

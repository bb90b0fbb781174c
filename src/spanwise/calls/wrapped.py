"""A model through which another one is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.ports import LanguageModel, ModelRequest
    from spanwise.types import Usage

__all__ = ["WrappedModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedModel:
    """Stands for another model: it has its name, its limits and its estimates."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the other model, so that its kept answers are found."""
        return self.model.name

    @property
    def concurrency(self) -> int:
        """Return how many calls at once the other model takes."""
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return what the other model says."""
        return self.model.estimate(request)

"""A language model that is asked where another one fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spanwise.errors import ModelError, ModelKeyError
from spanwise.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.types import Usage

__all__ = ["FallbackModel"]

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel:
    """Asks a second model where the first one fails after all its further calls, or refuses.

    A key that is refused is no such failure: it would send everything to another vendor, unseen.
    A refusal of the first was paid: what both took is counted, and may be more than was estimated.
    What is kept is kept as an answer of the first one, so that a repeated run asks neither.
    """

    first: LanguageModel
    second: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the first model."""
        return self.first.name

    @property
    def concurrency(self) -> int:
        """Return how many calls at once the first model takes."""
        return self.first.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return about what a call of the first model takes, at the higher price of both."""
        usage = self.first.estimate(request)
        other = self.second.estimate(request).cost
        known = usage.cost is not None and other is not None
        return replace(usage, cost=max(usage.cost or 0.0, other or 0.0) if known else None)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request; the reply says which model gave it.

        Raises:
            ModelError: If both fail.
        """
        paid = Usage()
        try:
            reply = self.first.generate(request)
        except ModelKeyError:
            raise
        except ModelError as error:
            self._note(str(error))
        else:
            if not reply.refusal:
                return reply
            self._note(f"it refuses to answer: {reply.refusal}")
            paid = reply.usage
        reply = self.second.generate(request)
        return replace(reply, usage=paid + reply.usage)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the pieces of the answer as they come, and last the whole reply.

        Raises:
            ModelError: If both fail, or the first one after its first piece.
        """
        begun, paid = False, Usage()
        try:
            for piece in self.first.stream(request):
                if not begun and isinstance(piece, ModelReply) and piece.refusal:
                    self._note(f"it refuses to answer: {piece.refusal}")
                    paid = piece.usage
                    break
                begun = True
                yield piece
            else:
                return
        except ModelError as error:
            if begun or isinstance(error, ModelKeyError):
                raise
            self._note(str(error))
        for piece in self.second.stream(request):
            if isinstance(piece, ModelReply):
                yield replace(piece, usage=paid + piece.usage)
            else:
                yield piece

    def _note(self, fault: str) -> None:
        _log.warning("%s failed, %s is asked: %s", self.first.name, self.second.name, fault)

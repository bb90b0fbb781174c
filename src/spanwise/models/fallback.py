"""Language model with a fallback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.model_checks import accepts_images, translated_errors
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, WrappedModel
from spanwise.types import Usage

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel(WrappedModel):
    """Language model that calls a second model if the first one fails or refuses to answer.

    A rejected API key is an error and does not cause a fallback: all text would silently go to
    another vendor. The usage of both models is counted, because a refusal also costs money. Answers
    are cached under the name of the first model.
    """

    second: LanguageModel
    """Fallback."""

    @property
    def accepts_images(self) -> bool:
        """Return whether both models accept images."""
        return accepts_images(self.model) and accepts_images(self.second)

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimates of both models together: a refusal of the first one costs too."""
        first, second = self.model.estimate(request), self.second.estimate(request)
        return replace(first, calls=max(1, first.calls)) + replace(
            second, calls=max(1, second.calls)
        )

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer of the first model, or else of the second one.

        Raises:
            ModelError: If both fail.
        """
        paid = Usage()
        try:
            with translated_errors(self.model.name):
                reply = self.model.generate(request)
        except ModelKeyError:
            raise
        except ModelError as error:
            self._warn(str(error))
        else:
            if not reply.refusal:
                return reply
            self._warn(f"it refuses to answer: {reply.refusal}")
            paid = reply.usage
        reply = self.second.generate(request)
        return replace(reply, usage=paid + reply.usage)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and then the complete reply.

        Raises:
            ModelError: If both fail, or the first model fails after its first part.
        """
        started, paid = False, Usage()
        try:
            for part in self.model.stream(request):
                if not started and isinstance(part, ModelReply) and part.refusal:
                    self._warn(f"it refuses to answer: {part.refusal}")
                    paid = part.usage
                    break
                started = True
                yield part
            else:
                return
        except ModelError as error:
            if started or isinstance(error, ModelKeyError):
                raise
            self._warn(str(error))
        for part in self.second.stream(request):
            if isinstance(part, ModelReply):
                yield replace(part, usage=paid + part.usage)
            else:
                yield part

    def _warn(self, fault: str) -> None:
        _log.warning("%s failed, %s is called: %s", self.model.name, self.second.name, fault)

"""Failures of a model that reads the pages or figures of one document.

Rules:
    No more requests are sent if the model is unreachable, or fails several times before its first
    success.
    An unusable answer concerns one page or figure; it is not a failure of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.errors import ModelAnswerError, ModelError

_MAX_FAILURES = 3  # more failures before the first success mean that it cannot read images
_NOT_FOUND = 404  # the model does not exist


@dataclass(slots=True)
class ModelHealth:
    """Successes and failures of a model, counted on several threads."""

    is_reachable: bool = True
    """Whether requests may be sent: no failure has shown yet that the model is unreachable."""
    _successes: int = 0
    _failures: list[ModelError] = field(default_factory=list)

    def last_failure(self) -> ModelError | None:
        """Return the last failure if no more requests should be sent; None otherwise."""
        failures = 0 if self._successes else len(self._failures)
        if self.is_reachable and failures < _MAX_FAILURES:
            return None
        return self._failures[-1]

    def count_success(self) -> None:
        """Count a usable answer."""
        self._successes += 1

    def count_failure(self, error: ModelError) -> None:
        """Count an error if the model failed."""
        if not is_model_failure(error):
            return
        self._failures.append(error)
        if error.retryable or error.status == _NOT_FOUND:
            self.is_reachable = False


def is_model_failure(error: Exception) -> bool:
    """Return whether an error is a failure of the model; an unusable answer is not."""
    return isinstance(error, ModelError) and not isinstance(error, ModelAnswerError)

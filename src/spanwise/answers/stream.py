"""Stream of an answer that a model is still writing."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self

from spanwise.errors import SpanwiseError
from spanwise.types import Answer


class IncompleteAnswerError(SpanwiseError, RuntimeError):
    """The complete answer of a stream was read after the stream had ended early."""

    def __init__(self) -> None:
        """Create the error with its message."""
        super().__init__(
            "the answer is not complete: its stream was closed or ended with an error; ask again"
        )


class AnswerStream:
    """Iterator over the text of an answer, in pieces with checked quotes.

    The joined pieces are the text of the answer. The model's answer is read only as far as the
    caller iterates. Call `close` to stop early, or read `answer` for the complete answer.
    """

    def __init__(self, run: Generator[str, None, Answer]) -> None:
        """Wrap a generator that yields the pieces and returns the answer."""
        self._run = run
        self._answer: Answer | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        try:
            return next(self._run)
        except StopIteration as ending:
            if ending.value is not None:
                self._answer = ending.value
            raise

    @property
    def answer(self) -> Answer:
        """The complete answer; reads all remaining pieces first.

        Raises:
            SpanwiseError: If the stream was closed or failed before the answer was complete.
        """
        for _ in self:
            pass
        if self._answer is None:
            raise IncompleteAnswerError
        return self._answer

    def close(self) -> None:
        """Stop the stream; a running call is abandoned, and its usage so far counts."""
        self._run.close()

"""An answer that is read while it is being written."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self

from spanwise.types import Answer


class AnswerStream:
    """Pieces of the text of an answer, each of which is checked; joined, they are the text.

    The answer goes on only as far as it is read. Leave it with `close`, or read `answer`.
    """

    def __init__(self, run: Generator[str, None, Answer]) -> None:
        """Take what yields the pieces and returns the answer."""
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
        """The whole answer, after the pieces that were not read yet.

        Raises:
            RuntimeError: If it was closed, or ended with an error, before it was whole.
        """
        for _ in self:
            pass
        if self._answer is None:
            raise RuntimeError("the answer was closed, or ended with an error, before it was whole")
        return self._answer

    def close(self) -> None:
        """End it; a call that runs is given up, and what it took so far is paid."""
        self._run.close()

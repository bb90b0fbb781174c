"""Collection of the faults of a file, so that they can be corrected together.

Rules:
    A file of the user is refused for any fault. In a published dataset, which its user cannot
    correct, an unusable question is left out and counted. The dataset is refused if more than a
    tenth of its questions are unusable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LeftOut

_TOLD = 20
_LEFT_OUT_SHARE = 0.1
_SHOWN_CHARS = 80


class FaultError(Exception):
    """A fault at a place of a file. Caught inside of this package."""

    def __init__(self, message: str, *, hint: Callable[[], str] | None = None) -> None:
        """Set the message.

        Args:
            message: The fault and its place.
            hint: Returns the rest of the message. Called only for faults that are shown, because it
                may take long.
        """
        super().__init__(message)
        self._message = message
        self._hint = hint

    def told(self) -> str:
        """Return the whole message."""
        return self._message if self._hint is None else self._message + self._hint()


class Faults:
    """Collected faults."""

    def __init__(self, *, left_out: LeftOut | None = None) -> None:
        """Begin without faults.

        Args:
            left_out: Questions that were left out so far, if questions may be left out; None if
                every fault counts.
        """
        self._first: list[FaultError] = []
        self._count = 0
        self._left_out = left_out

    @property
    def left_out(self) -> LeftOut:
        """Return the questions that were left out."""
        return self._left_out or LeftOut()

    @contextmanager
    def gathered(self, *, questions: int = 0) -> Iterator[None]:
        """Collect a fault that is raised in the block, and continue after it.

        Args:
            questions: Number of questions that are lost by the fault and nothing else; 0 for other
                faults.
        """
        try:
            yield
        except FaultError as fault:
            if questions and self._left_out is not None:
                known = self._left_out
                reasons = known.reasons
                if len(reasons) < _TOLD:
                    reasons = (*reasons, fault.told())
                self._left_out = LeftOut(count=known.count + questions, reasons=reasons)
            else:
                self._count += 1
                if len(self._first) < _TOLD:
                    self._first.append(fault)

    def raise_first(self) -> None:
        """Raise the first fault.

        Raises:
            FaultError: If there is a fault.
        """
        if self._first:
            raise self._first[0]

    def raise_any(self, called: str, *, questions: int = 0) -> None:
        """Raise the collected faults.

        Args:
            called: Name of the faulty file, for the message.
            questions: Number of usable questions.

        Raises:
            OptionError: If there is a fault, or too many questions were left out. `faults` has the
                first 20.
        """
        told = [fault.told() for fault in self._first]
        total = questions + self.left_out.count
        if self.left_out.count > _LEFT_OUT_SHARE * total:
            count = self._count + self.left_out.count
            raise OptionError(
                f"{_there_are(count)} in {called}: more than a tenth of its {total:,} questions "
                "cannot be used; name a whole copy, as it was published:",
                faults=_lines([*told, *self.left_out.reasons], of=count),
            )
        if self._count == 1:
            raise OptionError(told[0])
        if self._count:
            faults = _lines(told, of=self._count, advice="; correct these first")
            raise OptionError(f"{_there_are(self._count)} in {called}:", faults=faults)


def _there_are(count: int) -> str:
    return "there is 1 fault" if count == 1 else f"there are {count:,} faults"


def _lines(told: Sequence[str], *, of: int, advice: str = "") -> list[str]:
    """Return the first faults, and the number of the others."""
    first = list(told[:_TOLD])
    if of > len(first):
        first.append(f"and {of - len(first):,} more{advice}")
    return first


def shown(value: object) -> str:
    """Return a value for a message; long ones are truncated."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."

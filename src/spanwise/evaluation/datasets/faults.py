"""What is wrong with a file: all of it is told at once, so that it can be corrected at once.

Rules:
    A file of the user's own is refused with any fault. Of a published dataset, which its user
    cannot correct, a question that cannot be used is left out, counted and told; it is refused if
    more than a tenth of its questions are of that kind.
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
    """Something in a file is not usable; the message names the place. Never leaves this room."""

    def __init__(self, message: str, *, hint: Callable[[], str] | None = None) -> None:
        """Take the message.

        Args:
            message: What is wrong, and where.
            hint: Gives the rest of the message where it is told: what takes long to find out is
                not looked for in faults that are only counted.
        """
        super().__init__(message)
        self._message = message
        self._hint = hint

    def told(self) -> str:
        """Return the whole message."""
        return self._message if self._hint is None else self._message + self._hint()


class Faults:
    """The faults that were found so far."""

    def __init__(self, *, left_out: LeftOut | None = None) -> None:
        """Begin with none.

        Args:
            left_out: Questions that were left out before, where more may be; None where every
                fault counts.
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
        """Keep the fault that is raised inside, and go on after it.

        Args:
            questions: How many questions are lost by it, where these and nothing else are.
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
        """Raise the first fault to whoever gathers those of several questions.

        Raises:
            FaultError: If there is a fault.
        """
        if self._first:
            raise self._first[0]

    def raise_any(self, called: str, *, questions: int = 0) -> None:
        """Raise what was found.

        Args:
            called: What has the faults, for the message.
            questions: How many can be used.

        Raises:
            OptionError: If there is a fault, or too many questions were left out; `faults` are the
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
    """Return the first faults, and how many more there are."""
    first = list(told[:_TOLD])
    if of > len(first):
        first.append(f"and {of - len(first):,} more{advice}")
    return first


def shown(value: object) -> str:
    """Return a value for a message, long ones cut."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."

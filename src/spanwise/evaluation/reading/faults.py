"""What is wrong with a file: all of it is told at once, so that it can be corrected at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spanwise.errors import OptionError

__all__ = ["FaultError", "Faults", "shown"]

_TOLD = 20
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

    def __init__(self) -> None:
        """Begin with none."""
        self._messages: list[str] = []
        self._count = 0

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the fault that is raised inside, and go on after it."""
        try:
            yield
        except FaultError as fault:
            self._count += 1
            if len(self._messages) < _TOLD:
                self._messages.append(fault.told())

    def raise_any(self, called: str) -> None:
        """Raise what was found.

        Args:
            called: What has the faults, for the message.

        Raises:
            OptionError: If there is a fault; the message has the first 20.
        """
        if self._count == 1:
            raise OptionError(self._messages[0])
        if self._count:
            told = list(self._messages)
            if self._count > _TOLD:
                told.append(f"and {self._count - _TOLD:,} more; correct these first")
            faults = ";\n  ".join(told)  # told apart where they are shown on one line, too
            raise OptionError(f"there are {self._count:,} faults in {called}:\n  {faults}")


def shown(value: object) -> str:
    """Return a value for a message, long ones cut."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."

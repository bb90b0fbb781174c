"""Validation of option values."""

from __future__ import annotations

from spanwise.errors import OptionError, shown


def check(condition: object, name: str, value: object, expected: str) -> None:
    """Raise an error for an invalid value.

    Raises:
        OptionError: If the condition is false.
    """
    if not condition:
        raise OptionError(f"{name} is {shown(value)}; it must be {expected}")

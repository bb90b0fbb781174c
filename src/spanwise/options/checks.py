"""Validation of option values."""

from __future__ import annotations

from numbers import Integral

from spanwise.errors import OptionError, shown


def check(condition: object, name: str, value: object, expected: str) -> None:
    """Check an option value.

    Args:
        condition: Whether the value is valid.
        name: Name of the option.
        value: The value.
        expected: Description of valid values for the error message, such as "at least 1".

    Raises:
        OptionError: If the condition is false.
    """
    if not condition:
        raise OptionError(f"{name} is {shown(value)}; it must be {expected}")


def check_whole(name: str, value: object, minimum: int, maximum: int) -> None:
    """Check that an option value is a whole number in a range.

    Raises:
        OptionError: If it is not.
    """
    is_valid = isinstance(value, Integral) and minimum <= int(value) <= maximum
    check(is_valid, name, value, f"a whole number from {minimum:,} to {maximum:,}")

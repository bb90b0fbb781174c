"""Validation of option values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import TYPE_CHECKING, get_args, get_type_hints

from spanwise.errors import OptionError, shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_KINDS: dict[object, tuple[type, str]] = {
    bool: (bool, "True or False"),
    int: (Real, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    NoneType: (NoneType, "None"),
}
"""Accepted class and its description, by the annotation of a field."""


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


def check_types(options: DataclassInstance) -> None:
    """Check the types of the fields of an options object: numbers, texts, booleans and options.

    Fields of other types are not checked, and ranges are checked by each class.

    Raises:
        OptionError: If a field has a value of another type.
    """
    for name, types, expected in _checked_fields(type(options)):
        value = getattr(options, name)
        check(isinstance(value, types), name, value, expected)


@cache
def _checked_fields(
    kind: type[DataclassInstance],
) -> tuple[tuple[str, tuple[type, ...], str], ...]:
    """Return name, accepted classes and their description of each field with simple types."""
    hints = get_type_hints(kind)
    checked = []
    for field in fields(kind):
        hint = hints[field.name]
        members = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if all(member in _KINDS or is_dataclass(member) for member in members):
            kinds = [_KINDS.get(member) or (member, member.__name__) for member in members]
            types, names = zip(*kinds, strict=True)
            checked.append((field.name, tuple(types), " or ".join(names)))
    return tuple(checked)


def check_class(name: str, value: object, kind: type) -> None:
    """Check an argument that is an options object or None.

    Raises:
        OptionError: If it is an object of another class.
    """
    if value is not None and not isinstance(value, kind):
        raise OptionError(f"{name} is {shown(value)}; give {kind.__name__}(...), or None")

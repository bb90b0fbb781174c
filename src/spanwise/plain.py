"""Values as dicts, lists and scalars: the one form in which they leave the program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

__all__ = ["Plain", "PlainForm", "to_plain"]

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


def to_plain(value: object) -> Plain:
    """Return a value of `spanwise.types` as dicts, lists and scalars, fields in their order.

    Raises:
        TypeError: If it holds something that JSON cannot say.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    raise TypeError(f"{value!r} has no form in JSON")


def _fields(value: object) -> dict[str, Plain]:
    fields = dataclasses.fields(value)  # type: ignore[arg-type]  # callers hand in dataclasses
    return {item.name: to_plain(getattr(value, item.name)) for item in fields}


class PlainForm:
    """Gives a dataclass of the public types a form for JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Plain]:
        """Return it as dicts, lists and scalars, fields in their order."""
        return _fields(self)

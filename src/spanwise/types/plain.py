"""Values as dicts, lists and scalars: the one form in which they leave the program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

_Made = TypeVar("_Made")
_SHOWN_CHARS = 80


def shown(value: object) -> str:
    """Return a value as an error message shows it: its `repr`, cut in the middle to 80 characters.

    A value whose `repr` fails, such as a number of more digits than Python writes, has its kind.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a caller's object may raise anything
        return "a number" if isinstance(value, int) else f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:57]}...{text[-20:]}"


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
    raise TypeError(f"{shown(value)} has no form in JSON")


def _fields(value: object) -> dict[str, Plain]:
    fields = dataclasses.fields(value)  # type: ignore[arg-type]  # callers hand in dataclasses
    return {item.name: to_plain(getattr(value, item.name)) for item in fields}


class PlainForm:
    """Gives a dataclass of the public types a form for JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Plain]:
        """Return it as dicts, lists and scalars, fields in their order."""
        return _fields(self)


def from_plain(kind: type[_Made], value: object) -> _Made:
    """Return a dataclass of `spanwise.types` of what `to_plain` gave of it.

    Fields that it does not have are left out: a later version wrote them.

    Args:
        kind: The dataclass.
        value: As it is read from JSON.

    Raises:
        ValueError: If a field is missing, or a value is of another kind.
    """
    made: _Made = _read(kind, value, name=kind.__name__)
    return made


def _read(kind: Any, value: object, *, name: str) -> Any:
    """Return a value of a type that a dataclass of `spanwise.types` has; `name` is for messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):  # the second of a Literal or None
        return _read_union(inner, value, name=name)
    if origin is tuple and isinstance(value, list):
        return _read_tuple(inner, value, name=name)
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _read(inner[1], item, name=f"{name}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _read_fields(kind, value, name=name)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind or (origin is Literal and value in inner):
        return value
    wanted = getattr(kind, "__name__", kind)
    raise ValueError(f"{name} is {shown(value)}, and must be {wanted}")


def _read_union(kinds: tuple[Any, ...], value: object, *, name: str) -> Any:
    """Return a value of a type that may be None, or of `Plain`, which is what JSON gives."""
    if value is None or any(get_origin(kind) is list for kind in kinds):
        return value
    (kind,) = (one for one in kinds if one is not type(None))
    return _read(kind, value, name=name)


def _read_tuple(kinds: tuple[Any, ...], value: Sequence[object], *, name: str) -> tuple[Any, ...]:
    wanted = kinds[:1] * len(value) if kinds[-1] is ... else kinds
    if len(wanted) != len(value):
        raise ValueError(f"{name} has {len(value)} items, and must have {len(wanted)}")
    return tuple(
        _read(kind, item, name=f"{name}[{place}]")
        for place, (kind, item) in enumerate(zip(wanted, value, strict=True))
    )


def _read_fields(kind: Any, value: Mapping[str, object], *, name: str) -> object:
    hints = _field_types(kind)
    try:
        return kind(
            **{
                field: _read(hints[field], item, name=f"{name}.{field}")
                for field, item in value.items()
                if field in hints
            }
        )
    except TypeError as error:  # its constructor says which fields are missing
        raise ValueError(f"{name}: {error}") from error


@cache
def _field_types(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)

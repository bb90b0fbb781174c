"""Conversion of the public dataclasses to and from JSON values: dicts, lists and scalars."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from spanwise.errors import shown, shown_json

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

_Instance = TypeVar("_Instance")
_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


def to_plain(value: object) -> Plain:
    """Return a value as dicts, lists and scalars; fields are in the order of their dataclass.

    Raises:
        TypeError: If the value contains an object that JSON cannot represent.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    raise TypeError(f"{shown(value)} cannot be represented in JSON")


def _fields(dataclass_instance: Any) -> dict[str, Plain]:
    fields = dataclasses.fields(dataclass_instance)
    return {item.name: to_plain(getattr(dataclass_instance, item.name)) for item in fields}


class PlainForm:
    """Mixin that adds `to_dict` to a public dataclass."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Plain]:
        """Return the object as dicts, lists and scalars, with fields in the order of the class."""
        return _fields(self)


def from_plain(kind: type[_Instance], value: object, *, name: str = "") -> _Instance:
    """Return a dataclass instance made from JSON data; the inverse of `to_plain`.

    Unknown fields are ignored, because a later version may have written them.

    Args:
        kind: Dataclass of the instance.
        value: JSON data.
        name: Name of the data in error messages; that of the class if it is empty.

    Raises:
        ValueError: If a field is missing, or a value has the wrong type.
    """
    instance: _Instance = _read(kind, value, name=name or kind.__name__)
    return instance


def _read(kind: Any, value: object, *, name: str) -> Any:
    """Return a JSON value converted to a field's type; `name` identifies it in error messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):  # `Union` of a Literal and None
        return _read_union(inner, value, name=name)
    if origin is tuple and isinstance(value, list):
        return _read_tuple(inner, value, name=name)
    if origin is Mapping and isinstance(value, Mapping):
        return {
            _read_key(inner[0], key, name=name): _read(inner[1], item, name=f"{name}.{key}")
            for key, item in value.items()
        }
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _read_fields(kind, value, name=name)
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError(f"{name} is too large") from error
    if type(value) is kind or (origin is Literal and value in inner):
        return value
    raise ValueError(f"{name} is {shown_json(value)}, and must be {_expected(kind)}")


def _expected(kind: Any) -> str:
    """Return the JSON values of a type, for error messages."""
    if get_origin(kind) is Literal:
        return " or ".join(map(shown_json, get_args(kind)))
    is_object = get_origin(kind) is Mapping or dataclasses.is_dataclass(kind)
    return "an object" if is_object else _KINDS.get(kind, "a list")


def _read_key(kind: Any, key: object, *, name: str) -> Any:
    """Return the key of a mapping; JSON has texts for whole numbers."""
    if kind is int and isinstance(key, str) and key.removeprefix("-").isdecimal():
        return int(key)
    return _read(kind, key, name=f"a key of {name}")


def _read_union(kinds: tuple[Any, ...], value: object, *, name: str) -> Any:
    """Return a value converted to the first member of a union that it fits.

    A `Plain` value needs no conversion.
    """
    if value is None or any(get_origin(kind) is list for kind in kinds):
        return value
    members = [member for member in kinds if member is not type(None)]
    for member in members[:-1]:
        with suppress(ValueError):
            return _read(member, value, name=name)
    return _read(members[-1], value, name=name)


def _read_tuple(kinds: tuple[Any, ...], value: Sequence[object], *, name: str) -> tuple[Any, ...]:
    item_kinds = kinds[:1] * len(value) if kinds[-1] is ... else kinds
    if len(item_kinds) != len(value):
        raise ValueError(f"{name} has {len(value)} items, and must have {len(item_kinds)}")
    return tuple(
        _read(kind, item, name=f"{name}[{place}]")
        for place, (kind, item) in enumerate(zip(item_kinds, value, strict=True))
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
    except TypeError as error:
        missing = _missing(kind, value)
        raise ValueError(f"{name} lacks {missing}" if missing else f"{name}: {error}") from error


def _missing(kind: Any, value: Mapping[str, object]) -> str:
    """Return the names of the fields without default that a mapping lacks."""
    none = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    needed = [one.name for one in fields if one.default is none and one.default_factory is none]
    return ", ".join(name for name in needed if name not in value)


@cache
def _field_types(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)

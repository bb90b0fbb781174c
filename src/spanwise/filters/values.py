"""Values of metadata fields: kinds, and the normal forms that filters compare."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from datetime import date
from typing import Literal

from spanwise.errors import FilterError, shown
from spanwise.types import MetadataValue, Scalar

MAX_DIGITS = 400
"""Maximum number of digits of a whole number, as in the text form."""

Kind = Literal["text", "number", "boolean"]
"""Kind of a scalar."""
FieldKind = Literal["text", "date", "number", "boolean"]
"""Kind of the values of a field; a date is a text in ISO 8601 form."""
Operand = Scalar | date
"""Value that a field can be compared with; a date is converted to ISO 8601 text."""

_TOO_LARGE = 10**MAX_DIGITS
_DATE = re.compile(
    r"[12]\d{3}(?:-\d\d(?:-\d\d(?:[t ]\d.*)?)?)?", re.ASCII | re.IGNORECASE | re.DOTALL
)
_ACCENTS = frozenset([*range(10, 37), *range(200, 256)])
"""Combining classes of accents and of vowel points. Marks of other classes, such as the voicing
marks of Japanese kana, make a different letter."""


def kind_of(value: object) -> Kind | None:
    """Return the kind of a value; None for a value that filters do not support."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int):
        return "number" if -_TOO_LARGE < value < _TOO_LARGE else None
    return "number" if isinstance(value, float) and math.isfinite(value) else None


def plain_operand(value: Operand) -> tuple[Scalar, Kind]:
    """Return a value as an exact str, int, float or bool instead of a subclass, and its kind.

    Raises:
        FilterError: If filters do not support the value.
    """
    if isinstance(value, date):
        return value.isoformat(), "text"
    kind = kind_of(value)
    if kind == "text":
        return str.__str__(value), kind
    if kind == "number":
        return (int(value) if isinstance(value, int) else float(value)), kind
    if kind == "boolean":
        return value, kind
    raise FilterError(
        f"a filter compares with {shown(value)}; give a text, a finite number of at most "
        f"{MAX_DIGITS} digits, a date, True or False"
    )


def items_of(value: MetadataValue) -> Collection[Scalar]:
    """Return the items of a list, or the value itself as the only item."""
    return value if isinstance(value, tuple | list) else (value,)


def single_values(metadata: Mapping[str, MetadataValue]) -> dict[str, Scalar]:
    """Return the fields that have a single value instead of a list."""
    return {name: value for name, value in metadata.items() if not isinstance(value, tuple | list)}


def value_texts(metadata: Mapping[str, MetadataValue]) -> list[str]:
    """Return the values of all fields as texts, with one text for each item of a list."""
    return [str(item) for value in metadata.values() for item in items_of(value)]


def value_key(value: MetadataValue) -> tuple[object, ...]:
    """Return a key that is equal for equal values of the same type: 1, 1.0 and True differ."""
    if isinstance(value, tuple | list):
        return (tuple, *((type(item), item) for item in value))
    return type(value), value


def folded(text: str) -> str:
    """Return a text without differences of case, accents and compatible characters.

    It is case-folded and decomposed (NFKD), and its accents are removed.
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(c for c in decomposed if unicodedata.combining(c) not in _ACCENTS)


def is_date(text: str) -> bool:
    """Return whether a text has the form of an ISO 8601 date, or of its year or month."""
    return text[:4].isdigit() and _DATE.fullmatch(text) is not None


def year_text(number: float) -> str:
    """Return a number as the text of a year; empty if it is not a year from 1000 to 2999."""
    if 1000 <= number <= 2999 and int(number) == number:
        return str(int(number))
    return ""

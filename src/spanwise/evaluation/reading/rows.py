"""Objects of JSON and rows of CSV, whose values are checked as they are taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.evaluation.reading.faults import FaultError, shown

__all__ = ["Row", "row_of"]

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """Named values at one place of a file."""

    values: Mapping[str, object]
    place: str
    """File and line, or what else names the place to people."""

    def fault(self, message: str) -> FaultError:
        """Return a fault at this place."""
        return FaultError(f"{self.place}: {message}")

    def has(self, key: str) -> bool:
        """Return whether there is a value that is not null."""
        return self.values.get(key) is not None

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return a text; a default where there is none, if there is a default.

        Raises:
            FaultError: If it is missing or empty without a default, is no text, or has half a
                character.
        """
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            raise self.fault(f"{key!r} is missing; give a text")
        if not isinstance(value, str):
            raise self.fault(f"{key!r} is {shown(value)}; give a text")
        if default is None and not value.strip():
            raise self.fault(f"{key!r} is {shown(value)}; give a text that is not empty")
        return self.whole_text(value, key)

    def whole_text(self, text: str, called: str) -> str:
        """Return a text that can be written again.

        Raises:
            FaultError: If it has half a character.
        """
        if _SURROGATE.search(text):
            raise self.fault(f"{called!r} has half a character (a lone surrogate); write it whole")
        return text

    def word(self, key: str, *, default: str | None = None) -> str:
        """Return a text, or a whole number as a text: what names something.

        Raises:
            FaultError: If it is neither; as `text`.
        """
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(key, default=default)

    def whole(self, key: str, *, least: int = 0) -> int:
        """Return a whole number that is not less than another one.

        Raises:
            FaultError: If it is not.
        """
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.fault(f"{key!r} is {shown(value)}; give a whole number, {least} or more")
        return value

    def items(self, key: str) -> list[object]:
        """Return a list; an empty one where there is none.

        Raises:
            FaultError: If it is no list.
        """
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"{key!r} is {shown(value)}; give a list")
        return value

    def rows(self, key: str) -> list[Row]:
        """Return the objects of a list; none where there is none.

        Raises:
            FaultError: If it is no list, or one of them is no object.
        """
        return [
            row_of(item, f"{self.place}: {key} {number}")
            for number, item in enumerate(self.items(key), start=1)
        ]


def row_of(value: object, place: str) -> Row:
    """Return an object of JSON as a row.

    Raises:
        FaultError: If it is none.
    """
    if not isinstance(value, dict):
        raise FaultError(f"{place}: {shown(value)} is no object; give one, as in {{...}}")
    return Row(value, place)

"""JSON as it is written: numbers keep their digits, and names that come twice both their values."""

from __future__ import annotations

import json
from collections.abc import Sequence

__all__ = ["JsonReader"]


class JsonReader:
    """Reads JSON to dictionaries, lists, True, False, None and strings; a number is a string.

    A number of a million digits is no work then, and 1.50 stays 1.50.
    """

    def __init__(self) -> None:
        self.repeated_names = 0
        """Names that came again in the same object."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=str, parse_float=str, parse_constant=str
        )

    def read(self, text: str) -> object:
        """Return the value of a text.

        Raises:
            ValueError: If it is no JSON.
            RecursionError: If it is nested too deeply.
        """
        return self._decoder.decode(text)

    def _object(self, pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self.repeated_names += len(pairs) - len(found)
        values: dict[str, list[object]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return {name: held if len(held) > 1 else held[0] for name, held in values.items()}

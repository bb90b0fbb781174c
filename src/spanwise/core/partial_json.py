"""The parts of a JSON object that are whole while the rest of it is still being written."""

from __future__ import annotations

__all__ = ["PartialObject"]

_OPENING = {"{": "}", "[": "]"}


class PartialObject:
    """Reads an object piece by piece; what stands before its first brace is skipped.

    It checks nothing but brackets and quotation marks: who reads a part finds out whether it is
    JSON.
    """

    def __init__(self) -> None:
        self._text = ""
        self._next = 0
        self._closers: list[str] = []
        self._is_string = False
        self._is_escaped = False
        self._start = 0
        """Where the key or the value begins that is being read."""
        self._key = ""
        self._parts: list[tuple[str, str]] = []

    def feed(self, piece: str) -> list[tuple[str, str]]:
        """Return what became whole with a further piece.

        Returns:
            Key and JSON of each value of the object that is no list and no object, and of each
            element of its lists, in order.
        """
        self._text += piece
        self._parts = []
        while self._next < len(self._text):
            self._read(self._text[self._next])
            self._next += 1
        return self._parts

    def _read(self, character: str) -> None:
        if self._is_string:
            self._is_string = self._is_escaped or character != '"'
            self._is_escaped = character == "\\" and not self._is_escaped
        elif character == '"':
            self._is_string = bool(self._closers)
        elif character in _OPENING:
            self._open(character)
        elif not self._closers:
            pass
        elif character == self._closers[-1]:
            self._end_value()
            self._closers.pop()
        elif character == ",":
            self._end_value()
        elif character == ":" and len(self._closers) == 1:
            self._key = self._taken().strip('"')

    def _open(self, character: str) -> None:
        if not self._closers and character != "{":
            return
        self._closers.append(_OPENING[character])
        if len(self._closers) == 1 or self._is_list():
            self._start = self._next + 1

    def _is_list(self) -> bool:
        """Return whether a list of the object is being read, outside of its elements."""
        return len(self._closers) == 2 and self._closers[-1] == "]"

    def _end_value(self) -> None:
        """Take a value of the object, or an element of a list of it, that ends here."""
        if self._is_list():
            self._add(self._taken())
        elif len(self._closers) == 1:
            value = self._taken()
            if not value.startswith(tuple(_OPENING)):
                self._add(value)

    def _taken(self) -> str:
        taken = self._text[self._start : self._next].strip()
        self._start = self._next + 1
        return taken

    def _add(self, value: str) -> None:
        if value:
            self._parts.append((self._key, value))

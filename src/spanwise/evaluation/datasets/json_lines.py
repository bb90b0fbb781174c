"""JSON lines as rows whose values are checked when they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from spanwise.errors import OptionError
from spanwise.evaluation.datasets.faults import FaultError, Faults, shown

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """Named values at a place of a file."""

    values: Mapping[str, object]
    place: str
    """File and line, or another name of the place."""

    def fault(self, message: str) -> FaultError:
        """Return a fault at this place."""
        return FaultError(f"{self.place}: {message}")

    def has(self, key: str) -> bool:
        """Return whether a field is present and not null."""
        return self.values.get(key) is not None

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return a text; the default for a missing one, if there is a default.

        Raises:
            FaultError: If it is missing or blank without a default, no text, or has a lone
                surrogate.
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
        """Return a text that can be encoded.

        Raises:
            FaultError: If it has a lone surrogate.
        """
        if _SURROGATE.search(text):
            raise self.fault(f"{called!r} has half a character (a lone surrogate); write it whole")
        return text

    def word(self, key: str, *, default: str | None = None) -> str:
        """Return a name: a text, or a whole number as a text.

        Raises:
            FaultError: If it is neither; as `text`.
        """
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(key, default=default)

    def whole(self, key: str, *, least: int = 0) -> int:
        """Return a whole number that is at least `least`.

        Raises:
            FaultError: If it is not.
        """
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.fault(f"{key!r} is {shown(value)}; give a whole number, {least} or more")
        return value

    def items(self, key: str) -> list[object]:
        """Return a list; empty for a missing one.

        Raises:
            FaultError: If it is not a list.
        """
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"{key!r} is {shown(value)}; give a list")
        return value

    def rows(self, key: str) -> list[Row]:
        """Return the objects of a list; empty for a missing one.

        Raises:
            FaultError: If it is not a list, or an item is not an object.
        """
        return [
            row_of(item, f"{self.place}: {key} {number}")
            for number, item in enumerate(self.items(key), start=1)
        ]


def row_of(value: object, place: str) -> Row:
    """Return an object of JSON as a row.

    Raises:
        FaultError: If it is not an object.
    """
    if not isinstance(value, dict):
        raise FaultError(f"{place}: {shown(value)} is no object; give one, as in {{...}}")
    return Row(value, place)


MAX_LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a line, greater than the longest published one."""

BOM = b"\xef\xbb\xbf"
_POINTER = b"version https://git-lfs.github.com/spec/"


def json_lines(path: Path, faults: Faults, *, questions: int = 0) -> Iterator[Row]:
    """Yield the objects of JSON lines; blank lines are skipped, other lines are faults.

    Args:
        path: The file.
        faults: Collects the faults.
        questions: Number of questions of a line, if it holds nothing else.

    Raises:
        OptionError: If the file cannot be read.
    """
    with opened(path) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            row = None
            with faults.gathered(questions=questions):
                row = _row(line, f"{path.name}:{number}", is_first=number == 1)
            if row is not None:
                yield row


def _row(line: bytes, place: str, *, is_first: bool) -> Row | None:
    """Return the object of a line; None for a blank one."""
    if len(line) > MAX_LINE_BYTES:
        raise FaultError(
            f"{place}: the line is longer than {MAX_LINE_BYTES:,} bytes; give one object a line"
        )
    raw = line.removeprefix(BOM) if is_first else line
    return row_of(parsed(raw, place), place) if raw.strip() else None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; a pointer of Git LFS is refused.

    Raises:
        OptionError: If the file cannot be read or is such a pointer.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_POINTER)) == _POINTER:
                raise OptionError(
                    f"{path} is a pointer of Git LFS, not the file itself; run `git lfs pull` in "
                    "its checkout"
                )
            stream.seek(0)
            yield stream
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror or error}") from error


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; a line that is too long is truncated."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)
            if len(line) <= MAX_LINE_BYTES:
                break


def decoded(raw: bytes, place: str) -> str:
    """Return UTF-8 bytes as text.

    Raises:
        FaultError: If they are not UTF-8.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FaultError(
            f"{place}: byte {error.start} is {raw[error.start]:#04x}, which is not UTF-8; save the "
            "file as UTF-8"
        ) from error


def parsed(raw: bytes, place: str) -> object:
    """Return the value of JSON bytes.

    Raises:
        FaultError: If they are no strict JSON.
    """
    try:
        value: object = json.loads(
            decoded(raw, place), parse_constant=_refused, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise FaultError(f"{place}: no JSON: {error}; correct it") from error
    return value


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; a duplicate name is an error, because one value would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} is there twice in one object")
    return made

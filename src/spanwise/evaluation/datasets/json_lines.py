"""Objects of JSON and rows of CSV, whose values are checked as they are taken out.

Files of questions and documents: JSON, JSON lines, CSV and text, each read with its place.
"""

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


MAX_LINE_BYTES = 16 * 1024 * 1024
"""Of JSON lines: a meeting with its questions, the longest that are published, is shorter."""

BOM = b"\xef\xbb\xbf"
_POINTER = b"version https://git-lfs.github.com/spec/"


def json_lines(path: Path, faults: Faults, *, questions: int = 0) -> Iterator[Row]:
    """Yield the objects of JSON lines, empty lines left out; lines that are none are faults.

    Args:
        path: The file.
        faults: Gathers them.
        questions: How many questions a line holds, where it holds nothing else.

    Raises:
        OptionError: If there is no such file, or it cannot be read.
    """
    with opened(path) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            row = None
            with faults.gathered(questions=questions):
                row = _row(line, f"{path.name}:{number}", is_first=number == 1)
            if row is not None:
                yield row


def _row(line: bytes, place: str, *, is_first: bool) -> Row | None:
    """Return the object of a line; None of an empty one."""
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
    """Yield lines, of those that are too long no more than shows it."""
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
    """Return an object, whose names are there once: of two, one would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} is there twice in one object")
    return made

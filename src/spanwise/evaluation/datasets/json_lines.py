"""Reader of JSON lines: values are checked on access, and faults are collected.

Rules:
    A file of the user is rejected for any fault; all faults are reported together. In a published
    dataset, which the user cannot correct, unusable questions are left out and counted. The dataset
    is rejected if more than a tenth of its questions are unusable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LeftOut

_TOLD = 20
_LEFT_OUT_SHARE = 0.1
_SHOWN_CHARS = 80


class FaultError(Exception):
    """Fault in a line of a file. It is caught inside this package."""

    def __init__(self, message: str, *, hint: Callable[[], str] | None = None) -> None:
        """Create the fault.

        Args:
            message: Message with the file and line.
            hint: Function that returns the end of the message; called only for reported faults,
                because it may be slow.
        """
        super().__init__(message)
        self._message = message
        self._hint = hint

    def told(self) -> str:
        """Return the message with its hint."""
        return self._message if self._hint is None else self._message + self._hint()


class Faults:
    """Collection of faults."""

    def __init__(self, *, left_out: LeftOut | None = None) -> None:
        """Create an empty collection.

        Args:
            left_out: Questions left out so far; None if no question may be left out.
        """
        self._first: list[FaultError] = []
        self._count = 0
        self._left_out = left_out

    @property
    def count(self) -> int:
        """Return the number of faults, without the questions left out."""
        return self._count

    @property
    def left_out(self) -> LeftOut:
        """Return the number of questions left out, with reasons."""
        return self._left_out or LeftOut()

    @contextmanager
    def gathered(self, *, questions: int = 0) -> Iterator[None]:
        """Collect a fault raised in the block, and continue after the block.

        Args:
            questions: Number of questions that a fault makes unusable; 0 if a fault must not be
                tolerated.
        """
        try:
            yield
        except FaultError as fault:
            if questions and self._left_out is not None:
                known = self._left_out
                reasons = known.reasons
                if len(reasons) < _TOLD:
                    reasons = (*reasons, fault.told())
                self._left_out = LeftOut(count=known.count + questions, reasons=reasons)
            else:
                self._count += 1
                if len(self._first) < _TOLD:
                    self._first.append(fault)

    def raise_first(self) -> None:
        """Raise the first fault.

        Raises:
            FaultError: If there is a fault.
        """
        if self._first:
            raise self._first[0]

    def raise_any(self, called: str, *, questions: int = 0) -> None:
        """Raise an error if there are faults.

        Args:
            called: Name of the file, for the message.
            questions: Number of usable questions.

        Raises:
            OptionError: If there is a fault, or too many questions were left out. Its attribute
                `faults` lists the first 20.
        """
        told = [fault.told() for fault in self._first]
        total = questions + self.left_out.count
        if self.left_out.count > _LEFT_OUT_SHARE * total:
            count = self._count + self.left_out.count
            raise OptionError(
                f"{_there_are(count)} in {called}: more than a tenth of its {total:,} questions "
                "cannot be used; check that the copy of the dataset is complete:",
                faults=_listed([*told, *self.left_out.reasons], of=count),
            )
        if self._count == 1:
            raise OptionError(told[0])
        if self._count:
            faults = _listed(told, of=self._count, advice="; correct these first")
            raise OptionError(f"{_there_are(self._count)} in {called}:", faults=faults)


def _there_are(count: int) -> str:
    return "there is 1 fault" if count == 1 else f"there are {count:,} faults"


def _listed(told: Sequence[str], *, of: int, advice: str = "") -> list[str]:
    """Return the first faults, and a line with the number of the others."""
    first = list(told[:_TOLD])
    if of > len(first):
        first.append(f"and {of - len(first):,} more{advice}")
    return first


def shown(value: object) -> str:
    """Return the `repr` of a value for an error message, truncated to 80 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """JSON object with its position in a file."""

    values: Mapping[str, object]
    place: str
    """Position for error messages, such as "questions.jsonl:12"."""

    def fault(self, message: str) -> FaultError:
        """Return a fault with the position of this object."""
        return FaultError(f"{self.place}: {message}")

    def has(self, key: str) -> bool:
        """Return whether a field is present and not null."""
        return self.values.get(key) is not None

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return a string field.

        Args:
            key: Name of the field.
            default: Value of a missing field; None if the field is required and must not be blank.

        Raises:
            FaultError: If the field is missing or blank, is not a string, or has a lone surrogate.
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
        """Return a text after checking that it can be encoded.

        Raises:
            FaultError: If the text has a lone surrogate.
        """
        if _SURROGATE.search(text):
            raise self.fault(f"{called!r} has half a character (a lone surrogate); write it whole")
        return text

    def word(self, key: str, *, default: str | None = None) -> str:
        """Return an identifier: a string, or an integer converted to a string.

        Raises:
            FaultError: If the field is neither, or violates the rules of `text`.
        """
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(key, default=default)

    def whole(self, key: str, *, least: int = 0) -> int:
        """Return an integer field.

        Raises:
            FaultError: If the field is not an integer, or is less than `least`.
        """
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.fault(f"{key!r} is {shown(value)}; give a whole number, {least} or more")
        return value

    def items(self, key: str) -> list[object]:
        """Return a list field; empty if it is missing.

        Raises:
            FaultError: If the field is not a list.
        """
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"{key!r} is {shown(value)}; give a list")
        return value

    def rows(self, key: str) -> list[Row]:
        """Return the objects in a list field; empty if it is missing.

        Raises:
            FaultError: If the field is not a list, or an item is not an object.
        """
        return [
            row_of(item, f"{self.place}: {key} {number}")
            for number, item in enumerate(self.items(key), start=1)
        ]


def row_of(value: object, place: str) -> Row:
    """Return a JSON object as a row.

    Raises:
        FaultError: If the value is not an object.
    """
    if not isinstance(value, dict):
        raise FaultError(f"{place}: {shown(value)} is not an object; give one, as in {{...}}")
    return Row(value, place)


MAX_LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a line in bytes, greater than any line of a published dataset."""

BOM = b"\xef\xbb\xbf"
_POINTER = b"version https://git-lfs.github.com/spec/"


def json_lines(path: Path, faults: Faults, *, questions: int = 0) -> Iterator[Row]:
    """Yield the objects in a file of JSON lines. Blank lines are skipped.

    Args:
        path: File to read.
        faults: Collection for faults.
        questions: Number of questions that a faulty line makes unusable; 0 if a faulty line must
            not be tolerated.

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
    """Return the object in a line; None for a blank line."""
    if len(line) > MAX_LINE_BYTES:
        raise FaultError(
            f"{place}: the line is longer than {MAX_LINE_BYTES:,} bytes; give one object per line"
        )
    raw = line.removeprefix(BOM) if is_first else line
    return row_of(parsed(raw, place), place) if raw.strip() else None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        OptionError: If the file cannot be read, or is a Git LFS pointer.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_POINTER)) == _POINTER:
                raise OptionError(
                    f"{path} is a Git LFS pointer, not the file itself; run `git lfs pull` in its "
                    "checkout"
                )
            stream.seek(0)
            yield stream
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror or error}") from error


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; a line that is too long is truncated."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)
            if len(line) <= MAX_LINE_BYTES:
                break


def decoded(raw: bytes, place: str) -> str:
    """Return UTF-8 bytes as text.

    Raises:
        FaultError: If the bytes are not UTF-8.
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
        FaultError: If the bytes are not strict JSON: NaN, infinity and duplicate names are invalid.
    """
    try:
        value: object = json.loads(
            decoded(raw, place), parse_constant=_refused, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise FaultError(f"{place}: not JSON: {error}; correct it") from error
    return value


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is not a JSON number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; a duplicate name is an error, because one value would be lost."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(duplicate)} occurs twice in one object")
    return value

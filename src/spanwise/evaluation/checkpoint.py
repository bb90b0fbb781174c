"""Checkpoint of an evaluation, so that an interrupted run continues where it stopped.

Rules:
    A part is the results of one retriever for all questions at one budget. A finished part is
    written as a line of JSON under a hash of all that it depends on: questions, documents,
    settings, versions and the code of this package. If one of these changes, the part is measured
    again.
    A part with a failed search is not written: a temporary failure would count forever.
    Functions and retrievers of other programs may change without a sign: they are always measured
    again.
    A truncated or unreadable line is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieved
from spanwise.types import Usage
from spanwise.types.plain import from_plain, to_plain

if TYPE_CHECKING:
    from spanwise.types.plain import Plain


_FILE = "measured.jsonl"
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """Results of a retriever for one question, truncated to the budget, with time and usage."""

    found: tuple[Retrieved, ...]
    seconds: float
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    key: str
    rows: tuple[SearchOutcome, ...]


class Checkpoint:
    """Finished parts of evaluations, in a file of a folder; in no file without a folder."""

    def __init__(self, folder: Path | None, *, depends_on: Plain) -> None:
        """Read the file.

        Args:
            folder: Folder of the file; it is created if it is missing.
            depends_on: Dependencies of the parts besides retriever and budget.

        Raises:
            OptionError: If the folder cannot be created, or the file cannot be read.
        """
        self._path = None if folder is None else folder / _FILE
        self._depends_on = depends_on
        self._parts: dict[str, tuple[SearchOutcome, ...]] = {}
        if folder is None or self._path is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        except OSError as error:
            raise OptionError(
                f"the work folder {str(folder)!r} cannot be used: {error}; name another one"
            ) from error
        for line in lines:
            part = _read(line)
            if part is not None:
                self._parts[part.key] = part.rows

    def get(self, retriever: str, budget_tokens: int) -> tuple[SearchOutcome, ...] | None:
        """Return a part in the order of the questions; None if there is none."""
        return self._parts.get(self._key(retriever, budget_tokens))

    def put(self, retriever: str, budget_tokens: int, rows: Sequence[SearchOutcome]) -> None:
        """Write a finished part; it is synced to disk when this returns.

        Raises:
            OptionError: If it cannot be written.
        """
        if self._path is None:
            return
        part = _Part(key=self._key(retriever, budget_tokens), rows=tuple(rows))
        line = json.dumps(to_plain(part), ensure_ascii=False, separators=(",", ":"))
        try:
            with self._path.open("ab") as stream:
                # A line that a crash cut off must not swallow this one.
                stream.write(b"\n" + line.encode("utf-8") + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OptionError(
                f"{str(self._path)!r} cannot be written: {error}; name another work folder"
            ) from error

    def _key(self, retriever: str, budget_tokens: int) -> str:
        parts = [_FORMAT, self._depends_on, retriever, budget_tokens]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _read(line: bytes) -> _Part | None:
    """Return the part of a line; None for an empty, damaged or foreign line."""
    try:
        return from_plain(_Part, json.loads(line))
    except ValueError:
        return None

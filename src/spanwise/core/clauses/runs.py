"""Which numbers of a contract are clauses: those that count on.

Rules:
    A number is a clause where it goes on: with the number after the last one of its level, or
    with the first of a new level inside it. Up to two numbers of a level may be missing.
    Numbers that begin anew (a table of contents, a schedule, a list) are a run of their own; the
    run around it goes on behind it. A run that is short, or of hardly more than titles, has no
    clauses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from spanwise.core.clauses.marks import Mark, Reading, Style

__all__ = ["TOP_CLAUSE_LEVEL", "Clause", "count_clauses"]

TOP_CLAUSE_LEVEL = 3
"""Of the clause "12"; an article is one above it."""

_ARTICLE_LEVEL = 2
_SKIPS = 2
_LEAST_CLAUSES = 3
_LEAST_RECITALS = 2
_LEAST_CHARS = 80  # of a clause, on average
_OPEN_RUNS = 5

_BRACKETED: frozenset[Style] = frozenset(("(a)", "(i)", "(1)", "(A)"))
_INNER: frozenset[Style] = _BRACKETED | {"capital"}


class Clause(NamedTuple):
    """A number that counts."""

    mark: Mark
    level: int
    label: str
    """Its whole number: "12.3(b)"."""


class _Frame(NamedTuple):
    """A clause that is open, with the ones inside it above it on the stack."""

    style: Style
    parts: tuple[int, ...]
    level: int
    label: str


@dataclass(slots=True)
class _Run:
    """Clauses that were counted through, and those that are open."""

    frames: list[_Frame] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    least: int = _LEAST_CLAUSES
    """Fewer of them are none."""

    @property
    def has_words(self) -> bool:
        """Whether its clauses are more than titles or short lines."""
        chars = self.clauses[-1].mark.start - self.clauses[0].mark.start
        return chars >= _LEAST_CHARS * (len(self.clauses) - 1)

    def next_of(self, mark: Mark, *, skips: int) -> int | None:
        """Return which open clause a number follows, counted on the stack; None for none."""
        for reading in mark.readings:
            for at in reversed(range(len(self.frames))):
                frame = self.frames[at]
                if frame.style == reading.style and _follows(reading.parts, frame.parts, skips):
                    return at
        return None

    def go_on(self, mark: Mark, at: int) -> None:
        """Take a number that follows an open clause, as `next_of` says."""
        style = self.frames[at].style
        reading = next(reading for reading in mark.readings if reading.style == style)
        del self.frames[at:]
        self.push(mark, reading)

    def open(self, mark: Mark) -> bool:
        """Take the first number of a new level; return whether it is one."""
        return any(self._open(mark, reading) for reading in mark.readings)

    def _open(self, mark: Mark, reading: Reading) -> bool:
        *outer, last = reading.parts
        is_inner = reading.style in _INNER
        if last != 1 or (is_inner and not self.frames):
            return False
        if outer and not self._enter(tuple(outer)):
            return False
        if not is_inner and self.frames and not self._holds_numbers():
            return False
        count = len(reading.parts)
        if any(f.style == reading.style and len(f.parts) >= count for f in self.frames):
            return False
        self.push(mark, reading)
        return True

    def _holds_numbers(self) -> bool:
        """Return whether whole numbers may stand in the inmost clause: not in (a) or recitals."""
        return self.frames[-1].style not in _BRACKETED and self.frames[0].style not in _INNER

    def _enter(self, outer: tuple[int, ...]) -> bool:
        """Make the clause of some numbers the innermost one, though its own line be lost."""
        for at in reversed(range(len(self.frames))):
            frame = self.frames[at]
            if frame.style in _INNER:
                continue
            if frame.parts == outer:
                del self.frames[at + 1 :]
                return True
            if _follows(outer, frame.parts, _SKIPS):
                del self.frames[at:]
                break
        else:
            if self.frames or outer != (1,):
                return False
        label = ".".join(map(str, outer))
        self.frames.append(_Frame("number", outer, self._level("number"), label))
        return True

    def push(self, mark: Mark, reading: Reading) -> None:
        """Take a number inside the clauses that are open."""
        level, label = self._level(reading.style), mark.label
        if reading.style in _INNER:
            outer = self.frames[-1].label if self.frames else "Recital"
            between = " " if not self.frames else "." if reading.style == "capital" else ""
            label = f"{outer}{between}{label}"
        self.frames.append(_Frame(reading.style, reading.parts, level, label))
        self.clauses.append(Clause(mark, level, label))

    def _level(self, style: Style) -> int:
        if self.frames:
            return self.frames[-1].level + 1
        return _ARTICLE_LEVEL if style == "article" else TOP_CLAUSE_LEVEL


def _follows(parts: tuple[int, ...], last: tuple[int, ...], skips: int) -> bool:
    """Return whether a number comes after another of its level."""
    return (
        len(parts) == len(last)
        and parts[:-1] == last[:-1]
        and 0 < parts[-1] - last[-1] <= 1 + skips
    )


def count_clauses(marks: Iterable[tuple[Mark, bool]]) -> list[Clause]:
    """Return the numbers that are clauses, in order of start.

    Args:
        marks: Numbers in order of start, each with whether it may be the first recital.
    """
    runs: list[_Run] = []
    open_runs: list[_Run] = []
    for mark, may_be_recital in marks:
        taking = _taking_run(open_runs, mark)
        if taking is not None:
            del open_runs[open_runs.index(taking) + 1 :]
            continue
        run = _Run(least=_LEAST_RECITALS) if may_be_recital else _Run()
        if may_be_recital:
            run.push(mark, mark.readings[0])
        elif not run.open(mark):
            continue
        runs.append(run)
        open_runs = [*open_runs[1 - _OPEN_RUNS :], run]
    found = [run for run in runs if len(run.clauses) >= run.least and run.has_words]
    return sorted((clause for run in found for clause in run.clauses), key=lambda c: c.mark.start)


def _taking_run(open_runs: list[_Run], mark: Mark) -> _Run | None:
    """Return the open run that took a number: exactly the next one, a first one, or a later one.

    The inmost of several, but for lists of short lines. Letters belong to the inmost run that is
    no such list: other runs would go on with them by chance.
    """
    if mark.readings[0].style in _INNER:
        inmost = next((at for at in reversed(range(len(open_runs))) if open_runs[at].has_words), 0)
        open_runs = open_runs[inmost:]
    for skips in (0, _SKIPS):
        able = [
            (run, at) for run in open_runs if (at := run.next_of(mark, skips=skips)) is not None
        ]
        if able:
            run, at = next((pair for pair in reversed(able) if pair[0].has_words), able[-1])
            run.go_on(mark, at)
            return run
        if not skips:
            opened = next((run for run in reversed(open_runs) if run.open(mark)), None)
            if opened is not None:
                return opened
    return None

"""Progress bars, on standard error, only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from spanwise.cli.layout import count, duration, one_line, size
from spanwise.config import wants_colour

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from spanwise.types import IngestProgress


class IngestBar(AbstractContextManager["IngestBar"]):
    """Bar with share of bytes, documents, rate, time left and calls of models.

    It remembers how far it came, and hears the calls as a `Listener`.
    """

    def __init__(self, *, quiet: bool) -> None:
        """Draw nothing if quiet, or where standard error is no terminal."""
        self.acknowledged = 0
        """Documents added, replaced or found unchanged so far."""
        self._quiet = quiet or not sys.stderr.isatty()
        self._stack = ExitStack()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._documents = "reading"
        self._bytes_done = 0
        self._bytes_total: int | None = None
        self._calls = 0

    def __enter__(self) -> Self:
        """Start to draw."""
        if not self._quiet:
            self._progress = self._stack.enter_context(_new_progress())
            self._task = self._progress.add_task("reading", total=None, said="reading")
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._stack.close()

    def on_document(self, progress: IngestProgress) -> None:
        """Draw how far the ingest has come."""
        if progress.outcome not in ("failed", "removed"):
            self.acknowledged += 1
        self._documents = _said(progress, max(time.monotonic() - self._started, 1e-9))
        self._bytes_done = progress.bytes_done
        self._bytes_total = progress.bytes_total or None
        self._draw()

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Draw how many calls of models there were."""
        del seconds
        if name.startswith("model."):
            self._calls += counts["calls"]
            self._draw()

    def _draw(self) -> None:
        if self._progress is None or self._task is None:
            return
        calls = f", {count(self._calls, 'model call')}" if self._calls else ""
        self._progress.update(
            self._task,
            completed=self._bytes_done,
            total=self._bytes_total,
            said=f"{self._documents}{calls}",
        )


@contextmanager
def copy_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Give what draws how much is copied; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _new_progress() as progress:
        task = progress.add_task("copying", total=None, said="copying")

        def draw(done: int, total: int) -> None:
            said = f"{size(done)} of {size(total)}"
            progress.update(task, completed=done, total=total, said=said)

        yield draw


@contextmanager
def step_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give what draws a step, how much of it is done, and how much there is.

    It draws nothing if quiet, or where standard error is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    with _new_progress() as progress:
        task = progress.add_task("measuring", total=None, said="measuring")

        def draw(step: str, done: int, total: int) -> None:
            said = f"{done:,} of {total:,}, {one_line(step)}"
            progress.update(task, completed=done, total=total, said=said)

        yield draw


@contextmanager
def waiting(said: str) -> Iterator[None]:
    """Say what goes on for as long as it does, and take it away then."""
    if not sys.stderr.isatty():
        yield
        return
    with _new_progress() as progress:
        progress.add_task("waiting", total=None, said=said)
        yield


def _said(progress: IngestProgress, seconds: float) -> str:
    """Return documents, rate and time left, the last one where it can be known."""
    said = (
        f"{progress.documents_done:,}/{count(progress.documents_total, 'document')}, "
        f"{progress.chunks / seconds:,.0f} chunks/s"
    )
    if not progress.bytes_done:
        return said
    left = seconds * (progress.bytes_total - progress.bytes_done) / progress.bytes_done
    return f"{said}, {duration(left)} left" if left >= 1 else said


def _new_progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
    )

    return Progress(
        BarColumn(bar_width=14),
        TaskProgressColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        console=Console(stderr=True, no_color=not wants_colour()),
        transient=True,
    )

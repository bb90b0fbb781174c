"""Progress bars on standard error; shown only if it is a terminal."""

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
    """Progress bar of an ingest: bytes, documents, rate, remaining time and model calls.

    It is a `Listener`, which counts the model calls.
    """

    def __init__(self, *, quiet: bool) -> None:
        """Create the bar.

        Args:
            quiet: Whether to draw nothing.
        """
        self.stored = 0
        """Number of documents added, replaced or unchanged so far."""
        self._quiet = quiet or not sys.stderr.isatty()
        self._stack = ExitStack()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._status = "reading"
        self._is_animated = True
        """Whether the bar is redrawn several times a second; otherwise, it is redrawn only after an
        event."""
        self._bytes_done = 0
        self._bytes_total: int | None = None
        self._calls = 0
        self._part = ""
        """Progress inside the current document."""

    def __enter__(self) -> Self:
        """Show the bar."""
        if not self._quiet:
            self._progress = self._stack.enter_context(_new_progress(is_animated=self._is_animated))
            self._task = self._progress.add_task("reading", total=None, status=self._status)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._stack.close()

    def wait(self, status: str) -> None:
        """Show a status until the next document; it is drawn once and may be shown for days."""
        self._is_animated = False
        self._status, self._part = status, ""
        self._bytes_done, self._bytes_total = 0, None
        self._started = time.monotonic()

    def on_document(self, progress: IngestProgress) -> None:
        """Update the documents and bytes."""
        if progress.outcome not in ("failed", "removed"):
            self.stored += 1
        self._status = _ingest_status(progress, max(time.monotonic() - self._started, 1e-9))
        self._bytes_done = progress.bytes_done
        self._bytes_total = progress.bytes_total or None
        self._part = ""
        self._draw()

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Update the number of model calls, or the progress inside a large document."""
        del seconds
        if name.startswith("model."):
            self._calls += counts["calls"]
        elif name == "parse":
            self._part = f"page {counts['page']:,} of {counts['pages']:,}"
        elif name == "embed":
            self._part = f"{counts['chunks']:,} of {count(counts['total'], 'chunk')} embedded"
        elif name == "fetch":
            self._part = f"{count(counts['pages'], 'page')} requested"
        self._draw()

    def _draw(self) -> None:
        if self._progress is None or self._task is None:
            return
        calls = f", {count(self._calls, 'model call')}" if self._calls else ""
        part = f", {self._part}" if self._part else ""
        self._progress.update(
            self._task,
            completed=self._bytes_done,
            total=self._bytes_total,
            status=f"{self._status}{part}{calls}",
            refresh=not self._is_animated,
        )


@contextmanager
def copy_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that draws the copied and total bytes, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _new_progress() as progress:
        task = progress.add_task("copying", total=None, status="copying")

        def draw(done: int, total: int) -> None:
            status = f"{size(done)} of {size(total)}"
            progress.update(task, completed=done, total=total, status=status)

        yield draw


@contextmanager
def step_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that draws the name of a step and its finished and total items.

    Args:
        quiet: Whether to draw nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    with _new_progress() as progress:
        task = progress.add_task("measuring", total=None, status="measuring")

        def draw(step: str, done: int, total: int) -> None:
            status = f"{done:,} of {total:,}, {one_line(step)}"
            progress.update(task, completed=done, total=total, status=status)

        yield draw


@contextmanager
def waiting(status: str) -> Iterator[None]:
    """Show a status while a step runs, and remove it afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    with _new_progress() as progress:
        progress.add_task("waiting", total=None, status=status)
        yield


def _ingest_status(progress: IngestProgress, seconds: float) -> str:
    """Return documents, rate and, if it can be estimated, the remaining time."""
    status = (
        f"{progress.documents_done:,}/{count(progress.documents_total, 'document')}, "
        f"{progress.chunks / seconds:,.0f} chunks/s"
    )
    if not progress.bytes_done:
        return status
    left = seconds * (progress.bytes_total - progress.bytes_done) / progress.bytes_done
    return f"{status}, {duration(left)} left" if left >= 1 else status


def _new_progress(*, is_animated: bool = True) -> Progress:
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
        TextColumn("{task.fields[status]}", markup=False),
        console=Console(stderr=True, no_color=not wants_colour()),
        transient=True,
        auto_refresh=is_animated,
    )

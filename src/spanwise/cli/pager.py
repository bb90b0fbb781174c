"""Pager for output that is longer than the terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


class _TerminalText(io.StringIO):
    """Text in memory that is formatted as on the terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True, so that colours and wrapping are those of a terminal."""
        return True


@contextmanager
def paged_output() -> Iterator[None]:
    """Collect standard output, and show it in the pager at the end if it is long.

    The pager is the program that the environment variable PAGER names, or `less`.
    """
    terminal = sys.stdout
    collected = _TerminalText()
    collected.encoding = terminal.encoding
    sys.stdout = collected
    try:
        yield
    finally:
        sys.stdout = terminal
        text = collected.getvalue()
        columns, lines = shutil.get_terminal_size()
        needed = sum(1 + len(click.unstyle(line)) // columns for line in text.splitlines())
        if needed < lines:
            terminal.write(text)
        else:
            click.echo_via_pager(text.removesuffix("\n"))


def _start(context: click.Context, _: click.Parameter, is_off: bool) -> None:
    if not is_off and sys.stdout.isatty() and not context.resilient_parsing:
        context.with_resource(paged_output())


pager_option = click.option(
    "--no-pager",
    is_flag=True,
    expose_value=False,
    callback=_start,
    help="Do not show long output on a terminal in a pager (PAGER or `less`).",
)
"""Option `--no-pager` of commands with long output."""

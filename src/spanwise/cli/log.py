"""Warnings that the library logs, as lines of the command line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from spanwise.cli.layout import Page

__all__ = ["drawn_warnings"]


class _DrawnWarnings(logging.Handler):
    """Writes each warning on standard error, as those of an ingest are written."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        Page(sys.stderr).message("warning: ", record.getMessage(), "yellow")


@contextmanager
def drawn_warnings() -> Iterator[None]:
    """Draw what the library logs while a command runs; nothing is configured beyond it."""
    logger = logging.getLogger("spanwise")
    handler = _DrawnWarnings(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)

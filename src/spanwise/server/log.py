"""Log of the processes that the server starts, for the terminal of its operator."""

from __future__ import annotations

import logging

from spanwise.core.text.controls import clean


class _Formatter(logging.Formatter):
    """Formatter of records that contain texts of documents and of other servers."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record without terminal control characters, with its further lines indented.

        A text in it therefore neither controls the terminal nor imitates another record.
        """
        return clean(super().format(record)).replace("\n", "\n  ")


def log_to_stderr() -> None:
    """Write the warnings and errors of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Formatter())
    logging.getLogger("spanwise").addHandler(handler)

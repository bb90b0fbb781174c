"""Short text files in UTF-8, which are read without the parsing process.

The parsing process protects against parsers that crash, hang or need much memory. No such parser
reads these files: they are decoded as UTF-8, and their format is detected in linear time.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from spanwise.parsers.detect import detect_format
from spanwise.parsers.parsed import Step
from spanwise.parsers.plugins import OWN_PARSERS
from spanwise.parsers.process.protocol import Header
from spanwise.parsers.process.worker import reply_of, source_of
from spanwise.parsers.text import parse_text

_MAX_BYTES = 1_000_000
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags with which a pipe without a writer is opened without waiting for one."""
_BINARY = bytes({*range(0x20)} - set(b"\t\n\f\r")) + b"\x7f"


def read_short_text(
    path: Path, header: Header, *, on_step: Callable[[Step], None]
) -> tuple[Header, bytes] | None:
    """Return the answer that the parsing process would give; None if it must read the file.

    Args:
        path: The file.
        header: Header of the request.
        on_step: Callback before each step.

    Raises:
        ParseError: If the file has no text, or too much.
    """
    if header["parser"] != OWN_PARSERS or header["charset"] is not None:
        return None
    data = _read_bytes(path, limit=min(_MAX_BYTES, header["max_file_bytes"]))
    if data is None or not _is_text(data):
        return None
    source = source_of({**header, "skipped_pages": ()}, data, on_step=on_step)
    if detect_format(source) != "text":
        return None
    on_step(Step.of_bytes(len(data)))
    content_hash = hashlib.sha256(data).hexdigest()
    return reply_of(parse_text(source), source, content_hash=content_hash)


def _read_bytes(path: Path, *, limit: int) -> bytes | None:
    """Return the bytes of a regular file; None if it is longer, or cannot be read."""
    try:
        with os.fdopen(os.open(path, _OPEN), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(limit + 1)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    return data if 0 < len(data) <= limit else None


def _is_text(data: bytes) -> bool:
    """Return whether bytes are text in UTF-8. Binary formats begin with control characters."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(data.translate(None, _BINARY)) == len(data)

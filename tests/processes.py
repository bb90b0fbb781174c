"""Files and the processes that parse them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from spanwise.parsers.process.isolation import ParserPool
from spanwise.types import Document

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of memory, names that are no UTF-8 and /proc are Linux"
)


def parse(pool: ParserPool, path: Path) -> Document:
    return pool.parse(path, document_id="id", source=f"folder/{path.name}", source_root="folder")


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def request_header(name: str, **fields: object) -> dict[str, Any]:
    """Return the header of a request to parse bytes; fields replace the small limits."""
    return {
        "task": "parse",
        "kind": "bytes",
        "name": name,
        "media_type": None,
        "charset": None,
        "max_file_bytes": 1_000_000,
        "max_unpacked_bytes": 1_000_000,
        "max_text_bytes": 1_000_000,
        "text_option": "max_text_bytes=1000000",
        "max_pages": 10,
        "skipped_pages": [],
        "timeout_seconds": 60,
        "parser": "spanwise",
        "ocr": "off",
        "leaves_pictures": False,
        "leaves_figures": False,
        **fields,
    }

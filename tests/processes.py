"""Files and the processes that parse them."""

from __future__ import annotations

import sys
from pathlib import Path

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

"""Readers that may not write the folder: they see whole documents, and never old ones for ever."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.security.foreign_reader import text_of

from spanwise import KnowledgeBase

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder of its own: pytest closes `tmp_path` to other users when a run starts."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def let_in(folder: Path) -> None:
    """Let other users reach and read a folder and its files, and not write them."""
    for parent in (folder, *folder.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | 0o055)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def made(path: Path, *, documents: int) -> dict[str, int]:
    """Make a knowledge base that others may read; return the version of each document."""
    with KnowledgeBase(path, embedder=None) as base:
        for number in range(documents):
            base.add_text(text_of(f"d{number}", 0), document_id=f"d{number}")
    let_in(path)
    return {f"d{number}": 0 for number in range(documents)}


@contextmanager
def foreign_reader(folder: Path, *, how: str) -> Iterator[dict[str, Any]]:
    """Let another user read `a.kb` meanwhile; what it saw is there afterwards."""
    made(folder / "warming.kb", documents=1)
    words = [sys.executable, "-m", "tests.security.foreign_reader"]
    seen: dict[str, Any] = {}
    with subprocess.Popen(
        [*words, str(folder / "a.kb"), str(folder / "warming.kb"), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        started = process.stdout.readline()
        yield seen
        output, errors = process.communicate("", timeout=60)
    assert (started, process.returncode) == ("ready\n", 0), errors
    seen.update(json.loads(output.splitlines()[-1]))


def write(base: KnowledgeBase, versions: dict[str, int], name: str, version: int) -> None:
    base.add_text(text_of(name, version), document_id=name, replace=True)
    versions[name] = version


@pytest.mark.parametrize(("how", "documents"), [("anew", 3), ("keep", 3), ("anew", 40)])
def test_a_reader_without_write_access_sees_what_the_owner_writes(
    folder: Path, how: str, documents: int
) -> None:
    versions = made(folder / "a.kb", documents=documents)
    with foreign_reader(folder, how=how) as seen:
        version, until = 0, time.monotonic() + 0.5
        while time.monotonic() < until:
            version += 1
            with KnowledgeBase(folder / "a.kb") as base:
                for number in range(version % 4, documents, 4):
                    write(base, versions, f"d{number}", version)
                gone = f"d{version % documents}"
                assert base.remove(gone)
                write(base, versions, gone, version)
                if version % 3 == 0:
                    base.compact()
            time.sleep(0.02 * (version % 5))
    assert seen["faults"] == {}
    assert seen["found"] == versions
    assert seen["reads"] > 0

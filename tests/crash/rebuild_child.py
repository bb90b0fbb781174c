"""Child process of the crash test of rebuilds: it rebuilds, and kills itself at a given point.

Started as `python -m tests.crash.rebuild_child FOLDER POINT NUMBER`. It is killed when it has
reached the point for the given time; a number of 0 means never. The points are calls of functions
of the store, which are wrapped here, so the store holds no test code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rebuilds import HashEmbedder

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import EmbedderMismatchError
from spanwise.ingest import rebuild as documents
from spanwise.stores import embedded, rebuild
from spanwise.stores.index import Index

CHUNKS = ChunkOptions(target=100, max=140, paragraph_min=50, block_max=200)
"""Chunk options of the new state."""

POINTS: dict[str, tuple[Any, str]] = {
    "prepare": (documents.Rebuilder, "_entry"),
    "put": (rebuild.EmbeddedRebuild, "put"),
    "flush": (Index, "flush"),
    "rows": (rebuild, "_replace_rows"),
    "outputs": (rebuild, "_copy_outputs"),
    "parts": (rebuild.EmbeddedRebuild, "_move_parts"),
    "committed": (rebuild.EmbeddedRebuild, "_use_parts"),
    "manifest": (rebuild, "write_manifest"),
    "compact": (embedded, "reclaim_all"),
}
"""Functions around which the process is killed, by name of the point."""


def opened(path: Path) -> KnowledgeBase:
    """Open a knowledge base in the state before or after the rebuild."""
    try:
        return KnowledgeBase(path, create=False, embedder=None)
    except EmbedderMismatchError:
        return KnowledgeBase(path, create=False, embedder=HashEmbedder())


def kill_around(owner: Any, name: str, number: int) -> None:
    """Wrap a function: the process is killed before (odd) or after (even) one of its calls."""
    real: Callable[..., Any] = getattr(owner, name)
    left = number

    def killing(*arguments: Any, **keywords: Any) -> Any:
        nonlocal left
        for is_after in (False, True):
            result = real(*arguments, **keywords) if is_after else None
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, killing)


def main(folder: str, point: str, number: str) -> None:
    """Rebuild a knowledge base."""
    if point in POINTS:
        kill_around(*POINTS[point], int(number))
    with opened(Path(folder)) as base:
        base.rebuild(chunks=CHUNKS, embedder=HashEmbedder())


if __name__ == "__main__":
    main(*sys.argv[1:])

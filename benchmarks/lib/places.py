"""Places for knowledge bases that a benchmark fills."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.postgres import postgres_database

__all__ = ["place_of"]


@contextmanager
def place_of(store: str) -> Iterator[str]:
    """Yield the address of a knowledge base that does not exist yet.

    Args:
        store: "folder", or "postgres" for a database that is removed at the end.
    """
    if store == "postgres":
        with postgres_database() as address:
            yield f"{address}?schema=benchmark"
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        yield str(Path(folder) / "benchmark.kb")

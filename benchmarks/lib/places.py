"""Places for knowledge bases that a benchmark fills."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.postgres import postgres_database

__all__ = ["place_of", "qdrant_edge"]


@contextmanager
def qdrant_edge() -> Iterator[str]:
    """Yield the address of Qdrant's engine (Qdrant Edge) behind an HTTP server of the tests."""
    from tests.servers.qdrant_edge import edge_client
    from tests.servers.qdrant_rest import rest_server

    with edge_client() as engine, rest_server(engine) as server:
        yield f"qdrant://127.0.0.1:{server.port}"


@contextmanager
def place_of(store: str) -> Iterator[str]:
    """Yield the address of a knowledge base that does not exist yet.

    Args:
        store: "folder", "postgres" for a database that is removed at the end, or "qdrant" for
            Qdrant Edge behind a small HTTP server in this process.
    """
    if store == "qdrant":
        with qdrant_edge() as address:
            yield f"{address}/benchmark"
        return
    if store == "postgres":
        with postgres_database() as address:
            yield f"{address}?schema=benchmark"
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        yield str(Path(folder) / "benchmark.kb")

"""The Qdrant store passes the suite, on each engine that can run here.

Three engines: the local mode of `qdrant-client` (a Python implementation of the server's
semantics); Qdrant Edge, the engine of the server in this process; and, if SPANWISE_TEST_QDRANT_URL
is set, the server or cluster at this address.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from tests.servers.qdrant_edge import SharedClient, edge_client

from spanwise.stores.port import Store
from spanwise.stores.qdrant.store import open_qdrant
from spanwise.testing.stores import StoreConformance

_SERVER = os.environ.get("SPANWISE_TEST_QDRANT_URL", "")


def base_name(path: Path) -> str:
    """Return the name of a knowledge base for a path."""
    return "-".join(path.parts[-2:]).replace("_", "-")[-80:].strip("-")


class LocalClient(SharedClient):
    """Client in local mode."""

    def create_payload_index(self, **_: object) -> None:
        """Do nothing, because the local mode has no payload indexes, and warns."""


class TestLocalMode(StoreConformance):
    """On the local mode of `qdrant-client`."""

    has_backup = False
    has_rebuild = False

    @pytest.fixture(autouse=True)
    def clients(self) -> Iterator[None]:
        """Provide a new server for each test."""
        self.client = QdrantClient(":memory:")
        yield
        self.client.close()

    def open_store(self, path: Path) -> Store:
        """Open the knowledge base with the name of the path."""
        return open_qdrant(f"qdrant://local/{base_name(path)}", client=LocalClient(self.client))


class TestEdge(StoreConformance):
    """On Qdrant Edge."""

    has_backup = False
    has_rebuild = False

    @pytest.fixture(autouse=True)
    def engines(self) -> Iterator[None]:
        """Provide a new engine for each test."""
        with edge_client() as self.engine:
            yield

    def open_store(self, path: Path) -> Store:
        """Open the knowledge base with the name of the path."""
        client = SharedClient(self.engine)
        return open_qdrant(f"qdrant://edge/{base_name(path)}", client=client)


if _SERVER:

    class TestServer(StoreConformance):
        """On the server or cluster of SPANWISE_TEST_QDRANT_URL, such as qdrant://host:6333."""

        has_backup = False
        has_rebuild = False

        @pytest.fixture(autouse=True)
        def names(self) -> Iterator[None]:
            """Use names that no other knowledge base has, and delete their collections."""
            self.prefix = f"spanwise-test-{uuid.uuid4().hex[:12]}"
            self.stores: list[Store] = []
            yield
            client = QdrantClient(
                url=_SERVER.replace("qdrant", "http", 1),
                api_key=os.environ.get("QDRANT_API_KEY"),
            )
            for collection in client.get_collections().collections:
                if collection.name.startswith(self.prefix):
                    client.delete_collection(collection.name)
            client.close()

        def open_store(self, path: Path) -> Store:
            """Open the knowledge base with the name of the path."""
            return open_qdrant(f"{_SERVER}/{self.prefix}-{base_name(path)}"[:100])

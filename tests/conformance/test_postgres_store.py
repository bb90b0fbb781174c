"""The PostgreSQL store passes the suite, and processes share it."""

import hashlib
from pathlib import Path

import pytest

from spanwise.stores.port import Store
from spanwise.stores.postgres.store import open_postgres
from spanwise.testing.stores import StoreConformance


class TestPostgresStore(StoreConformance):
    """Each path is a schema in one database of a real server."""

    on_disk = True
    has_backup = False

    @pytest.fixture(autouse=True)
    def _use(self, postgres_url: str) -> None:
        self._url = postgres_url

    def open_store(self, path: Path) -> Store:
        """Open the schema of a path."""
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        return open_postgres(f"{self._url}?schema={name}", durability="fast")

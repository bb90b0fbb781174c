"""The reference store passes the suite."""

from pathlib import Path

from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import Store
from spanwise.testing.stores import StoreConformance


class TestMemoryStore(StoreConformance):
    """In memory: nothing is there when it is opened again."""

    on_disk = False

    def open_store(self, path: Path) -> Store:
        """Return a new one."""
        return MemoryStore()

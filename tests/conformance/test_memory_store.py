"""The reference store passes the suite."""

from pathlib import Path

from spanwise.ports import Store
from spanwise.stores.memory import MemoryStore
from spanwise.testing.stores import StoreConformance


class TestMemoryStore(StoreConformance):
    """In memory: nothing is there when it is opened again."""

    on_disk = False

    def open_store(self, path: Path) -> Store:
        """Return a new one."""
        return MemoryStore()

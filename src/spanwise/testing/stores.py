"""Conformance suite of stores.

::

    from spanwise.testing.stores import StoreConformance

    class TestMyStore(StoreConformance):
        on_disk = True

        def open_store(self, path):
            return MyStore(path)

pytest collects the checks by their names. Assertions have detailed messages if a `conftest.py`
calls `pytest.register_assert_rewrite("spanwise.testing")`.
"""

from __future__ import annotations

from spanwise.testing.store_documents import DocumentChecks
from spanwise.testing.store_lives import LifeChecks
from spanwise.testing.store_packs import PackChecks
from spanwise.testing.store_records import OutputChecks, ThreadChecks
from spanwise.testing.store_searches import SearchChecks


class StoreConformance(
    DocumentChecks, SearchChecks, PackChecks, OutputChecks, ThreadChecks, LifeChecks
):
    """All checks of stores. Subclasses define `open_store` and `on_disk`."""

"""Conformance suite of stores.

::

    from spanwise.testing.stores import StoreConformance

    class TestMyStore(StoreConformance):
        on_disk = True  # False for a store in memory
        has_backup = True  # False for a store whose `backup` raises StoreError
        has_rebuild = True  # False for a store whose `open_rebuild` raises StoreError

        def open_store(self, path):
            return MyStore(path)

pytest collects the checks by their names. Assertions have detailed messages if a `conftest.py`
calls `pytest.register_assert_rewrite("spanwise.testing")`.
"""

from __future__ import annotations

from spanwise.testing.store_copies import CopyChecks
from spanwise.testing.store_documents import DocumentChecks
from spanwise.testing.store_lives import LifeChecks
from spanwise.testing.store_packs import PackChecks
from spanwise.testing.store_rebuilds import RebuildChecks
from spanwise.testing.store_records import OutputChecks, ThreadChecks
from spanwise.testing.store_searches import SearchChecks
from spanwise.testing.store_several import SeveralChecks
from spanwise.testing.store_updates import UpdateChecks


class StoreConformance(
    DocumentChecks,
    UpdateChecks,
    CopyChecks,
    SearchChecks,
    SeveralChecks,
    PackChecks,
    OutputChecks,
    ThreadChecks,
    LifeChecks,
    RebuildChecks,
):
    """All checks of stores.

    Subclasses define `open_store`, `on_disk`, `has_backup` and `has_rebuild`.
    """

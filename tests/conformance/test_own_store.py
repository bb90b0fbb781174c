"""A store written outside of the package passes the suite, in the few lines that the docs show."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.own_store import RowStore

from spanwise.errors import StoreError
from spanwise.stores.port import Store
from spanwise.testing.stores import StoreConformance


class TestRowStore(StoreConformance):
    """In a SQLite file, shared by all who open it."""

    on_disk = True
    has_rebuild = False

    def open_store(self, path: Path) -> Store:
        """Open the file in a folder."""
        return RowStore(path)


class UncopiedStore(RowStore):
    """Row store without backups, as a store on a server."""

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Raise an error."""
        raise StoreError(f"{target} cannot be written; use the backup of the server")


class UncopiedChecks(StoreConformance):
    """Not collected: only the checks that make backups run, below."""

    has_backup = False

    def open_store(self, path: Path) -> Store:
        """Open the file in a folder."""
        return UncopiedStore(path)


def test_a_store_may_have_no_backups(tmp_path: Path) -> None:
    """With `has_backup = False` the suite expects an error instead of a copy."""
    UncopiedChecks().test_a_copy_is_a_store_of_its_own(tmp_path)
    UncopiedChecks().test_conversations_are_there_when_it_is_opened_again(tmp_path / "b")


def test_the_suite_finds_a_missing_error(tmp_path: Path) -> None:
    """A store that claims to have no backups, and makes them, fails."""

    class Claims(UncopiedChecks):
        def open_store(self, path: Path) -> Store:
            return RowStore(path)

    with pytest.raises(BaseException, match="DID NOT RAISE"):
        Claims().test_a_copy_is_a_store_of_its_own(tmp_path)

"""Settings of a knowledge base in PostgreSQL, and the check for rebuilds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from spanwise.errors import StoreError, StoreRebuiltError
from spanwise.stores.index import REVISION, IndexSettings
from spanwise.stores.postgres.values import texts

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection


SETTINGS = "select name, value from setting"
"""Statement that reads all settings."""


def read_settings(connection: Connection) -> dict[str, str]:
    """Return all settings, ordered by name."""
    return dict(sorted(connection.execute(SETTINGS).fetchall()))


def add_settings(connection: Connection, settings: Mapping[str, str]) -> None:
    """Record settings that are not recorded yet."""
    connection.execute(
        "insert into setting (name, value) select * from unnest(%s::text[], %s::text[])"
        " on conflict do nothing",
        (texts(list(settings)), texts(list(settings.values()))),
    )


def change_settings(connection: Connection, settings: Mapping[str, str]) -> None:
    """Record settings and overwrite existing values."""
    connection.execute(
        "insert into setting (name, value) select * from unnest(%s::text[], %s::text[])"
        " on conflict (name) do update set value = excluded.value",
        (texts(list(settings)), texts(list(settings.values()))),
    )


class ExpectedSettings:
    """Settings with which the callers of a store prepare documents and questions."""

    def __init__(self, name: str) -> None:
        """Create the object; the first recorded settings that it sees are expected.

        Args:
            name: Address of the knowledge base without passwords, for messages.
        """
        self._name = name
        self._settings: IndexSettings | None = None

    def use(self, settings: Mapping[str, str]) -> None:
        """Expect recorded settings even after a rebuild; only the first call counts.

        Args:
            settings: Recorded settings; ignored if they are those of an empty knowledge base.
        """
        if self._settings is None and "dimension" in settings:
            with suppress(StoreError):  # reported by the first use
                self._settings = IndexSettings.parse(settings)

    @property
    def known(self) -> IndexSettings | None:
        """The expected settings; None if none were seen yet."""
        return self._settings

    def check_revision(self, connection: Connection) -> None:
        """Check that a transaction sees the expected settings.

        Raises:
            StoreRebuiltError: If a rebuild changed them since the store was opened.
        """
        if self._settings is not None:
            self._check(read_settings(connection), self._settings)

    def check(self, recorded: Mapping[str, str]) -> IndexSettings:
        """Return the expected settings, after a check against those that a transaction sees.

        Args:
            recorded: All settings in the transaction (`read_settings`).

        Raises:
            StoreRebuiltError: If a rebuild changed them since the store was opened.
            StoreError: If they are not recorded yet.
        """
        if self._settings is None:
            self._settings = IndexSettings.parse(recorded)
        self._check(recorded, self._settings)
        return self._settings

    def _check(self, recorded: Mapping[str, str], expected: IndexSettings) -> None:
        if recorded.get(REVISION, "") != expected.revision:
            raise StoreRebuiltError(
                f"the knowledge base {self._name} was rebuilt with other settings since it was "
                "opened; open it again"
            )

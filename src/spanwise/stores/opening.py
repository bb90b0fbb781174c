"""From the path or address of a knowledge base to its store.

The modules of stores on servers are imported when an address of their kind is opened. Their
packages are installed with the extras "postgres" and "qdrant".
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.config import StoreAddress
from spanwise.errors import FormatError, OptionError

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.stores.port import Store
    from spanwise.types import Durability

MEMORY = ":memory:"
"""Path of a temporary knowledge base in memory."""


class _Kind(NamedTuple):
    """How stores of one kind are opened."""

    title: str
    module: str
    function: str
    packages: tuple[str, ...]
    extra: str
    has_durability: bool = False


_KINDS = {
    "postgresql": _Kind(
        title="PostgreSQL",
        module="spanwise.stores.postgres.store",
        function="open_postgres",
        packages=("psycopg", "psycopg_pool"),
        extra="postgres",
        has_durability=True,
    ),
    "qdrant": _Kind(
        title="Qdrant",
        module="spanwise.stores.qdrant.store",
        function="open_qdrant",
        packages=("qdrant_client",),
        extra="qdrant",
    ),
}


def open_store(location: Location, *, create: bool, durability: Durability = "full") -> Store:
    """Return the store of a folder or an address, or a temporary one for ":memory:".

    Args:
        location: Place of the knowledge base.
        create: Whether to create a missing knowledge base.
        durability: Durability of its writes.

    Raises:
        FormatError: If there is no knowledge base, or it has a newer format.
        OptionError: If a package is missing, or the store has no option for the durability.
        StoreError: If it cannot be created or opened.
    """
    # Imported here to keep the import of spanwise fast.
    if isinstance(location, StoreAddress):
        return _open_address(location, create=create, durability=durability)
    if str(location) == MEMORY:
        if not create:
            raise FormatError(
                '":memory:" is always a new, empty knowledge base; name the folder or address of '
                "one that exists, or create one with create=True in Python"
            )
        from spanwise.stores.memory import MemoryStore

        return MemoryStore()
    from spanwise.stores.readonly import open_folder

    return open_folder(location.absolute(), create=create, durability=durability)


def _open_address(address: StoreAddress, *, create: bool, durability: Durability) -> Store:
    kind = _KINDS[address.kind]
    missing = [package for package in kind.packages if find_spec(package) is None]
    if missing:
        raise OptionError(
            f"a knowledge base in {kind.title} needs {', '.join(missing)}: "
            f"pip install 'spanwise[{kind.extra}]'"
        )
    if durability != "full" and not kind.has_durability:
        raise OptionError(
            f"durability is {durability!r}, and {address} has no such option; leave it out"
        )
    options = {"durability": durability} if kind.has_durability else {}
    open_kind: Any = getattr(import_module(kind.module), kind.function)
    store: Store = open_kind(address.reveal(), create=create, **options)
    return store

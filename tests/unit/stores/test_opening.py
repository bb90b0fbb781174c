"""From a path or an address to a store."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.config import find_location
from spanwise.errors import FormatError, OptionError
from spanwise.knowledge_base.components import is_vacant
from spanwise.stores.memory import MemoryStore
from spanwise.stores.opening import open_store


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("postgresql://127.0.0.1:9/reports", "psycopg", "postgres"),
        ("postgresql://127.0.0.1:9/reports", "psycopg_pool", "postgres"),
        ("qdrant://127.0.0.1:9/reports", "qdrant_client", "qdrant"),
    ],
)
def test_a_missing_package_is_named(
    address: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "spanwise.stores.opening.find_spec", lambda name: None if name == package else find(name)
    )
    with pytest.raises(OptionError, match=rf"{package}: pip install 'spanwise\[{extra}\]'"):
        open_store(find_location(address), create=True)


def test_an_option_that_the_store_lacks_is_refused() -> None:
    with pytest.raises(OptionError, match="durability"):
        open_store(find_location("qdrant://127.0.0.1:9/reports"), create=True, durability="fast")


def test_memory_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_store(find_location(":memory:"), create=True), MemoryStore)
    assert list(tmp_path.iterdir()) == []


def test_memory_has_no_knowledge_base_that_exists() -> None:
    with pytest.raises(FormatError, match="memory"):
        KnowledgeBase(":memory:", create=False)


def test_a_place_is_vacant_until_something_is_there(tmp_path: Path) -> None:
    place = tmp_path / "a.kb"
    assert is_vacant(place)
    place.mkdir()
    assert is_vacant(place)
    with pytest.raises(FormatError):
        open_store(place, create=False)
    KnowledgeBase(place, embedder=None).close()
    assert not is_vacant(place)


class Database(MemoryStore):
    """Stands for a store on a server."""

    def close(self) -> None:
        """Stay open, as a database does."""


@pytest.fixture
def databases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Database]:
    """Return stores by their address; opening an address creates one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made: dict[str, Database] = {}

    class Module:
        @staticmethod
        def open_postgres(address: str, *, create: bool, durability: str) -> Database:
            if address not in made and not create:
                raise FormatError("there is no knowledge base")
            return made.setdefault(address, Database())

    monkeypatch.setattr("spanwise.stores.opening.import_module", lambda _: Module)
    return made


ADDRESS = "postgresql://me:hunter2@db/reports?schema=legal"


def test_a_knowledge_base_at_an_address(databases: dict[str, Database]) -> None:
    place = find_location(ADDRESS)
    assert is_vacant(place)
    with pytest.raises(FormatError):
        KnowledgeBase(ADDRESS, create=False)
    with KnowledgeBase(ADDRESS, embedder=None) as base:
        base.add_text("The margin fell.", document_id="a")
        assert base.info().path == "postgresql://me@db/reports?schema=legal"
        assert "hunter2" not in repr(base)
    assert list(databases) == [ADDRESS]
    assert not is_vacant(place)
    with KnowledgeBase(ADDRESS, create=False) as base:
        assert [record.id for record in base.list()] == ["a"]
    with pytest.raises(OptionError, match="made with"):
        KnowledgeBase(ADDRESS, tokenizer="cl100k_base")


def test_an_empty_store_holds_no_knowledge_base(databases: dict[str, Database]) -> None:
    databases[ADDRESS] = Database()
    assert is_vacant(find_location(ADDRESS))
    with pytest.raises(FormatError, match="holds no knowledge base") as caught:
        KnowledgeBase(ADDRESS, create=False)
    assert "hunter2" not in str(caught.value)


def test_logs_of_crawls_are_in_the_cache_of_the_user(
    databases: dict[str, Database], tmp_path: Path
) -> None:
    folders: Sequence[Path | None] = []
    for address in (ADDRESS, ADDRESS.replace("hunter2", "other"), f"{ADDRESS}&tenant=acme"):
        with KnowledgeBase(address, embedder=None) as base:
            folders = [*folders, base._components.log_folder]
    one, same, other = folders
    assert one == same, "the password is no part of the name"
    assert one != other
    assert one is not None
    assert one.is_relative_to(tmp_path / "cache" / "spanwise")

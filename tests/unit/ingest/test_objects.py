"""Objects are found and read through fsspec, here in its own memory store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from spanwise.errors import FetchError, OptionError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.object_storage import download, objects_of
from spanwise.ingest.sources import Source, find_sources
from spanwise.ingest.sync import scan_folder

FILES = {
    "a.txt": b"one",
    "deep/b.md": b"two",
    "deep/.hidden": b"3",
    "x.zip": b"PK",
    "odd::n.txt": b"5",
}


@pytest.fixture(name="address")
def fill_store() -> Iterator[str]:
    store = fsspec.filesystem("memory")
    store.pipe({f"/bucket/reports/{name}": data for name, data in FILES.items()})
    store.pipe("/bucket/reports-old/c.txt", b"elsewhere")
    yield "memory://bucket/reports"
    store.rm("/bucket", recursive=True)


def test_a_prefix_is_a_folder(address: str) -> None:
    """Ids are relative to it; hidden objects are left out; a slash at its end changes nothing."""
    found = objects_of(address, patterns=PathPatterns())
    assert [name for name, _ in found] == ["a.txt", "deep/b.md", "odd::n.txt", "x.zip"]
    assert objects_of(f"{address}/", patterns=PathPatterns()) == found
    source = dict(found)["deep/b.md"]
    assert source == Source(
        document_id="deep/b.md",
        location=f"{address}/deep/b.md",
        root=address,
        path=None,
        bytes=3,
        from_folder=True,
        object_path="/bucket/reports/deep/b.md",
    )


def test_patterns_choose(address: str) -> None:
    """As in a folder, an archive is opened for what they take."""
    found = objects_of(address, patterns=PathPatterns.of(["*.md"], []))
    assert [(name, one.members_only) for name, one in found] == [
        ("deep/b.md", False),
        ("x.zip", True),
    ]


def test_an_object_itself_has_its_address_as_id(address: str) -> None:
    (source,) = find_sources([f"{address}/a.txt"])
    assert isinstance(source, Source)
    assert (source.document_id, source.root) == (f"{address}/a.txt",) * 2


def test_an_object_is_read_under_the_limit(address: str, tmp_path: Path) -> None:
    source = dict(objects_of(address, patterns=PathPatterns()))["odd::n.txt"]
    target, stopped = tmp_path / "a", threading.Event()
    download(source, target, max_bytes=1, stopped=stopped)
    assert target.read_bytes() == b"5"
    with pytest.raises(FetchError) as caught:
        download(source, target, max_bytes=0, stopped=stopped)
    assert caught.value.code == "too_large"


def test_an_object_that_is_gone_is_an_error_that_names_it(address: str, tmp_path: Path) -> None:
    source = dict(objects_of(address, patterns=PathPatterns()))["a.txt"]
    fsspec.filesystem("memory").rm("/bucket/reports/a.txt")
    with pytest.raises(FetchError) as caught:
        download(source, tmp_path / "a", max_bytes=10, stopped=threading.Event())
    assert (caught.value.code, caught.value.source) == ("network", source.location)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nostore://a/b", "s3://"),
        ("zip://a.txt::memory://a.zip", "chain"),
        ("memory://user:secret@bucket/a", "name or password"),
    ],
)
def test_what_cannot_be_reached_is_said(address: str, said: str) -> None:
    """Without the secrets of its address."""
    (error,) = find_sources([address])
    assert isinstance(error, FetchError)
    assert said in str(error)
    assert "secret" not in str(error) + error.source


def test_a_store_whose_library_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    (error,) = find_sources(["s3://bucket/a"])
    assert "pip install 'spanwise[s3]'" in str(error)


def test_a_prefix_can_be_synced_and_an_object_cannot(address: str) -> None:
    looked = scan_folder(address)
    assert looked.selected == {"a.txt", "deep/b.md", "odd::n.txt", "x.zip"}
    with pytest.raises(OptionError):
        scan_folder(f"{address}/a.txt")

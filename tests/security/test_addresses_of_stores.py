"""Addresses of object storage reach no local file, no private network and no other protocol."""

from __future__ import annotations

import socket
from pathlib import Path

import fsspec
import pytest

from spanwise.errors import FetchError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.object_storage import objects_of
from spanwise.ingest.sources import find_sources
from spanwise.ingest.sync import scan_folder


def refuse_connections(*_: object, **__: object) -> None:
    pytest.fail("a connection was opened")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", refuse_connections)
    monkeypatch.setattr(socket, "getaddrinfo", refuse_connections)


@pytest.mark.parametrize(
    "scheme",
    [
        "file", "local", "FILE", "ftp", "sftp", "ssh", "smb", "webhdfs", "hdfs", "hf", "github",
        "git", "dask", "reference", "dir", "zip", "tar", "cached", "simplecache", "blockcache",
        "filecache", "jupyter", "dbfs", "data", "libarchive", "generic",
    ],
)  # fmt: skip
def test_other_schemes_are_refused(scheme: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The key is under the mat.")
    for address in (f"{scheme}://127.0.0.1:9/a", f"{scheme}://{secret}"):
        (error,) = find_sources([address])
        assert isinstance(error, FetchError)
        assert (error.code, error.source) == ("refused", address)
        with pytest.raises(FetchError):
            scan_folder(address)


@pytest.mark.parametrize(
    "address",
    [
        "s3://bucket/a::file:///etc/hosts",
        "memory://a::http://127.0.0.1/",
        "gs://a?endpoint_url=http://127.0.0.1/b",
        "s3:///etc/hosts",
        "az://container@127.0.0.1/a",
        "az://container@127.0.0.1:10000/a",
        "abfs://container@host.example.org/a",
        "abfs://container@evil.example.org\\.blob.core.windows.net/a",
        "abfss://container@evil.example.org%2f.dfs.core.windows.net/a",
        "az://[::1]/a",
    ],
)
def test_addresses_that_name_something_else_are_refused(address: str) -> None:
    with pytest.raises(FetchError) as caught:
        objects_of(address, patterns=PathPatterns())
    assert caught.value.code == "refused"


@pytest.mark.parametrize(
    "address",
    [
        "s3://my-bucket.name/a/b.pdf",
        "s3a://bucket",
        "s3://arn:aws:s3:us-west-2:123456789012:accesspoint/reports/a",
        "gs://bucket/a",
        "gcs://bucket/a",
        "az://container/a",
        "abfs://container@account/a",
        "abfss://container@account.dfs.core.windows.net/a",
        "memory://bucket/a",
    ],
)
def test_buckets_are_opened(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def url_to_fs(address: str, **_: object) -> tuple[object, str]:
        opened.append(address)
        return fsspec.filesystem("memory"), "/nowhere"

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    assert objects_of(address, patterns=PathPatterns(), may_be_empty=True) == []
    assert opened == [address]

"""Addresses of stores: what is a path, what is an address, and what of it is shown."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from spanwise.config import StoreAddress, find_location, shown_location
from spanwise.errors import OptionError

SECRET = "hunter2-Zx"


def address(text: str) -> StoreAddress:
    found = find_location(text)
    assert isinstance(found, StoreAddress)
    return found


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        ("postgresql://db/reports", "reports", "postgresql://db/reports"),
        ("postgres://db/reports", "reports", "postgresql://db/reports"),
        ("POSTGRESQL://db/reports", "reports", "postgresql://db/reports"),
        (
            "postgresql://db/reports?schema=legal&tenant=acme",
            "legal",
            "postgresql://db/reports?schema=legal&tenant=acme",
        ),
        (
            "postgresql://db/reports?schema=spanwise",
            "reports",
            "postgresql://db/reports?schema=spanwise",
        ),
        (f"postgresql://me:{SECRET}@db:5432/reports", "reports", "postgresql://me@db:5432/reports"),
        (f"postgresql://:{SECRET}@db/reports", "reports", "postgresql://db/reports"),
        (
            f"postgresql://me@db/reports?password={SECRET}&sslmode=require",
            "reports",
            "postgresql://me@db/reports?sslmode=require",
        ),
        (f"postgresql://me@db/r?sslpassword={SECRET}", "r", "postgresql://me@db/r"),
        ("postgresql://a:1,b:2/reports", "reports", "postgresql://a:1,b:2/reports"),
        ("postgresql://[::1]:5432/reports", "reports", "postgresql://[::1]:5432/reports"),
        (
            "postgresql:///reports?host=/var/run/postgresql",
            "reports",
            "postgresql:///reports?host=/var/run/postgresql",
        ),
        ("postgresql://?service=legal", "legal", "postgresql://?service=legal"),
        ("postgresql://me@db", "me", "postgresql://me@db"),
        ("postgresql://", "postgresql", "postgresql://"),
        ("postgresql://db/my%2Freports", "my-reports", "postgresql://db/my%2Freports"),
        ("qdrant://host:6334/reports", "reports", "qdrant://host:6334/reports"),
        ("qdrants://host/reports?shards=6", "reports", "qdrants://host/reports?shards=6"),
        (f"qdrant://host/reports?api_key={SECRET}", "reports", "qdrant://host/reports"),
    ],
)
def test_an_address_has_a_name_and_shows_no_password(text: str, name: str, shown: str) -> None:
    found = address(text)
    assert (found.name, str(found)) == (name, shown)
    assert found.reveal() == text
    assert SECRET not in f"{found} {found!r} {found.name}"
    assert SECRET not in shown_location(text)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@x@db/reports",
        f"postgresql://me:x/{SECRET}@db/reports",
        f"postgresql://me:x?{SECRET}@db/reports",
        f"postgresql://me:x#{SECRET}@db/reports",
        f"postgresql://me:%zz{SECRET}@db/reports",
        f"postgresql://me:{SECRET} x@db/reports",
        f"postgresql://me:{SECRET}",
        f"postgresql://me:{SECRET}/reports",
        f"postgresql://db/reports?password={SECRET}@x",
        f"postgresql://db/reports#{SECRET}",
        f"postgresql:/me:{SECRET}@db/reports",
        f"mysql://me:{SECRET}@db/reports",
        f"http://me:{SECRET}@db/reports",
        f"file:///{SECRET}",
        f"s3://{SECRET}/x",
    ],
)
def test_an_address_that_is_not_valid_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        find_location(text)
    assert SECRET not in str(caught.value)
    assert SECRET not in shown_location(text)


def test_a_path_merges_the_slashes_of_an_address() -> None:
    with pytest.raises(OptionError, match="as a text"):
        find_location(Path("postgresql://db/reports"))


@pytest.mark.parametrize("text", [":memory:", "C:/a.kb", "C:\\a.kb", "a/b:/c", "/a:/b", "notes: a"])
def test_other_texts_are_paths(text: str) -> None:
    assert find_location(text) == Path(text)


def test_the_kinds_of_addresses_are_named() -> None:
    with pytest.raises(OptionError, match=r"postgresql://.*qdrant://"):
        find_location("redis://db/reports")

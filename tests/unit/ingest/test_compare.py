"""Sources beside what is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.records import make_record

from spanwise.errors import DocumentError, FetchError
from spanwise.ingest.compare import Verdict, compare
from spanwise.ingest.fields import stored_origins
from spanwise.ingest.sources import Source
from spanwise.types import DocumentRecord, Scalar


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "a.txt"
    path.write_bytes(b"text")
    return Source(document_id="a.txt", location=str(path), root="/in", path=path, bytes=4)


@pytest.fixture
def stored() -> DocumentRecord:
    return replace(
        make_record("a.txt", root="/in", content_hash=hashlib.sha256(b"text").hexdigest()),
        metadata={"author": "Ada", "year": 2018},
        given_fields=("year",),
    )


def verdict(
    source: Source | DocumentError,
    *records: DocumentRecord,
    metadata: Mapping[str, Scalar] | None = None,
    replace_other: bool = False,
    is_outdated: bool = False,
) -> Verdict:
    compared = compare(
        [source],
        records={one.id: one for one in records},
        metadata=metadata,
        replace_other=replace_other,
        threads=2,
        is_outdated=lambda _: is_outdated,
    )
    ((same, found),) = compared
    assert same is source
    return found


def test_bytes_decide(source: Source, stored: DocumentRecord) -> None:
    assert verdict(source) == "new"
    assert verdict(source, stored) == "unchanged"
    assert verdict(source, replace(stored, content_hash="other")) == "changed"


def test_what_is_outdated_is_made_anew_though_its_file_is_the_same(
    source: Source, stored: DocumentRecord
) -> None:
    assert verdict(source, stored, is_outdated=True) == "changed"
    assert verdict(source, is_outdated=True) == "new"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (None, "unchanged"),
        ({"year": 2018}, "unchanged"),
        ({"year": 2019}, "unchanged"),
        ({"year": 2018, "kind": "x"}, "unchanged"),
        ({"year": 2018, "language": "de"}, "changed"),
        ({"year": 2018, "form": "10-K", "company": "Acme", "fiscal_year": 2018}, "changed"),
        ({"author": "Ada"}, "changed"),
        ({}, "changed"),
    ],
)
def test_a_file_is_parsed_again_if_its_own_fields_or_title_may_change(
    source: Source, stored: DocumentRecord, metadata: dict[str, Scalar] | None, expected: str
) -> None:
    """A removed field may be one of the file; other changes are made without the file."""
    assert verdict(source, stored, metadata=metadata) == expected


def test_an_id_of_another_root_is_a_conflict_that_names_both(
    source: Source, stored: DocumentRecord
) -> None:
    other = replace(stored, source_root="/elsewhere")
    found = verdict(source, other)
    assert isinstance(found, DocumentError)
    assert found.code == "conflict"
    assert "'/elsewhere'" in str(found)
    assert "'/in'" in str(found)
    assert verdict(source, other, replace_other=True) == "changed"


def test_what_cannot_be_read_is_an_error(source: Source, stored: DocumentRecord) -> None:
    assert source.path is not None
    source.path.unlink()
    found = verdict(source, stored)
    assert isinstance(found, FetchError)
    assert found.code == "unreadable"
    assert verdict(found) is found


def test_a_url_is_fetched_to_be_compared(stored: DocumentRecord) -> None:
    url = "https://example.org"
    source = Source(document_id=url, location=url, root=url, path=None, bytes=0)
    assert verdict(source, replace(stored, id=url, source_root=url)) == "changed"


def test_sources_come_in_their_order(source: Source, stored: DocumentRecord) -> None:
    sources = [replace(source, document_id=f"{number}.txt") for number in range(300)]
    records = {f"{number}.txt": stored for number in range(0, 300, 3)}
    compared = compare(
        sources,
        records=records,
        metadata=None,
        replace_other=False,
        threads=3,
        is_outdated=lambda _: False,
    )
    assert [(found.document_id, said) for found, said in compared if isinstance(found, Source)] == [
        (f"{number}.txt", "new" if number % 3 else "unchanged") for number in range(300)
    ]


def test_fields_are_kept_for_the_same_root_alone(stored: DocumentRecord) -> None:
    assert stored_origins(stored, root="/in").given == {"year": 2018}
    assert stored_origins(stored, root="/elsewhere").given == {}
    assert stored_origins(None, root="/in").given == {}

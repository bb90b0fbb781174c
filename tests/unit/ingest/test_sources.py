"""From what a user names to single documents."""

import io
from pathlib import Path
from typing import BinaryIO

import pytest

from spanwise.errors import DocumentError, OptionError
from spanwise.ingest.sources import Source, find_sources


def ids(*named: str | Path) -> list[str]:
    return [s.document_id for s in find_sources(named) if isinstance(s, Source)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "deep" / "b.txt").write_text("b", encoding="utf-8")
    return tmp_path


def test_ids_are_names_paths_below_a_folder_and_addresses(folder: Path) -> None:
    assert ids(folder, folder / "deep" / "b.txt") == ["a.txt", "deep/b.txt", "b.txt"]
    assert ids("https://example.org/x") == ["https://example.org/x"]


def test_what_is_named_twice_comes_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert ids("a.txt", folder / "a.txt", "./a.txt") == ["a.txt"]
    assert ids(folder, f"{folder}/", "deep/..") == ["a.txt", "deep/b.txt"]
    assert ids("http://example.org/", "http://example.org/") == ["http://example.org/"]


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_not_the_working_folder(name: str) -> None:
    with pytest.raises(OptionError, match="a source is '"):
        list(find_sources([name]))


def test_a_list_as_one_source_is_refused() -> None:
    with pytest.raises(OptionError, match="a source is"):
        list(find_sources([["a.txt"]]))  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["n" * 5_000, "a\0b"])
def test_a_name_that_no_file_can_have_is_a_failure(name: str) -> None:
    (found,) = find_sources([name])
    assert isinstance(found, DocumentError)
    assert found.code == "unreadable"


@pytest.mark.parametrize("name", ["nostore://bucket/a.txt", "file:///missing/a.txt"])
def test_an_address_where_nothing_is_found_is_no_path(name: str) -> None:
    (found,) = find_sources([name])
    assert isinstance(found, DocumentError)
    assert found.source == name


@pytest.mark.parametrize("address", ["https://ann:pa55@a.org/x", "sftp://ann:pa55@host/x"])
def test_an_address_with_a_password_is_refused_and_not_shown(address: str) -> None:
    (found,) = find_sources([address])
    assert isinstance(found, DocumentError)
    assert found.code == "refused"
    assert "pa55" not in str(found) + found.source


def test_a_stream_needs_an_id_and_stands_alone() -> None:
    """It is not read before its turn."""
    stream = io.BytesIO(b"text")
    (source,) = find_sources([stream], document_id="a.md")
    assert isinstance(source, Source)
    assert (source.document_id, source.root, source.stream) == ("a.md", "-", stream)
    assert stream.tell() == 0
    wrong: list[tuple[list[str | Path | BinaryIO], str | None]] = [
        ([stream], None),
        ([stream], " "),
        ([stream], "a.zip!/b"),
        ([stream, "b.txt"], "a"),
        (["b.txt"], "a"),
    ]
    for named, document_id in wrong:
        with pytest.raises(OptionError):
            list(find_sources(named, document_id=document_id))


def test_a_failure_is_said_in_valid_utf8(tmp_path: Path) -> None:
    (found,) = find_sources([tmp_path / "nope\udce9.txt"])
    assert isinstance(found, DocumentError)
    assert found.source == f"{tmp_path}/nope%E9.txt"
    assert found.source in str(found)

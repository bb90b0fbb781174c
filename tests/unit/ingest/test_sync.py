"""What of a folder is there, what is gone, and what cannot be known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.permissions import ordinary_user
from tests.records import make_record

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.ingest.sync import FolderComparison, scan_folder


def make(root: Path, *names: str) -> Path:
    root.mkdir(exist_ok=True)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def gone(
    folder: Path,
    *stored: str,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    allow_empty: bool = False,
) -> tuple[list[str], list[str]]:
    """Return the ids that are gone, and the sources that are in doubt."""
    records = [make_record(name, root=folder) for name in stored]
    looked = scan_folder(folder, include=include, exclude=exclude)
    split = looked.compare_records(records, allow_empty=allow_empty)
    return [one.id for one in split.deleted], [doubt.source for doubt in split.errors]


def test_what_is_not_there_is_gone(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt", "deep/b.txt")
    stored = ("a.txt", "b.txt", "deep/b.txt", "deep/c.txt", "other/deep/d.txt")
    assert gone(folder, *stored) == (["b.txt", "deep/c.txt", "other/deep/d.txt"], [])


def test_what_the_patterns_leave_out_now_is_gone(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt", "b.md", "drafts/c.txt")
    stored = ("a.txt", "b.md", "drafts/c.txt")
    assert gone(folder, *stored, include=("*.txt",), exclude=("drafts/",)) == (
        ["b.md", "drafts/c.txt"],
        [],
    )


def test_documents_from_elsewhere_are_left_alone(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt")
    others = [
        make_record("x.txt", root=tmp_path),
        make_record("y", root=""),
        make_record("z.txt", root=folder / "z.txt"),
    ]
    assert scan_folder(folder).compare_records(others, allow_empty=True) == FolderComparison()


@pytest.mark.parametrize("spelled", ["in", "./in/", "in/../in", "link"])
def test_a_folder_is_known_however_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    make(tmp_path / "in", "a.txt")
    (tmp_path / "link").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    assert scan_folder(spelled).root == str((tmp_path / "in").resolve())


def test_a_folder_of_which_nothing_is_taken_is_refused(tmp_path: Path) -> None:
    """An empty mount point, or a slip in a pattern, must not empty a knowledge base."""
    folder = make(tmp_path / "in", "a.txt")
    with pytest.raises(OptionError, match=r"2 documents .* would be removed; .*--allow-empty"):
        gone(folder, "a.txt", "b.txt", include=("*.tx",))
    assert gone(folder, "a.txt", include=("*.tx",), allow_empty=True) == (["a.txt"], [])
    assert gone(folder, include=("*.tx",)) == ([], []), "nothing is stored of it"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_below_a_folder_that_cannot_be_listed_nothing_is_gone(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt", "locked/b.txt", "locked2/c.txt")
    (folder / "locked").chmod(0)
    with ordinary_user(tmp_path):
        found = gone(folder, "a.txt", "locked/b.txt", "locked/deep/x.txt", "locked2/x.txt")
    (folder / "locked").chmod(0o755)
    assert found == (["locked2/x.txt"], [])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_folder_that_cannot_be_listed_itself_is_an_error(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt")
    folder.chmod(0)
    with ordinary_user(tmp_path), pytest.raises(FetchError, match="cannot be read"):
        scan_folder(folder)
    folder.chmod(0o755)


@pytest.mark.parametrize("include", [(), ("*.txt",)])
def test_below_a_link_that_leads_nowhere_nothing_is_gone(
    tmp_path: Path, include: tuple[str, ...]
) -> None:
    """It may lead to a disk that is not mounted; patterns for files do not match its name."""
    folder = make(tmp_path / "in", "a.txt")
    (folder / "disk").symlink_to(tmp_path / "not mounted")
    stored = ("a.txt", "disk/b.txt", "disk/deep/c.txt", "gone.txt")
    found, doubts = gone(folder, *stored, include=include)
    assert found == ["gone.txt"]
    sources = scan_folder(folder, include=include).sources
    failed = [source.source for source in sources if isinstance(source, DocumentError)]
    assert [*doubts, *failed] == [str(folder / "disk")], "it is reported once"


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
@pytest.mark.parametrize("name", ["disk\udcff", "100%\udcff"])
def test_such_a_link_may_have_a_name_that_is_no_text(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "in", "a.txt")
    (folder / name).symlink_to(tmp_path / "not mounted")
    stored = f"{name_to_id(name)}/b.txt"
    found, doubts = gone(folder, "a.txt", stored, "gone.txt", include=("*.txt",))
    assert found == ["gone.txt"]
    assert doubts == [name_to_id(str(folder / name))]


def test_what_stands_in_the_place_of_a_folder_is_no_doubt(tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.txt", "b")
    assert gone(folder, "b/c.txt", "b/d/e.txt") == (["b/c.txt", "b/d/e.txt"], [])


@pytest.mark.parametrize("missing", ["nowhere", "a\0b", "n" * 5_000])
def test_a_folder_that_is_missing_is_an_error(tmp_path: Path, missing: str) -> None:
    with pytest.raises(FetchError, match="nothing was changed"):
        scan_folder(str(tmp_path / missing))


@pytest.mark.parametrize("wrong", ["", " ", 5, None, ["in"], "https://example.org/in"])
def test_what_is_no_path_is_refused(wrong: object) -> None:
    with pytest.raises(OptionError, match="name one folder"):
        scan_folder(wrong)  # type: ignore[arg-type]


def test_a_file_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    with pytest.raises(OptionError, match="not a folder; `add`"):
        scan_folder(tmp_path / "a.txt")

"""A folder is walked in order, each file once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.permissions import ordinary_user

from spanwise.core.text.file_names import name_to_id, names_of_id
from spanwise.errors import FetchError, OptionError
from spanwise.ingest.folder_walk import FoundFile, PathPatterns, UnreadablePath, walk

FILES = ("a.md", "a/b.md", "a/b/c.PDF", "a/b/d.pdf", "a-b.pdf", "drafts/x.pdf", "z/drafts/y.pdf")


def make(root: Path, names: Sequence[str] = FILES) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    return root


def ids(root: Path, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> list[str]:
    found = list(walk(root, include=include, exclude=exclude))
    assert all(isinstance(item, FoundFile) for item in found)
    return [item.document_id for item in found if isinstance(item, FoundFile)]


def test_ids_are_paths_in_order(tmp_path: Path) -> None:
    """POSIX paths relative to the root, ordered as text; the path leads to the file."""
    root = make(tmp_path)
    assert ids(root) == sorted(FILES)
    assert all(
        item.path == root / item.document_id for item in walk(root) if isinstance(item, FoundFile)
    )


def test_containers_that_patterns_leave_out_are_opened_for_their_members(tmp_path: Path) -> None:
    """Known by their names; what is excluded stays closed."""
    root = make(tmp_path, ("a.pdf", "b.md", "c.zip", "d.EML", "drafts/e.tar.gz", "f.zip"))
    found = walk(root, include=["*.pdf"], exclude=["drafts/", "f.*"])
    assert [(one.document_id, one.members_only) for one in found if isinstance(one, FoundFile)] == [
        ("a.pdf", False),
        ("c.zip", True),
        ("d.EML", True),
    ]


@pytest.mark.parametrize(
    ("path", "reached", "taken"),
    [
        ("a.zip/b/c.md", True, True),
        ("a.zip/b/c.txt", True, False),
        ("a.zip/drafts/c.md", False, True),
        ("a.zip/.git/c.md", False, True),
        ("a.zip/__MACOSX/c.md", False, True),
        ("all.zip/c.txt", True, True),
    ],
)
def test_a_container_is_like_a_folder(path: str, reached: bool, taken: bool) -> None:
    patterns = PathPatterns.of(["*.md", "all.zip"], ["drafts/"])
    assert (patterns.reaches(path), patterns.takes(path)) == (reached, taken)


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["*.pdf"], [], ["a-b.pdf", "a/b/d.pdf", "drafts/x.pdf", "z/drafts/y.pdf"]),
        (["*.pdf"], ["drafts/"], ["a-b.pdf", "a/b/d.pdf"]),
        (["*.pdf"], ["/drafts"], ["a-b.pdf", "a/b/d.pdf", "z/drafts/y.pdf"]),
        (["*.pdf"], ["drafts/**"], ["a-b.pdf", "a/b/d.pdf", "z/drafts/y.pdf"]),
        (["drafts"], [], ["drafts/x.pdf", "z/drafts/y.pdf"]),
        (["a/*.md"], [], ["a/b.md"]),
        (["a/**/*.pdf"], [], ["a/b/d.pdf"]),
        (["**/b/**"], [], ["a/b/c.PDF", "a/b/d.pdf"]),
        (["?.md"], [], ["a.md", "a/b.md"]),
        (["[!a].md"], [], ["a/b.md"]),
        (["[a-c].md"], ["a.md"], ["a/b.md"]),
        (["a.md/"], [], []),
        ([], ["*"], []),
    ],
)
def test_patterns_choose(
    tmp_path: Path, include: list[str], exclude: list[str], expected: list[str]
) -> None:
    """Names match at any depth, slashes bind to the root, exclusion wins."""
    assert ids(make(tmp_path), include, exclude) == expected


@pytest.mark.parametrize("pattern", ["", "/", "!a", "[z-a]"])
def test_pattern_that_means_nothing_is_refused(tmp_path: Path, pattern: str) -> None:
    """Before anything is read."""
    with pytest.raises(OptionError, match="pattern"):
        list(walk(tmp_path, include=[pattern]))


def test_hidden_files_and_knowledge_bases_are_left_out(tmp_path: Path) -> None:
    """But for a root that is one itself."""
    make(tmp_path, ["a.md", ".hidden.md", ".git/b.md", "kb.kb/truth.md", "file.kb"])
    assert ids(tmp_path, exclude=[".*"]) == ["a.md", "file.kb"]
    assert ids(tmp_path / ".git") == ["b.md"]


def test_hidden_files_are_named_in_one_error(tmp_path: Path) -> None:
    """Unless patterns leave them out too."""
    make(tmp_path, ["a.md", ".env", ".git/b.md", "sub/.hidden.md", ".x/y.md"])
    *_, last = walk(tmp_path)
    assert isinstance(last, UnreadablePath)
    assert last.error.code == "unsupported"
    assert ".env, .git, .x and 1 more" in str(last.error)
    assert ids(tmp_path, exclude=[".*"]) == ["a.md"]
    *_, last = walk(tmp_path, include=["*.md"])
    assert isinstance(last, UnreadablePath)
    assert ": sub/.hidden.md;" in str(last.error)


def test_single_file_has_its_name_as_id(tmp_path: Path) -> None:
    """A root may be a file; patterns do not matter then."""
    make(tmp_path, ["a.md"])
    assert list(walk(tmp_path / "a.md", exclude=["*"])) == [
        FoundFile(path=tmp_path / "a.md", document_id="a.md")
    ]


def test_links_bring_each_file_once(tmp_path: Path) -> None:
    """The real path wins, whatever the order of names; loops end."""
    root = make(tmp_path / "root", ["m/real.md"])
    make(tmp_path / "outside", ["one.md", "sub/two.md"])
    (root / "a.md").symlink_to("m/real.md")
    (root / "b.md").symlink_to(tmp_path / "outside" / "one.md")
    (root / "loop").symlink_to(root)
    (root / "m" / "up").symlink_to("..")
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "back").symlink_to(root)
    found = [item.document_id for item in walk(root, follow_links=True)]
    assert found == ["b.md", "m/real.md", "out/sub/two.md"]


def test_links_out_of_the_root_are_reported_and_not_followed(tmp_path: Path) -> None:
    """Links inside the root are followed; a folder whose name begins alike is outside."""
    root = make(tmp_path / "root", ["m/real.md", "z.md"])
    make(tmp_path / "root2", ["one.md", "sub/two.md"])
    (root / "b.md").symlink_to(tmp_path / "root2" / "one.md")
    (root / "c").symlink_to(tmp_path / "root2")
    (root / "c2").symlink_to("m")
    (root / "d.png").symlink_to(tmp_path / "root2" / "one.md")
    found = list(walk(root, exclude=["*.png"]))
    files = [item.document_id for item in found if isinstance(item, FoundFile)]
    assert files == ["m/real.md", "z.md"]
    left_out = [item for item in found if isinstance(item, UnreadablePath)]
    assert [item.document_id for item in left_out] == ["b.md", "c"]
    assert {item.error.code for item in left_out} == {"unsupported"}
    assert str(tmp_path / "root2" / "one.md") in str(left_out[0].error)


def test_link_that_leads_nowhere_is_an_error_in_its_place(tmp_path: Path) -> None:
    """The rest is still taken."""
    make(tmp_path, ["a.md", "c.md"])
    (tmp_path / "b.md").symlink_to("missing")
    (tmp_path / "self").symlink_to("self")
    found = list(walk(tmp_path, exclude=["self"]))
    assert [type(item) for item in found] == [FoundFile, UnreadablePath, FoundFile]
    assert isinstance(found[1], UnreadablePath)
    assert found[1].document_id == "b.md"
    error = found[1].error
    assert isinstance(error, FetchError)
    assert (error.source, error.code) == (str(tmp_path / "b.md"), "unreadable")


def test_link_that_leads_nowhere_counts_only_where_it_is_wanted(tmp_path: Path) -> None:
    """A link whose name no pattern includes is no failure."""
    make(tmp_path, ["a.md"])
    (tmp_path / "b.txt").symlink_to("missing")
    (found,) = walk(tmp_path, include=["*.md"])
    assert isinstance(found, FoundFile)
    assert len(list(walk(tmp_path, include=["*.txt"]))) == 1


def test_missing_root_is_an_error(tmp_path: Path) -> None:
    """It comes like any other."""
    (found,) = walk(tmp_path / "missing")
    assert isinstance(found, UnreadablePath)
    assert found.document_id == ""
    assert "missing" in str(found.error)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_unreadable_folder_is_an_error_in_its_place(tmp_path: Path) -> None:
    """The rest is still taken."""
    make(tmp_path, ["a.md", "locked/b.md", "z.md"])
    (tmp_path / "locked").chmod(0)
    with ordinary_user(tmp_path):
        found = list(walk(tmp_path))
    (tmp_path / "locked").chmod(0o755)
    assert [type(item) for item in found] == [FoundFile, UnreadablePath, FoundFile]
    assert isinstance(found[1], UnreadablePath)
    assert found[1].document_id == "locked"
    assert "locked" in str(found[1].error)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_get_a_valid_id(tmp_path: Path) -> None:
    """The id is stable; two files never share one."""
    for name in (b"caf\xe9.md", b"plain.md", "ünï \n.md".encode()):
        (tmp_path / os.fsdecode(name)).write_text("x")
    assert ids(tmp_path) == ["caf%E9.md", "plain.md", "ünï \n.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_ids_that_would_meet_are_an_error(tmp_path: Path) -> None:
    """A file that is called as another one's id."""
    for name in (b"\xe9.md", b"%E9.md"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    found = list(walk(tmp_path))
    assert [type(item) for item in found] == [FoundFile, UnreadablePath]
    assert isinstance(found[1], UnreadablePath)
    assert (found[1].document_id, found[1].error.code) == ("%E9.md", "conflict")


def test_escape_keeps_names_apart() -> None:
    """A per cent sign in an escaped name is escaped too."""
    assert (name_to_id("a%\udce9"), name_to_id("a%E9")) == ("a%25%E9", "a%E9")


@pytest.mark.parametrize("name", ["a", "100%", "a%E9", "a%\udce9", "100%25/\udcff", "é%", "%00"])
def test_the_names_of_an_id_hold_the_one_it_came_from(name: str) -> None:
    names = names_of_id(name_to_id(name))
    assert name in names
    assert {name_to_id(one) for one in names} == {name_to_id(name)}

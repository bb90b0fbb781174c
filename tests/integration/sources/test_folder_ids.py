"""Ids of several folders, links out of folders, hidden files, and progress inside a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.documents import build_zip
from tests.integration.commands import spanwise

from spanwise import KnowledgeBase
from spanwise.errors import OptionError


@pytest.fixture(name="base")
def open_base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        yield base


@pytest.fixture(name="years")
def make_years(tmp_path: Path) -> tuple[Path, Path]:
    for year in ("2022", "2023"):
        (tmp_path / "in" / year).mkdir(parents=True)
        (tmp_path / "in" / year / "report.md").write_text(f"# Report\n\nThe year {year}.")
    return tmp_path / "in" / "2022", tmp_path / "in" / "2023"


def test_two_folders_with_equal_names_are_added(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """Ids begin with the path below the common parent, and a later sync keeps them."""
    report = base.add(*years)
    assert report.added == ("2022/report.md", "2023/report.md")
    assert base.sync(years[0]).unchanged == ("2022/report.md",)
    assert base.add(years[0]).unchanged == ("2022/report.md",)
    (years[0] / "report.md").unlink()
    (years[0] / "new.md").write_text("New.")
    report = base.sync(years[0])
    assert (report.added, report.removed) == (("2022/new.md",), ("2022/report.md",))


def test_ids_of_a_folder_that_was_added_before_stay(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """Only the other folder gets a prefix."""
    assert base.add(years[0]).added == ("report.md",)
    report = base.add(*years)
    assert report.unchanged == ("report.md",)
    assert report.added == ("2023/report.md",)
    assert report.failed == ()


def test_prefix_is_part_of_the_ids(base: KnowledgeBase, years: tuple[Path, Path]) -> None:
    """Patterns do not see it, and a sync with another prefix renames the documents."""
    assert base.sync(years[0], prefix="a/b/", include=["report.md"]).added == ("a/b/report.md",)
    assert base.sync(years[0], prefix="a/b").unchanged == ("a/b/report.md",)
    report = base.sync(years[0], prefix="c")
    assert (report.added, report.removed) == (("c/report.md",), ("a/b/report.md",))
    for prefix in ("", "/", "a!/b"):
        with pytest.raises(OptionError):
            base.add(years[0], prefix=prefix)


def test_a_later_run_without_a_prefix_keeps_the_ids(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """Edited metadata would be lost with the old ids."""
    base.sync(years[0], prefix="bank/old")
    base.update_metadata(["bank/old/report.md"], {"team": "audit"})
    assert base.add(years[0]).unchanged == ("bank/old/report.md",)
    (years[0] / "more.md").write_text("# More\n\nText.")
    assert base.sync(years[0]).added == ("bank/old/more.md",)
    assert base.record("bank/old/report.md").metadata["team"] == "audit"


def test_a_single_file_of_a_folder_with_a_prefix_is_its_stored_document(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """Its metadata is updated, and a later sync of the folder keeps it."""
    base.add(*years)
    report = base.add(years[0] / "report.md", metadata={"team": "hr"})
    assert (report.updated, report.added) == (("2022/report.md",), ())
    assert [record.id for record in base.list()] == ["2022/report.md", "2023/report.md"]
    assert base.sync(years[0]).unchanged == ("2022/report.md",)
    assert base.record("2022/report.md").metadata == {"team": "hr"}
    assert base.record("2023/report.md").metadata == {}


def test_single_files_keep_a_named_prefix_and_their_archive(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """A changed file replaces its document; the members of an archive stay in the archive."""
    deep = years[0] / "sub" / "note.md"
    deep.parent.mkdir()
    deep.write_text("# Note\n\nA note.")
    (years[0] / "box.zip").write_bytes(build_zip({"m.txt": b"A member."}))
    base.sync(years[0], prefix="bank/old")
    deep.write_text("# Note\n\nAnother note.")
    report = base.add(deep, years[0] / "box.zip", metadata={"team": "hr"})
    assert (report.replaced, report.updated) == (
        ("bank/old/sub/note.md",),
        ("bank/old/box.zip!/m.txt",),
    )
    assert len(base.list()) == 3


def test_a_new_file_is_not_taken_for_one_of_the_same_name_in_a_subfolder(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """The folder of the other file is part of its id, and no prefix."""
    folder = years[0].parent
    base.sync(folder, exclude=["2023/*"])
    (folder / "report.md").write_text("# Report\n\nAnother one.")
    assert base.add(folder / "report.md").added == ("report.md",)
    assert base.get("2022/report.md").text.endswith("The year 2022.")


def test_a_file_that_is_named_with_its_folder_is_read_once(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """The file is a file of the folder in both cases."""
    base.add(years[0])
    report = base.add(years[0], years[0] / "report.md", metadata={"team": "hr"})
    assert len(report.updated + report.replaced) == 1
    assert len(base.list()) == 1


def test_a_single_file_gets_the_rows_of_the_sidecar_files_of_its_folder(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """Sidecar files that changed since the last sync count, also for a prefix."""
    base.sync(years[0], prefix="a")
    base.sync(years[1], prefix="b")
    for year in years:
        (year / "spanwise.metadata.csv").write_text(f"path,year\nreport.md,{year.name}\n")
    base.add(*(year / "report.md" for year in years))
    assert [record.metadata for record in base.list()] == [{"year": 2022}, {"year": 2023}]


def test_a_file_that_moved_out_of_its_only_folder_gets_another_id(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    """The name of the folder is not taken for a prefix."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.md").write_text("# A\n\nText.")
    base.sync(tmp_path / "in")
    (tmp_path / "in" / "sub" / "a.md").rename(tmp_path / "in" / "a.md")
    report = base.sync(tmp_path / "in")
    assert (report.added, report.removed) == (("a.md",), ("sub/a.md",))


def test_links_out_of_a_folder_are_followed_on_request(
    base: KnowledgeBase, years: tuple[Path, Path], tmp_path: Path
) -> None:
    """Otherwise they are reported, and documents that were added by them before stay."""
    (tmp_path / "secret.md").write_text("Secret.")
    (years[0] / "link.md").symlink_to(tmp_path / "secret.md")
    (years[0] / "other").symlink_to(years[1])
    report = base.add(years[0])
    assert (report.added, report.failed) == (("report.md",), ())
    assert sum("outside of the folder" in text for text in report.warnings) == 2
    report = base.sync(years[0], follow_links=True)
    assert report.added == ("link.md", "other/report.md")
    report = base.sync(years[0])
    assert report.removed == ()
    assert sum("outside of the folder" in text for text in report.warnings) == 2


def test_hidden_files_have_a_line_in_the_report(
    base: KnowledgeBase, years: tuple[Path, Path]
) -> None:
    """It names the first ones, and is no failure."""
    (years[0] / ".env").write_text("Hidden.")
    report = base.sync(years[0])
    assert (report.added, report.failed) == (("report.md",), ())
    (line,) = [text for text in report.warnings if "hidden" in text]
    assert ".env" in line
    report = base.sync(years[0], exclude=[".*"])
    assert not any("hidden" in text for text in report.warnings)


def test_command_takes_a_prefix(years: tuple[Path, Path], tmp_path: Path) -> None:
    """And follows links on request."""
    (years[0] / "link.md").symlink_to(years[1] / "report.md")
    ended = spanwise("add", years[0], "--prefix", "p", "--follow-links", folder=tmp_path)
    assert ended.returncode == 0
    listed = spanwise("list", folder=tmp_path).stdout
    assert "p/link.md" in listed
    assert "p/report.md" in listed


class Steps:
    """Listener that keeps the counts of steps inside documents."""

    def __init__(self) -> None:
        self.embedded: list[tuple[int, int]] = []

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Keep the counts."""
        assert seconds >= 0
        if name == "embed":
            self.embedded.append((counts["chunks"], counts["total"]))


def test_progress_inside_a_large_document_is_reported(tmp_path: Path) -> None:
    """The number of embedded chunks grows up to their total."""
    steps = Steps()
    text = "\n\n".join(f"Paragraph {number} about freight and barges." * 9 for number in range(900))
    with KnowledgeBase(":memory:", listener=steps) as base:
        if base.info().settings["embedder"] == "none":
            pytest.skip("the default embedder is not installed")
        base.add_text(text, document_id="large")
    assert steps.embedded
    assert steps.embedded == sorted(steps.embedded)
    assert steps.embedded[-1][0] == steps.embedded[-1][1]

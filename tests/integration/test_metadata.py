"""Metadata and titles of stored documents: edited in place, from sidecar files, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.documents import build_zip
from tests.integration.commands import read_json, spanwise
from tests.models import made_answer

from spanwise import ContextOptions, KnowledgeBase, field, parse_filter
from spanwise.errors import DocumentNotFoundError, FilterError, OptionError
from spanwise.ingest import reader
from spanwise.options import ParseOptions
from spanwise.testing.models import ScriptedModel

TEXTS = {
    "a.md": "# Freight\n\nFreight rates rose by four percent.",
    "deep/b.md": "# Boats\n\nBoats became cheaper last year.",
    "deep/er/c.txt": "Rail connections were closed for repairs.",
}
CSV = "spanwise.metadata.csv"
JSON_LINES = "spanwise.metadata.jsonl"


class Counting:
    """Embedder that counts the texts it gets."""

    name = "counting"
    version = "1"
    dimension = 2
    texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        Counting.texts += len(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "in"


@pytest.fixture(params=["memory", "disk"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeBase]:
    path = ":memory:" if request.param == "memory" else tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=Counting()) as base:
        yield base


@pytest.fixture
def no_parsing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after which neither a parser nor the embedder may be called."""

    def forbid() -> None:
        def fail(*_: object, **__: object) -> None:
            raise AssertionError("a file was parsed, or a text embedded")

        monkeypatch.setattr(reader.Reader, "_parse", fail)
        monkeypatch.setattr(Counting, "embed", fail)

    return forbid


def metadata(base: KnowledgeBase) -> dict[str, dict[str, object]]:
    return {record.id: dict(record.metadata) for record in base.list()}


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(build_zip(files))
    return path


def test_fields_are_set_and_removed_without_parsing(
    base: KnowledgeBase, folder: Path, no_parsing: Callable[[], None]
) -> None:
    base.sync(folder, metadata={"kind": "note", "year": 2020})
    no_parsing()
    report = base.update_metadata(["a.md", "deep/b.md"], {"year": 2023, "team": "hr", "kind": None})
    assert [change.document_id for change in report.changes] == ["a.md", "deep/b.md"]
    assert report.changes[0].before == {"year": 2020, "team": None, "kind": "note"}
    assert report.changes[0].after == {"year": 2023, "team": "hr", "kind": None}
    assert metadata(base)["a.md"] == {"year": 2023, "team": "hr"}
    assert metadata(base)["deep/er/c.txt"] == {"kind": "note", "year": 2020}
    assert [record.id for record in base.list("team = 'hr'")] == ["a.md", "deep/b.md"]
    again = base.update_metadata(field("team") == "hr", {"year": 2023})
    assert (again.changes, again.unchanged) == ((), ("a.md", "deep/b.md"))
    assert base.check().findings == ()


def test_fields_of_the_caller_are_changed_without_parsing(
    base: KnowledgeBase, folder: Path, no_parsing: Callable[[], None]
) -> None:
    """New and changed fields of unchanged files are searched as if the files were parsed again."""
    base.sync(folder, metadata={"kind": "note"})
    base.update_metadata(["a.md"], {"year": 2019})
    no_parsing()
    report = base.sync(folder, metadata={"kind": "memo", "year": 2020})
    assert (report.updated, report.replaced) == (tuple(sorted(TEXTS)), ())
    assert metadata(base)["deep/b.md"] == {"kind": "memo", "year": 2020}
    assert metadata(base)["a.md"] == {"kind": "memo", "year": 2019}
    assert base.add(folder, metadata={"kind": "memo", "year": 2020}).updated == ()
    assert len(base.list("kind = 'memo'")) == 3


def test_a_removed_field_of_the_caller_gives_way_to_the_one_of_the_file(
    base: KnowledgeBase, folder: Path
) -> None:
    """The value of the file is not stored while the caller gives another one."""
    (folder / "a.md").write_text("---\nauthor: file\n---\n# A\n\nText.")
    base.sync(folder)
    base.sync(folder, metadata={"author": "given"})
    assert metadata(base)["a.md"]["author"] == "given"
    base.sync(folder, metadata={})
    assert metadata(base)["a.md"]["author"] == "file"


def test_a_dry_run_reports_the_changes_and_makes_none(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    before = base.list()
    foreseen = base.update_metadata(["a.md"], {"year": 2023}, title="Tariff", dry_run=True)
    assert base.list() == before
    assert base.update_metadata(["a.md"], {"year": 2023}, title="Tariff") == foreseen
    assert foreseen.changes[0].title_after == "Tariff"


def test_a_new_title_is_found_at_once_and_after_opening_again(tmp_path: Path, folder: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.sync(folder)
        assert base.search("zanzibar").segments == ()
        base.update_metadata(["deep/b.md"], {}, title="Zanzibar  list")
        found = base.search("zanzibar").segments
        assert [segment.document_id for segment in found] == ["deep/b.md"]
        assert found[0].header.startswith("Zanzibar list")
        assert found[0].citation.title == "Zanzibar list"
        assert base.get("deep/b.md").text == TEXTS["deep/b.md"]
    with KnowledgeBase(tmp_path / "a.kb", create=False) as base:
        assert [s.document_id for s in base.search("zanzibar").segments] == ["deep/b.md"]
        assert base.record("deep/b.md").title == "Zanzibar list"
        assert base.check().findings == ()
        base.update_metadata(["deep/b.md"], {}, title="")
        assert base.record("deep/b.md").title == "Boats"
        assert base.search("zanzibar").segments == ()


def test_the_budget_holds_with_a_longer_title(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    base.update_metadata(["a.md"], {}, title="A long title " * 15)
    result = base.search("freight rates", budget_tokens=120)
    assert result.segments
    assert result.tokens <= 120


def test_a_company_set_by_hand_is_searched(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    base.update_metadata(["a.md"], {"company": "Quixotic"})
    assert base.search("quixotic").segments[0].document_id == "a.md"


def test_edits_survive_changed_files_and_later_calls(base: KnowledgeBase, folder: Path) -> None:
    (folder / "a.md").write_text("---\nauthor: Ada\ndate: 2020-01-01\n---\n# Freight\n\nRates.")
    base.sync(folder, metadata={"kind": "note"})
    base.update_metadata(["a.md"], {"author": "Eve", "date": None, "kind": "memo"}, title="Mine")
    edited = {"author": "Eve", "kind": "memo"}
    (folder / "a.md").write_text("---\nauthor: Bob\ndate: 2021-01-01\n---\n# Cargo\n\nRates.")
    assert base.sync(folder).replaced == ("a.md",)
    assert (metadata(base)["a.md"], base.record("a.md").title) == (edited, "Mine")
    report = base.add(folder, metadata={"kind": "draft", "year": 1})
    assert len(report.updated) == 3
    assert (metadata(base)["a.md"], base.record("a.md").title) == ({**edited, "year": 1}, "Mine")
    assert base.sync(folder, metadata={"kind": "draft", "year": 1}).replaced == ()
    base.update_metadata(["a.md"], {}, title="")
    assert base.record("a.md").title == "Cargo"


def test_documents_are_selected_by_ids_a_filter_or_a_container(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    base.add(make_zip(tmp_path / "z.zip", {"a.txt": b"Alpha text.", "b.txt": b"Beta text."}))
    base.add_text("Gamma text.", document_id="g", metadata={"year": 1})
    assert len(base.update_metadata(["z.zip"], {"team": "x"}).changes) == 2
    assert metadata(base)["z.zip!/a.txt"] == {"team": "x"}
    assert len(base.update_metadata(parse_filter("year = 1"), {"team": "y"}).changes) == 1
    with pytest.raises(OptionError, match="parse_filter"):
        base.update_metadata("year = 1", {"team": "y"})
    with pytest.raises(DocumentNotFoundError, match="'h'"):
        base.update_metadata(["g", "h"], {"team": "z"})
    assert metadata(base)["g"]["team"] == "y", "nothing is changed"
    with pytest.raises(FilterError, match="unknown field"):
        base.update_metadata(field("yeer") == 1, {"team": "z"})


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({}, None),
        ({"a": float("nan")}, None),
        ({"a": {}}, None),
        ({"": 1}, None),
        ({"": None}, None),
        ({"a": "half \ud800"}, None),
        ({}, "half \ud800"),
        ({}, "x" * 201),
        ({}, 7),
        (["a"], None),
        ({"title": "Tariff list"}, None),
    ],
)
def test_what_cannot_be_stored_is_refused(fields: object, title: object) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Text.", document_id="a", metadata={"year": 1})
        with pytest.raises(OptionError):
            base.update_metadata(["a"], fields, title=title)  # type: ignore[arg-type]
        assert metadata(base) == {"a": {"year": 1}}


def test_a_field_named_title_of_an_earlier_call_is_removed(base: KnowledgeBase) -> None:
    """Only the argument `title` sets the title."""
    base.add_text("Text.", document_id="a", metadata={"title": "Tariff list"})
    base.update_metadata(["a"], {"title": None})
    assert metadata(base) == {"a": {}}


def test_one_title_is_not_given_to_several_documents(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    with pytest.raises(OptionError, match="2 documents"):
        base.update_metadata(["a.md", "deep/b.md"], {}, title="Same")


def test_a_former_field_finds_nothing_and_warns(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    base.update_metadata(["a.md"], {"year": 2023})
    base.update_metadata(["a.md"], {"year": None})
    assert base.list("year = 2023") == []
    result = base.search("freight", where="year = 2023")
    assert result.segments == ()
    assert any("'year' any more" in warning for warning in result.warnings)
    with pytest.raises(FilterError, match="unknown field 'yeer'"):
        base.search("freight", where="yeer = 2023")


def test_add_text_without_metadata_keeps_what_is_stored(base: KnowledgeBase) -> None:
    base.add_text("One.", document_id="a", metadata={"kind": "x"})
    base.update_metadata(["a"], {"year": 1}, title="Mine")
    assert base.add_text("One.", document_id="a").unchanged == ("a",)
    assert base.add_text("Two.", document_id="a").replaced == ("a",)
    assert metadata(base)["a"] == {"kind": "x", "year": 1}
    assert base.record("a").title == "Mine"
    base.add_text("Two.", document_id="a", metadata={})
    assert metadata(base)["a"] == {"year": 1}


def test_a_file_of_a_folder_gets_fields_and_stays_in_the_folder(
    base: KnowledgeBase, folder: Path
) -> None:
    base.sync(folder)
    assert base.add(folder / "deep" / "b.md", metadata={"team": "hr"}).updated == ("deep/b.md",)
    assert base.add(folder / "deep" / "b.md").unchanged == ("deep/b.md",)
    assert sorted(metadata(base)) == sorted(TEXTS)
    assert metadata(base)["deep/b.md"] == {"team": "hr"}
    (folder / "deep" / "b.md").write_text("# Boats\n\nBoats became dear.")
    assert base.sync(folder, metadata={"kind": "note"}).failed == ()
    assert base.get("deep/b.md").text.endswith("dear.")
    assert metadata(base)["deep/b.md"] == {"kind": "note", "team": "hr"}
    base.add(folder / "a.md", metadata={"team": "law"}, replace=True)
    (folder / "a.md").unlink()
    assert base.sync(folder).removed == ("a.md",)


def test_sidecar_files_describe_the_files_of_their_folders(
    base: KnowledgeBase, folder: Path, no_parsing: Callable[[], None]
) -> None:
    (folder / CSV).write_text(
        "path,title,team,year,code,note\n"
        "a.md,Tariff list,hr,2023,007,\n"
        'deep/b.md,,law,2020,"""8""","two\nlines"\n'
        "deep/er/c.txt,,,2019,,\n"
    )
    (folder / "deep" / JSON_LINES).write_text(
        '{"path": "b.md", "year": 2021, "final": true, "none": null}\n\n{"path": "./er/c.txt"}\n'
    )
    assert base.sync(folder).added == tuple(sorted(TEXTS))
    expected = {
        "a.md": {"team": "hr", "year": 2023, "code": "007"},
        "deep/b.md": {
            "team": "law", "year": 2021, "code": "8", "note": "two\nlines", "final": True
        },
        "deep/er/c.txt": {"year": 2019},
    }  # fmt: skip
    assert metadata(base) == expected
    assert base.record("a.md").title == "Tariff list"
    no_parsing()
    assert len(base.sync(folder).unchanged) == 3
    (folder / CSV).write_text("path,team\na.md,law\n")
    foreseen = base.sync(folder, dry_run=True)
    report = base.sync(folder)
    assert report.updated == foreseen.updated == tuple(sorted(TEXTS))
    assert (metadata(base)["a.md"], base.record("a.md").title) == ({"team": "law"}, "Freight")
    assert base.list("team = 'law'")[0].id == "a.md"
    (folder / CSV).unlink()
    assert base.add(folder).updated == ("a.md",)
    assert metadata(base) == {
        "a.md": {}, "deep/b.md": {"year": 2021, "final": True}, "deep/er/c.txt": {}
    }  # fmt: skip


def test_the_origins_of_fields_have_their_order(base: KnowledgeBase, folder: Path) -> None:
    (folder / "a.md").write_text("---\none: file\ntwo: file\nauthor: file\n---\n# A\n\nText.")
    (folder / CSV).write_text(
        "path,author,keywords,subject,title\na.md,sidecar,sidecar,sidecar,Sidecar\n"
    )
    base.sync(folder, metadata={"keywords": "given", "subject": "given"})
    base.update_metadata(["a.md"], {"subject": "edited"})
    wanted = {"author": "sidecar", "keywords": "given", "subject": "edited"}
    assert metadata(base)["a.md"].items() >= wanted.items()
    assert base.record("a.md").title == "Sidecar"
    base.update_metadata(["a.md"], {}, title="Edited")
    assert base.record("a.md").title == "Edited"
    (folder / CSV).unlink()
    base.sync(folder, metadata={})
    assert metadata(base)["a.md"].items() >= {"author": "file", "subject": "edited"}.items()
    assert "keywords" not in metadata(base)["a.md"]
    assert base.record("a.md").title == "Edited"


def test_a_sidecar_file_describes_members_and_files_named_alone(
    base: KnowledgeBase, folder: Path
) -> None:
    make_zip(folder / "z.zip", {"m.txt": b"Member one.", "n.txt": b"Member two."})
    (folder / CSV).write_text("path,team,year\nz.zip,hr,1\nz.zip!/m.txt,,2\na.md,law,3\n")
    other = folder.with_name("other.kb")
    with KnowledgeBase(other, embedder=None) as alone:
        report = alone.add(folder / "a.md", folder / CSV)
        assert metadata(alone) == {"a.md": {"team": "law", "year": 3}}
        assert (report.added, report.failed) == (("a.md",), ())
    assert base.sync(folder).warnings == ()
    assert metadata(base)["z.zip!/m.txt"] == {"team": "hr", "year": 2}
    assert metadata(base)["z.zip!/n.txt"] == {"team": "hr", "year": 1}
    (folder / CSV).write_text("path,team\nz.zip,sales\n")
    report = base.sync(folder)
    assert set(report.updated) == {"a.md", "z.zip!/m.txt", "z.zip!/n.txt"}
    assert metadata(base)["z.zip!/m.txt"] == {"team": "sales"}


def test_rows_without_files_and_bad_rows_are_reported(base: KnowledgeBase, folder: Path) -> None:
    (folder / CSV).write_text("path,team\na.md,hr\ndeep/b.md,law\n")
    base.sync(folder)
    (folder / CSV).write_text("path,team\ngone.md,x\na.md,hr,more\ndeep/b.md,tax\ndeep/b.md,y\n")
    report = base.sync(folder)
    lines = [warning.split(": ")[0].rpartition("line ")[2] for warning in report.warnings]
    assert sorted(lines) == ["2", "3", "5"]
    assert metadata(base)["a.md"] == {"team": "hr"}, "a bad row keeps the earlier fields"
    assert metadata(base)["deep/b.md"] == {"team": "tax"}, "the first row of a path counts"


def test_an_edited_document_is_read_again_without_parsing_options(
    tmp_path: Path, folder: Path
) -> None:
    """Edits are on disk, and the record and the document tell where the fields come from."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.sync(folder, metadata={"kind": "note"})
        base.update_metadata(["a.md"], {"year": 3, "kind": None})
    with KnowledgeBase(tmp_path / "a.kb", create=False, parse=ParseOptions()) as base:
        origins = base.record("a.md").origins
        assert origins is not None
        assert origins == base.get("a.md").origins
        assert (origins.given, origins.edited) == ({"kind": "note"}, {"year": 3, "kind": None})
        assert base.record("deep/b.md").origins is None


def test_the_command_sets_shows_and_removes(tmp_path: Path, folder: Path) -> None:
    spanwise("sync", "in", folder=tmp_path)
    done = spanwise("set", "a.md", "deep/b.md", "year=2023", "team=hr", folder=tmp_path)
    assert "2 documents" in done.stdout
    foreseen = spanwise("set", "--where", "year = 2023", "year=2024", "--dry-run", folder=tmp_path)
    assert "year: 2023 -> 2024" in foreseen.stdout
    report = read_json("set", "a.md", "--remove", "team", "--title", "New", folder=tmp_path)
    assert report["changes"][0]["after"] == {"team": None}
    assert report["changes"][0]["title_after"] == "New"
    listed = {record["id"]: record for record in read_json("list", folder=tmp_path)}
    assert listed["a.md"]["metadata"] == {"year": 2023}
    assert listed["deep/b.md"]["metadata"] == {"year": 2023, "team": "hr"}


def test_an_id_with_an_equals_sign_is_an_id(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a=b.txt").write_text("Text of it.")
    spanwise("sync", "in", folder=tmp_path)
    spanwise("set", "a=b.txt", "x=1", folder=tmp_path)
    assert read_json("list", folder=tmp_path)[0]["metadata"] == {"x": 1}


@pytest.mark.parametrize(
    "arguments",
    [
        ("set",),
        ("set", "a.md"),
        ("set", "x=1"),
        ("set", "a.md", "x=1", "--where", "year = 1"),
        ("set", "a.md", "title=x"),
        ("set", "a.md", "x=1", "--remove", "x"),
    ],
)
def test_an_unclear_command_is_refused(
    tmp_path: Path, folder: Path, arguments: Sequence[str]
) -> None:
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None) as base:
        base.sync(folder)
    assert spanwise(*arguments, folder=tmp_path).returncode == 2


def test_titles_by_a_model_give_way_to_edited_ones(base: KnowledgeBase, folder: Path) -> None:
    model, context = ScriptedModel(made_answer), ContextOptions(headers=True)
    base.add(folder, llm=model, context=context)
    made = base.record("a.md")
    assert made.title != "Freight"
    base.update_metadata(["a.md"], {"year": 1}, title="Mine")
    assert base.record("a.md").recipe == made.recipe
    assert len(base.add(folder, llm=model, context=context).unchanged) == 3
    (folder / "a.md").write_text(TEXTS["a.md"] + " They fell later.")
    assert base.add(folder, llm=model, context=context).replaced == ("a.md",)
    assert (base.record("a.md").title, metadata(base)["a.md"]) == ("Mine", {"year": 1})
    base.update_metadata(["a.md"], {}, title="")
    assert base.record("a.md").title == made.title


def test_updates_of_one_document_at_once_are_all_kept(base: KnowledgeBase) -> None:
    base.add_text("Text.", document_id="a")

    def update(name: str) -> None:
        for number in range(10):
            base.update_metadata(["a"], {name: number}, title=f"{name}{number}")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(update, "xyz"))
    assert metadata(base) == {"a": {"x": 9, "y": 9, "z": 9}}


def test_metadata_of_results_can_be_changed_without_changing_searches(base: KnowledgeBase) -> None:
    base.add_text("Freight rates rose.", document_id="t", metadata={"team": "finance"})
    segment = base.search("freight rates").segments[0]
    for result in (segment, base.get("t"), base.record("t"), base.list()[0]):
        cast("dict[str, object]", result.metadata)["team"] = "changed"
    found = base.search("freight rates", where='team = "finance"')
    assert [segment.metadata for segment in found.segments] == [{"team": "finance"}]
    assert base.record("t").metadata == base.get("t").metadata == {"team": "finance"}


def test_a_text_warns_of_values_that_an_update_has_fixed(base: KnowledgeBase) -> None:
    base.add_text("One.", document_id="a", title="First", metadata={"kind": "x", "team": "y"})
    base.update_metadata(["a"], {"year": 1, "team": None}, title="Mine")
    given: dict[str, int | str] = {"year": 2, "team": "z", "kind": "w"}
    report = base.add_text("Two.", document_id="a", title="Given", metadata=given)
    (warning,) = report.warnings
    assert all(name in warning for name in ("'year'", "'team'", "title", "update_metadata"))
    assert "'kind'" not in warning
    assert (metadata(base)["a"], base.record("a").title) == ({"kind": "w", "year": 1}, "Mine")
    assert base.add_text("Three.", document_id="a", metadata={"year": 1}).warnings == ()
    base.update_metadata(["a"], {"team": "z", "year": 2}, title="Given")
    report = base.add_text("Two.", document_id="a", title="Given", metadata=given)
    assert report.warnings == ()
    assert (metadata(base)["a"], base.record("a").title) == (given, "Given")
    assert base.add_chunks("a", ["Four."], metadata={"team": "y"}).warnings

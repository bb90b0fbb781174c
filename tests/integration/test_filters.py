"""Filters as people write them: from the metadata of `add` to the result of a search."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise
from tests.scripted_answers import answer_of, ask, model_of

from spanwise import KnowledgeBase, field, parse_filter
from spanwise.errors import FilterError, OptionError
from spanwise.filters import Where
from spanwise.types import GivenValue

DOCUMENTS: dict[str, dict[str, GivenValue]] = {
    "nike": {"company": "NIKE", "year": 2018, "tags": ["nda", "Draft"]},
    "nero": {"company": "Café Nero", "year": 2020, "tags": ["msa"]},
    "bare": {"signed": datetime.date(2019, 2, 28), "year": 2019},
}


@pytest.fixture(params=["memory", "disk"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeBase]:
    path = ":memory:" if request.param == "memory" else tmp_path / "x.kb"
    with KnowledgeBase(path, embedder=None) as made:
        for name, metadata in DOCUMENTS.items():
            made.add_text(
                f"The margin of {name} rose in the year.",
                document_id=name,
                metadata=metadata,
            )
        if path == ":memory:":
            yield made
            return
    with KnowledgeBase(path) as again:
        yield again


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ('company = "nike"', ["nike"]),
        ('company = "cafe nero"', ["nero"]),
        ('company exactly "nike"', []),
        ('company contains "ner"', ["nero"]),
        (field("company").starts_with("caf"), ["nero"]),
        ('"draft" in tags', ["nike"]),
        (field("tags").contains("NDA") | field("tags").contains("msa"), ["nero", "nike"]),
        ("signed >= 2019-02-01 and signed < 2020", ["bare"]),
        (field("signed") == datetime.date(2019, 2, 28), ["bare"]),
        ("signed = 2019-02", ["bare"]),
        ({"company": "nike", "year": 2018}, ["nike"]),
        ({"year": [2018, 2019]}, ["bare", "nike"]),
        ({"tags": {"msa"}}, ["nero"]),
        ({}, ["bare", "nero", "nike"]),
    ],
)
def test_a_filter_selects_documents_in_every_call(
    base: KnowledgeBase, where: Where, ids: list[str]
) -> None:
    assert [record.id for record in base.list(where)] == ids
    found = base.search("margin", where=where, spread="documents")
    assert sorted(segment.document_id for segment in found.segments) == ids
    excerpts = base.excerpts("margin", where=where, spread="documents")
    assert sorted(excerpt.document_id for excerpt in excerpts.excerpts) == ids
    explained = base.explain("margin", where=where)
    assert {document.document_id for document in explained.documents} <= set(ids)
    assert explained.result.not_found == (not ids)


def test_lists_and_dates_are_stored(base: KnowledgeBase) -> None:
    assert base.get("nike").metadata["tags"] == ("nda", "Draft")
    assert base.record("nike").metadata["tags"] == ("nda", "Draft")
    assert base.record("nike").to_dict()["metadata"] == {
        "company": "NIKE",
        "year": 2018,
        "tags": ["nda", "Draft"],
    }
    assert base.record("bare").metadata["signed"] == "2019-02-28"
    assert base.info().fields["signed"] == ("date",)
    assert base.info().fields["tags"] == ("text",)
    assert base.check().findings == ()


def test_the_types_of_items_count(base: KnowledgeBase) -> None:
    lists: dict[str, GivenValue] = {"one": [1], "true": [True], "text": ["1"]}
    for name, items in lists.items():
        base.add_text(f"Margin of {name}.", document_id=name, metadata={"items": items})
    assert [record.id for record in base.list("1 in items")] == ["one"]
    assert [record.id for record in base.list("true in items")] == ["true"]
    assert [record.id for record in base.list("'1' in items")] == ["text"]


def test_other_values_are_refused(base: KnowledgeBase) -> None:
    wrong: list[object] = [None, {"a": 1}, [["x"]], [None], b"x", float("nan"), ["\ud800"]]
    for value in wrong:
        with pytest.raises(OptionError, match="metadata field 'a'"):
            base.add_text("x", document_id="x", metadata={"a": value})  # type: ignore[dict-item]
    with pytest.raises(FilterError, match="give a text, a finite number"):
        base.search("margin", where={"year": None})
    with pytest.raises(FilterError):
        base.list(where=["year = 2018"])  # type: ignore[arg-type]


NEAR = {
    'company = "nkie"': '`company = "NIKE"`',
    'company = "nero"': '`company = "Café Nero"`',
    'company in ("Nyke", "x")': '`company = "NIKE"`',
    'company contains "nikee"': '`company = "NIKE"`',
    'company exactly "nike"': '`company = "NIKE"`',
    '"nad" in tags': '`tags = "nda"`',
    "year = 2021": "`year = 2020`",
    "year = 2017": "`year = 2018`",
    "year > 2030": "the values of year are 2018 to 2020",
    "signed = 2018-05-01": '`signed = "2019-02-28"`',
    "signed < 2001": "2019-02-28",
    'company = "nike" and year = 2019': "`year = 2018`",
    'company = "zzz" and year = 2018': '"NIKE"',
    'company = "nike" and year > 2019': "year that pass the other conditions are 2018",
    'company = "nkie" and year = 1990': '`company = "NIKE"`',
}


@pytest.mark.parametrize("where", NEAR)
def test_near_values_are_named_if_no_document_passes(base: KnowledgeBase, where: str) -> None:
    found, excerpts = base.search("margin", where=where), base.excerpts("margin", where=where)
    opening = f"no document passes the filter `{parse_filter(where)}`"
    for result in (found, excerpts):
        assert result.no_document_passes
        assert result.warnings[0].startswith(opening)
        assert NEAR[where] in result.warnings[0]
    assert base.filter_warning(where) == found.warnings[0]
    assert base.explain("margin", where=where).result.warnings == found.warnings


def test_a_filter_that_a_document_passes_has_no_such_warning(base: KnowledgeBase) -> None:
    filters: tuple[Where | None, ...] = (None, "year = 2018", {})
    for where in filters:
        assert base.filter_warning(where) == ""
        result = base.search("zebra", where=where, abstain=True)
        assert not result.no_document_passes
        assert not any("passes the filter" in warning for warning in result.warnings)


def test_only_named_documents_are_compared(base: KnowledgeBase) -> None:
    """Near values come from the documents that are searched."""
    result = base.search("margin", where='company = "nkie"', documents=["nero", "bare"])
    assert result.no_document_passes
    assert "NIKE" not in result.warnings[0]
    assert "chosen documents" in result.warnings[0]
    assert not base.search("margin", where="year = 2018", documents=[]).no_document_passes


def test_an_answer_says_that_no_document_passes(base: KnowledgeBase) -> None:
    answer = ask(base, model_of(answer_of()), where='company = "nkie"')
    assert answer.refused
    assert answer.text.startswith("No document passes the filter")
    assert "NIKE" in answer.text
    assert "NIKE" in answer.warnings[0]


def test_the_first_line_of_a_command_names_near_values(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The margin rose in the year.")
    names = ("company=NIKE", "tags=nda", "tags=msa", "draft=true")
    given = [word for name in names for word in ("--metadata", name)]
    assert spanwise("add", "a.txt", *given, folder=tmp_path).returncode == 0
    listed = " ".join(spanwise("list", folder=tmp_path).stdout.split())
    assert "draft=true" in listed
    assert "tags=nda, msa" in listed
    assert "nda, msa" in spanwise("show", "a.txt", folder=tmp_path).stdout
    (record,) = json.loads(
        spanwise("list", "--where", '"MSA" in tags', "--json", folder=tmp_path).stdout
    )
    assert record["metadata"]["tags"] == ["nda", "msa"]
    where = ("--where", 'company = "nkie"')
    for call in (("search", "margin"), ("excerpts", "margin"), ("explain", "margin"), ("list",)):
        shown = spanwise(*call, *where, folder=tmp_path)
        assert shown.stdout.startswith("No document passes the filter"), call
        assert "NIKE" in " ".join(shown.stdout.split())
        assert "Nothing in the knowledge base" not in shown.stdout
        as_json = spanwise(*call, *where, "--json", folder=tmp_path)
        if call == ("list",):
            assert json.loads(as_json.stdout) == []
            assert "NIKE" in " ".join(as_json.stderr.split())
        elif call[0] != "explain":
            assert "NIKE" in json.loads(as_json.stdout)["warnings"][0]
            assert json.loads(as_json.stdout)["no_document_passes"] is True


def test_repeated_filters_of_a_command_must_all_pass(tmp_path: Path) -> None:
    """None of them is ignored, and `or` inside of one does not reach the next."""
    for name, year in (("a.txt", 2022), ("b.txt", 2023), ("c.txt", 2024)):
        (tmp_path / name).write_text("The margin rose.")
        added = spanwise("add", name, "--metadata", f"year={year}", folder=tmp_path)
        assert added.returncode == 0
    where = ("--where", "year = 2022 or year = 2023", "--where", "year > 2022")
    listed = json.loads(spanwise("list", *where, "--json", folder=tmp_path).stdout)
    assert [record["id"] for record in listed] == ["b.txt"]


@pytest.mark.parametrize("call", [("set", "team=hr"), ("export", "out")])
def test_commands_that_select_documents_name_near_values(
    tmp_path: Path, call: tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_text("The margin rose.")
    added = spanwise("add", "a.txt", "--metadata", "company=NIKE", folder=tmp_path)
    assert added.returncode == 0
    done = spanwise(*call, "--where", 'company = "nkie"', folder=tmp_path)
    assert "NIKE" in " ".join(done.stderr.split())


def test_removing_the_field_of_the_filter_gives_no_warning(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The margin rose.")
    added = spanwise("add", "a.txt", "--metadata", "draft=true", folder=tmp_path)
    assert added.returncode == 0
    done = spanwise("set", "--where", "draft = true", "--remove", "draft", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_field_of_empty_lists_can_be_compared_with_any_value(tmp_path: Path) -> None:
    for path in (tmp_path / "a.kb", ":memory:"):
        with KnowledgeBase(path, embedder=None) as base:
            base.add_text("The margin rose.", document_id="a", metadata={"tags": []})
            assert base.list('"nda" in tags') == []
            assert [record.id for record in base.list('not ("nda" in tags)')] == ["a"]
            assert base.search("margin", where={"tags": "nda"}).no_document_passes

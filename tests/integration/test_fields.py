"""Fields that documents have by themselves, from the file to the filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.knowledge_base import KnowledgeBase

FILING = """UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
FORM 10-K
For the fiscal year ended December 31, 2021
Commission file number 1-23456
ALTBY HARBOUR COMPANY
(Exact name of registrant as specified in its charter)

Altby Harbour lets berths to the owners of boats, and cranes to those who lift them.
"""
NOTE = "---\ntitle: On tides\nauthor: Ada\ndate: 2020-05-03\n---\n# Tides\n\nThey rise and fall.\n"


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text(FILING)
    (folder / "note.md").write_text(NOTE)
    base = KnowledgeBase(tmp_path / "x.kb")
    base.add(folder)
    return base


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ('company == "Altby Harbour" and fiscal_year >= 2018 and form == "10-K"', ["a.txt"]),
        ('period_end < "2022" and language = "en"', ["a.txt"]),
        ('title = "Altby Harbour 10-K 2021"', ["a.txt"]),
        ('title = "On tides" and author = "Ada" and date >= "2020-01-01"', ["note.md"]),
        ("company exists or author exists", ["a.txt", "note.md"]),
    ],
)
def test_own_fields_can_be_filtered_by(base: KnowledgeBase, where: str, ids: list[str]) -> None:
    with base:
        assert [record.id for record in base.list(where=where)] == ids


def test_fields_that_are_given_win(base: KnowledgeBase, tmp_path: Path) -> None:
    with base:
        base.add(tmp_path / "documents", metadata={"company": "Mine"})
        (record,) = base.list(where="fiscal_year exists")
        assert (record.metadata["company"], record.given_fields) == ("Mine", ("company",))
        assert record.title == "Mine 10-K 2021"
        assert base.sync(tmp_path / "documents").unchanged == ("a.txt", "note.md")


def test_metadata_goes_before_what_a_document_knows_of_itself(base: KnowledgeBase) -> None:
    """Also where it has the name of a field that all others have."""
    with base:
        base.add_text("They rise.", document_id="b", metadata={"status": "draft", "title": "T"})
        assert [record.id for record in base.list(where='status = "draft"')] == ["b"]
        assert [record.id for record in base.list(where='status = "ok"')] == ["a.txt", "note.md"]
        assert [record.id for record in base.list(where='title = "T"')] == ["b"]
        assert (base.record("b").status, base.record("b").title) == ("ok", "b")


@pytest.mark.parametrize("documents", [None, ["note.md"]])
def test_filter_that_no_document_passes_is_said(
    base: KnowledgeBase, documents: list[str] | None
) -> None:
    """Else it would look as if the documents did not answer the question."""
    where = 'company = "altby harbour"' if documents is None else 'company = "Altby Harbour"'
    with base:
        result = base.search("Who lets berths?", where=where, documents=documents)
        assert any(f"no document passes the filter `{where}`" in said for said in result.warnings)
        excerpts = base.excerpts("Who lets berths?", where=where, documents=documents)
        assert excerpts.warnings == result.warnings
        found = base.search("Who lets berths?", where='company = "Altby Harbour"')
        assert found.warnings == ()

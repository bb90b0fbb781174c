"""Fields that documents have by themselves, from the file to the filter."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.documents import build_pdf

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
    where = 'company = "Altby Harbor"' if documents is None else 'company = "Altby Harbour"'
    with base:
        result = base.search("Who lets berths?", where=where, documents=documents)
        assert any(f"passes the filter `{where}`" in said for said in result.warnings)
        excerpts = base.excerpts("Who lets berths?", where=where, documents=documents)
        assert excerpts.warnings == result.warnings
        found = base.search("Who lets berths?", where='company = "Altby Harbour"')
        assert found.warnings == ()


CONTRACT = """BERTH LEASE AGREEMENT

This Berth Lease Agreement is made as of May 3, 2021 by and between Altby Harbour, Inc., a Maine
corporation ("Lessor"), and Wide Waters Ltd. ("Lessee").

1. Term. The term is five years.
2. Law. This Agreement is governed by the laws of the State of Maine.
"""
NAME = "ALTBYHARBOUR_10_2021-EX-10.2.txt"


@pytest.fixture
def contracts(tmp_path: Path) -> KnowledgeBase:
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / NAME).write_text(CONTRACT)
    (folder / "sail.txt").write_text(
        CONTRACT.replace("BERTH LEASE", "SAIL SUPPLY")
        .replace("Berth Lease", "Sail Supply")
        # the same lessee
        .replace("Altby Harbour", "Low Sails")
    )
    base = KnowledgeBase(tmp_path / "contracts.kb", embedder=None)
    base.add(folder)
    return base


@pytest.mark.parametrize(
    "where",
    [
        '"Altby Harbour" in parties and "wide waters" in parties',
        'agreement = "Berth Lease Agreement" and governing_law = "Maine"',
        'agreement != "Sail Supply Agreement" and effective_date >= "2021-05"',
    ],
)
def test_contracts_can_be_filtered_by_their_fields(contracts: KnowledgeBase, where: str) -> None:
    """Kind, parties, effective date and governing law come from the text."""
    with contracts:
        assert [record.id for record in contracts.list(where=where)] == [NAME]


def test_title_of_a_contract_replaces_its_file_name(contracts: KnowledgeBase) -> None:
    """Questions name the parties and the kind of agreement."""
    with contracts:
        title = "Berth Lease Agreement between Altby Harbour and Wide Waters"
        assert contracts.record(NAME).title == title
        result = contracts.search("How long is the term of the Altby lease agreement?")
        assert result.segments[0].document_id == NAME


def test_title_of_the_caller_wins(contracts: KnowledgeBase) -> None:
    """The parties are words of the document all the same."""
    with contracts:
        contracts.add_text(CONTRACT, document_id="b", title="EX-10.2")
        assert contracts.record("b").title == "EX-10.2"
        contracts.add_text(CONTRACT, document_id="c", metadata={"parties": ["Ann", "Ben"]})
        assert contracts.record("c").title == "Berth Lease Agreement between Ann and Ben"
        contracts.add_text(CONTRACT, document_id="d", metadata={"agreement": "Lease"})
        assert "between" not in contracts.record("d").title


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("EX-10.2", "Berth Lease Agreement between Altby Harbour and Wide Waters"),
        ("d4217_ex102.htm", "Berth Lease Agreement between Altby Harbour and Wide Waters"),
        ("Our berths", "Our berths"),
    ],
)
def test_title_in_a_file_is_kept_unless_it_is_a_file_name(
    contracts: KnowledgeBase, tmp_path: Path, head: str, title: str
) -> None:
    """Converters write file names and numbers of exhibits there."""
    body = "".join(f"<p>{part}</p>" for part in CONTRACT.split("\n\n"))
    page = tmp_path / "a.html"
    page.write_text(f"<html><head><title>{head}</title></head><body>{body}</body></html>")
    with contracts:
        contracts.add(page)
        assert contracts.record("a.html").title == title


def test_date_of_a_filing_is_the_end_of_its_period(tmp_path: Path) -> None:
    """The day on which a program made the PDF is the date of the file."""
    path = tmp_path / "a.pdf"
    path.write_bytes(build_pdf([FILING], properties={"CreationDate": "D:20230801120000"}))
    with KnowledgeBase(tmp_path / "pdf.kb", embedder=None) as base:
        base.add(path)
        metadata = base.record("a.pdf").metadata
        assert (metadata["date"], metadata["file_date"]) == ("2021-12-31", "2023-08-01")


def test_a_summary_is_of_the_body_of_markdown() -> None:
    matter = "---\nlayout: post\ndescription: x\n---"
    text = f"{matter}\n\n# Leave\n\nEvery employee has thirty days of leave."
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(text, document_id="a.md", media_type="text/markdown")
        summary = base.record("a.md").summary
    assert "layout" not in summary
    assert "thirty days" in summary

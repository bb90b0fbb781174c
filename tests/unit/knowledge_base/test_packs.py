"""Packs of a knowledge base: used, recorded, changed and looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.reports import LEASES, PROSE, REPORT

from spanwise import KnowledgeBase
from spanwise.errors import OptionError, PackError, StoreError
from spanwise.knowledge_base.internals import store_of
from spanwise.packs.landmarks import document_signals
from spanwise.types import PackInfo

LEASE = (
    "This lease is made between the lessor and the lessee.\n\n" + PROSE * 8 + "\n\n4. BASE RENT\n"
    "Paid in monthly instalments with a security deposit; else a late charge is due.\n\n"
    + PROSE
    * 8
)


@pytest.fixture
def leases(tmp_path: Path) -> Path:
    path = tmp_path / "leases.toml"
    path.write_text(LEASES, encoding="utf-8")
    return path


def filled(path: Path | str, packs: Sequence[Path | str] | None = ("filings",)) -> KnowledgeBase:
    base = KnowledgeBase(path, embedder=None, packs=packs)
    base.add_text(REPORT, document_id="alder.txt")
    base.add_text(LEASE, document_id="lease.txt")
    return base


def used(base: KnowledgeBase) -> list[PackInfo]:
    """Return the packs that are in use."""
    return [info for info in base.packs.list() if info.in_use]


def test_what_comes_with_it_is_used_and_switches_itself_on() -> None:
    with filled(":memory:", packs=None) as base:
        contracts, filings = base.packs.list()
        assert (filings.name, filings.in_use, filings.outdated) == ("filings", True, False)
        assert (filings.documents, filings.origin) == (1, "spanwise")
        assert (contracts.name, contracts.in_use, contracts.documents) == ("contracts", True, 0)
        assert base.info().settings["packs"] == "contracts, filings"


def test_a_pack_of_ones_own_is_kept_with_its_content(tmp_path: Path, leases: Path) -> None:
    with filled(tmp_path / "a.kb") as base:
        before = base.search("late fee").to_dict()
        filings, own = [info for info in base.packs.use(leases) if info.in_use]
        assert (filings.name, own.name) == ("filings", "leases")
        assert (own.documents, own.origin) == (1, str(leases))
        assert (own.phrases, own.glossary) == (4, 2)
        assert base.search("late fee").to_dict() != before
    leases.unlink()
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert [info.name for info in used(base)] == ["filings", "leases"]
        assert base.search("late fee").segments[0].document_id == "lease.txt"
        base.add_text(LEASE + "More.", document_id="other.txt")
        assert [info.documents for info in used(base)] == [1, 2]


def test_using_a_pack_later_is_as_using_it_from_the_start(tmp_path: Path, leases: Path) -> None:
    question = "How much is the late fee of the lease?"
    with filled(tmp_path / "a.kb", packs=["filings", leases]) as early:
        expected = early.search(question).to_dict()
    with filled(tmp_path / "b.kb") as late:
        late.packs.use(leases)
        found = late.search(question).to_dict()
    for result in (expected, found):
        result.pop("seconds")
    assert found == expected


def test_a_changed_file_takes_the_place_of_the_old_one(leases: Path) -> None:
    with filled(":memory:", packs=[leases]) as base:
        leases.write_text(LEASES.replace("base rent", "ground rent"), encoding="utf-8")
        assert [info.documents for info in used(base)] == [1]
        base.packs.use(leases)
        assert [(info.name, info.documents) for info in used(base)] == [("leases", 0)]


def test_packs_are_removed_by_name(leases: Path) -> None:
    with filled(":memory:", packs=["filings", leases]) as base:
        own, *others = base.packs.remove("filings")
        assert (own.name, own.in_use) == ("leases", True)
        assert [info.in_use for info in others] == [False, False]
        base.packs.remove("leases")
        assert used(base) == []
        with pytest.raises(PackError, match="'leases' is not in use; packs in use: none"):
            base.packs.remove("leases")


def test_none_may_be_used(tmp_path: Path) -> None:
    with filled(tmp_path / "a.kb", packs=[]) as base:
        assert [info.in_use for info in base.packs.list()] == [False, False]
        assert base.info().settings["packs"] == ""


def test_other_packs_than_are_in_use_are_refused(tmp_path: Path, leases: Path) -> None:
    filled(tmp_path / "a.kb").close()
    KnowledgeBase(tmp_path / "a.kb", packs=["filings"]).close()
    with pytest.raises(OptionError, match=r"uses the packs \['filings'\], and \['leases'\]"):
        KnowledgeBase(tmp_path / "a.kb", packs=[leases])


def test_a_file_may_have_moved(tmp_path: Path, leases: Path) -> None:
    filled(tmp_path / "a.kb", packs=[leases]).close()
    moved = leases.rename(tmp_path / "moved.toml")
    KnowledgeBase(tmp_path / "a.kb", packs=[moved]).close()


@pytest.mark.parametrize("name", ["missing.toml", "nothing", "", "a\0b"])
def test_a_pack_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(PackError, match=r"cannot be read.*shipped pack: contracts, filings"):
        KnowledgeBase(":memory:", packs=[name])


def test_a_file_of_bytes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PackError, match=r"bad\.toml' cannot be read"):
        KnowledgeBase(":memory:", packs=[path])


def test_one_text_is_no_list() -> None:
    with pytest.raises(PackError, match="packs is 'filings'; give a list"):
        KnowledgeBase(":memory:", packs="filings")


def test_places_are_found_without_using_the_pack(leases: Path) -> None:
    with filled(":memory:", packs=[]) as base:
        (place,) = base.packs.find(leases)
        assert (place.document_id, place.landmark, place.name) == (
            "lease.txt",
            "rent",
            "rent clause",
        )
        assert place.text == base.chunks("lease.txt")[place.chunk].text
        assert "monthly instalments" in place.text
        statements = [one.landmark for one in base.packs.find("filings")]
        assert statements == ["income", "balance_sheet", "cash_flow"]
        assert not any(info.in_use for info in base.packs.list())


def test_another_version_of_a_shipped_pack_is_told(tmp_path: Path) -> None:
    with filled(tmp_path / "a.kb") as base:
        store_of(base).record_packs(
            store_of(base).ensure_settings({})["packs"].replace("capex", "capexes"), lambda _: {}
        )
        (info,) = used(base)
        assert (info.outdated, info.documents) == (True, 0)
        base.packs.use("filings")
        (info,) = used(base)
        assert (info.outdated, info.documents) == (False, 1)


def test_who_has_it_open_sees_what_another_changed(tmp_path: Path, leases: Path) -> None:
    """Searches and additions of a handle follow the packs that another one uses."""
    with filled(tmp_path / "a.kb") as one, KnowledgeBase(tmp_path / "a.kb") as other:
        other.packs.use(leases)
        explanation = one.explain("late fee")
        assert any(name.startswith("leases: ") for name in explanation.features)
        one.add_text(LEASE + "More.", document_id="other.txt")
        assert used(other)[1].documents == 2


def test_a_change_while_a_document_is_read_fails_that_document_alone(
    tmp_path: Path, leases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "docs" / f"{name}.txt").write_text(LEASE + name, encoding="utf-8")
    changes = [lambda base: base.packs.use(leases)]
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, packs=["filings"]) as base:

        def meanwhile(packs: object, texts: object) -> object:
            if changes:
                changes.pop()(base)
            return document_signals(packs, texts)  # type: ignore[arg-type]  # handed through

        monkeypatch.setattr("spanwise.ingest.prepare.document_signals", meanwhile)
        report = base.add(tmp_path / "docs")
        assert [failure.code for failure in report.failed] == ["conflict"]
        assert "packs of the knowledge base were changed" in report.failed[0].message
        assert report.added == ("b.txt",)
        assert base.add(tmp_path / "docs").added == ("a.txt",)
        assert used(base)[1].documents == 2


def test_a_closed_knowledge_base_says_so() -> None:
    base = filled(":memory:")
    base.close()
    with pytest.raises(StoreError, match="closed"):
        base.packs.list()

"""`spanwise packs`, from the template to a search that uses the pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.reports import LEASES, PROSE, REPORT

from spanwise import KnowledgeBase
from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.knowledge_base.internals import store_of
from spanwise.packs.pack_file import read_pack


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a knowledge base of a report, and a pack of our own."""
    monkeypatch.setenv("SPANWISE_CONFIG", "none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leases.toml").write_text(LEASES, encoding="utf-8")
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, packs=["filings"]) as base:
        base.add_text(REPORT, document_id="alder.txt")
        lease = f"{PROSE * 9}\n4. BASE RENT\nMonthly instalments, a security deposit.\n{PROSE}"
        base.add_text(lease, document_id="lease.txt")
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["packs", *words]) == code
    written = capsys.readouterr()
    assert (written.err == "") == (code in (0, ExitCode.NOTHING_FOUND))
    return written.out + written.err


def test_packs_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "list", "--kb", "a.kb")
    assert text.startswith("filings  active in 1 of 2 documents\n  Reports of companies")
    assert "income statement, balance sheet, cash flow statement" in text
    assert "built-in" in text


def test_without_a_knowledge_base_built_in_packs_are_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output(capsys, "list")
    assert text.startswith("contracts  active in 0 of 0 documents\n")
    assert "\nfilings  active in 0 of 0 documents\n" in text
    assert not (folder / "spanwise.kb").exists()


def test_a_pack_is_used_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "use", "leases.toml", "--kb", "a.kb")
    assert "filings  active in 1 of 2" in text
    assert "leases  active in 1 of 2" in text
    assert str(folder / "leases.toml") in "".join(text.split())
    text = output(capsys, "remove", "filings", "--kb", "a.kb")
    assert "leases  active in 1 of 2" in text
    assert "filings  not in use" in text
    message = output(capsys, "remove", "filings", "--kb", "a.kb", code=ExitCode.USAGE)
    assert "'filings' is not in use; packs in use: leases" in message


def test_another_version_of_a_pack_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase(folder / "a.kb") as base:
        recorded = store_of(base).ensure_settings({})["packs"]
        store_of(base).record_packs(recorded.replace("capex", "capexes"), lambda _: {})
    assert "spanwise packs use filings" in output(capsys, "list", "--kb", "a.kb")


def test_a_new_pack_is_valid_and_finds_its_landmarks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "check it with `spanwise packs check 'My Leases.toml'`" in output(
        capsys, "new", "My Leases.toml"
    )
    pack = read_pack((folder / "My Leases.toml").read_text("utf-8"), place="x")
    assert pack.name == "my-leases"
    assert pack.intents
    assert pack.glossary
    text = output(capsys, "check", "My Leases.toml")
    assert text.startswith("my-leases is valid: Leases")
    assert "rent         rent clause" in text
    text = output(capsys, "check", "My Leases.toml", "--kb", "a.kb")
    assert "rent clause: in 1 of 2 documents\n  lease.txt " in text
    assert "termination clause: in 0 of 2 documents" in text


def test_a_new_pack_does_not_overwrite_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = output(capsys, "new", "leases.toml", code=ExitCode.USAGE)
    assert "leases.toml exists already; name another file" in message
    assert (folder / "leases.toml").read_text("utf-8") == LEASES
    message = output(capsys, "new", "nowhere/leases.toml", code=ExitCode.USAGE)
    assert "nowhere/leases.toml cannot be written (No such file or directory)" in message


def test_a_name_without_letters_gives_a_usable_pack(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output(capsys, "new", "2020.toml")
    assert read_pack((folder / "2020.toml").read_text("utf-8"), place="x").name == "mine"


def test_a_pack_without_landmarks_in_any_document_has_exit_code_4(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LEASES.replace("base rent", "ground rent").replace("termination", "nowhere")
    (folder / "none.toml").write_text(text, encoding="utf-8")
    text = output(capsys, "check", "none.toml", "--kb", "a.kb", code=ExitCode.NOTHING_FOUND)
    assert "rent clause: in 0 of 2 documents" in text
    assert "no landmark found; a landmark is a line similar to one of its titles" in text


def test_many_places_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with KnowledgeBase(folder / "a.kb") as base:
        for number in range(4):
            base.add_text(REPORT + f"No {number}.", document_id=f"r{number}")
    text = output(capsys, "check", "filings", "--kb", "a.kb")
    assert "balance sheet: in 5 of 6 documents" in text
    assert text.count("and 2 more") == 3


def test_a_wrong_pack_is_one_line_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.toml").write_text(LEASES.replace("titles", "title"), encoding="utf-8")
    for words in (("check", "wrong.toml"), ("use", "wrong.toml", "--kb", "a.kb")):
        message = output(capsys, *words, code=ExitCode.USAGE)
        assert message.startswith("spanwise: wrong.toml:6: landmarks.rent.title is no key")
        assert message.count("\n") == 1


def test_programs_get_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info, other = json.loads(output(capsys, "list", "--kb", "a.kb", "--json"))
    assert (other["name"], other["in_use"]) == ("contracts", False)
    assert (info["name"], info["documents"], info["in_use"]) == ("filings", 1, True)
    found = json.loads(output(capsys, "check", "leases.toml", "--kb", "a.kb", "--json"))
    assert found["pack"] == "leases"
    assert [place["document_id"] for place in found["places"]] == ["lease.txt"]
    assert json.loads(output(capsys, "check", "leases.toml", "--json"))["places"] is None
    used = json.loads(output(capsys, "use", "leases.toml", "--kb", "a.kb", "--json"))
    assert [one["name"] for one in used] == ["filings", "leases", "contracts"]
    assert main(["packs", "use", "nothing.toml", "--kb", "a.kb", "--json"]) == ExitCode.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "pack"


def test_packs_of_new_knowledge_bases_are_set(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files count from the folder of the file that names them."""
    (folder / "below").mkdir()
    (folder / "below" / "note.txt").write_text(REPORT, encoding="utf-8")
    (folder / "spanwise.toml").write_text(
        '[add]\npacks = ["leases.toml", "filings"]\nembedder = "none"\n', encoding="utf-8"
    )
    monkeypatch.setenv("SPANWISE_CONFIG", str(folder / "spanwise.toml"))
    monkeypatch.chdir(folder / "below")
    assert main(["add", "note.txt", "--quiet"]) == ExitCode.OK
    capsys.readouterr()
    infos = json.loads(output(capsys, "list", "--json"))
    names = [info["name"] for info in infos if info["in_use"]]
    assert names == ["leases", "filings"]
    monkeypatch.setenv("SPANWISE_ADD_PACKS", "none")
    assert main(["add", "note.txt", "--quiet", "--kb", "other.kb"]) == ExitCode.OK
    capsys.readouterr()
    infos = json.loads(output(capsys, "list", "--kb", "other.kb", "--json"))
    assert not any(info["in_use"] for info in infos)

"""`spanwise doctor` and `spanwise backup` as people and programs run them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.commands import read_json, spanwise

from spanwise import BackupReport, CheckFinding, CheckReport, KnowledgeBase, SpanwiseError

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(REPORTS, folder / "reports")
    assert spanwise("add", "reports", "--quiet", folder=folder).returncode == 0
    return folder


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of it, to be damaged."""
    return Path(shutil.copytree(filled, tmp_path / "home"))


def damage_text(home: Path) -> None:
    with closing(sqlite3.connect(home / "spanwise.kb" / "truth.db")) as connection, connection:
        connection.execute("update chunk set text = upper(text) where key = 1 << 32")


def damage_part(home: Path) -> None:
    (part,) = (home / "spanwise.kb" / "index").glob("*.part")
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)


def test_a_sound_knowledge_base(filled: Path) -> None:
    done = spanwise("doctor", folder=filled)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "sound"
    said = read_json("doctor", folder=filled)
    assert said["sound"] is True
    assert said["report"]["documents"] == 4
    assert said["report"]["findings"] == []
    assert said["report"]["index_chunks"] == said["report"]["chunks"]


def test_a_damaged_document_is_told_with_what_to_do(home: Path) -> None:
    damage_text(home)
    for options in ((), ("--repair",)):
        done = spanwise("doctor", *options, folder=home)
        assert (done.returncode, done.stderr) == (1, "")
        assert "text: 'annual-report-2022.md': its text is not the one" in done.stdout
        assert "remove the document and add it again from" in done.stdout
        assert done.stdout.splitlines()[-1] == "not sound: 1 finding"
    assert spanwise("remove", "annual-report-2022.md", folder=home).returncode == 0
    assert spanwise("add", "reports", "--replace", folder=home).returncode == 0
    assert spanwise("doctor", folder=home).returncode == 0


def test_a_damaged_index_is_repaired(home: Path) -> None:
    damage_part(home)
    done = spanwise("doctor", folder=home)
    assert done.returncode == 1
    assert "doctor --repair` rebuilds the index" in done.stdout
    said = read_json("doctor", folder=home, code=1)
    assert [(f["code"], f["repaired"]) for f in said["report"]["findings"]] == [("part", False)]
    done = spanwise("doctor", "--repair", folder=home)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "sound")
    assert "repaired: index part" in done.stdout
    assert read_json("doctor", folder=home)["report"]["findings"] == []


def test_a_backup_can_be_searched(home: Path) -> None:
    done = spanwise("backup", "copy.kb", folder=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("backup copy.kb: ")
    assert read_json("doctor", "--kb", "copy.kb", folder=home)["sound"] is True
    question = ("search", "Why did energy cost more?", "--json")
    copied = spanwise(*question, "--kb", "copy.kb", folder=home)
    assert copied.stdout == spanwise(*question, folder=home).stdout


def test_a_backup_for_a_program(home: Path) -> None:
    said = read_json("backup", "copy.kb", folder=home)
    size = sum(file.stat().st_size for file in (home / "copy.kb").rglob("*") if file.is_file())
    assert (said["path"], said["bytes_on_disk"]) == ("copy.kb", size)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("reports", "already exists"),
        ("spanwise.kb/copy.kb", "is inside of"),
        ("no/copy.kb", "does not exist; create it"),
    ],
)
def test_a_backup_that_cannot_be_is_refused(home: Path, target: str, words: str) -> None:
    done = spanwise("backup", target, folder=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not list(home.glob("*.tmp"))


def test_the_same_from_python(home: Path) -> None:
    with KnowledgeBase(home / "spanwise.kb") as base:
        damage_part(home)
        found = base.check()
        assert isinstance(found, CheckReport)
        (finding,) = found.findings
        assert isinstance(finding, CheckFinding)
        assert base.check(repair=True).sound
        told: list[int] = []
        copied = base.backup(home / "copy.kb", on_progress=lambda done, _: told.append(done))
        assert isinstance(copied, BackupReport)
        assert copied.bytes_on_disk >= told[-1] > 0
    with KnowledgeBase(":memory:") as base:
        base.add_text("Freight cost more.", document_id="note")
        assert base.check().documents == 1
        with pytest.raises(SpanwiseError, match="in memory"):
            base.backup(home / "memory.kb")


@pytest.mark.parametrize("damage", ["metadata = '{'", "status = 'no status'"])
def test_a_document_whose_record_is_damaged_can_be_removed(tmp_path: Path, damage: str) -> None:
    """As the findings advise."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.add_text("Some text.", document_id="a")
        with closing(sqlite3.connect(tmp_path / "a.kb" / "truth.db")) as connection, connection:
            connection.execute(f"update document set {damage}")
        assert not base.check().sound
        assert base.remove("a") == ("a",)
        assert base.check().sound

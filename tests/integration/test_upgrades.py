"""Knowledge bases that earlier versions wrote, opened by this one.

`tests/formats/build.py` wrote them by running the package as it was. Today's ingest makes some
titles and headers otherwise, so results are compared with those of a copy that is stored anew.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.formats.build import VERSIONS
from tests.formats.write_base import MEMO, QUESTIONS, answer, held
from tests.servers.postgres import postgres_database

from spanwise import ContextOptions, KnowledgeBase
from spanwise.errors import FormatError
from spanwise.stores.manifest import MANIFEST_FORMAT
from spanwise.stores.postgres import schema as postgres_schema
from spanwise.stores.schema import FORMAT_VERSION
from spanwise.testing.models import ScriptedModel
from spanwise.types import Segment

FORMATS = Path(__file__).resolve().parents[1] / "formats"


def unpack(name: str, folder: Path) -> Path:
    """Return a copy of a knowledge base as its version left it."""
    with tarfile.open(FORMATS / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "base.kb"


def recorded(name: str) -> dict[str, Any]:
    """Return what the version itself read from its knowledge base."""
    data: dict[str, Any] = json.loads((FORMATS / f"{name}.json").read_text(encoding="utf-8"))
    return data


def format_of(path: Path) -> int:
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        number: int = connection.execute("pragma user_version").fetchone()[0]
    return number


def answers(base: KnowledgeBase) -> list[tuple[Segment, ...]]:
    """Return the segments of all questions, with their scores."""
    return [base.search(question).segments for question in QUESTIONS]


@pytest.fixture(params=VERSIONS)
def name(request: pytest.FixtureRequest) -> str:
    version: str = request.param
    return version


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    return unpack(name, tmp_path)


def test_there_is_one_of_every_format(tmp_path: Path) -> None:
    """Also of the current one, which the next version must read."""
    found = {}
    for name in VERSIONS:
        path = unpack(name, tmp_path / name)
        manifest = json.loads((path / "index" / "manifest.json").read_text("utf-8"))
        found[name] = format_of(path), manifest["format"]
    assert {name: str(number) for name, (number, _) in found.items()} == {
        name: name.partition("-")[0] for name in VERSIONS
    }
    assert {number for number, _ in found.values()} == set(range(8, FORMAT_VERSION + 1))
    assert {number for _, number in found.values()} >= {4, 5, MANIFEST_FORMAT}


def test_documents_are_those_that_the_version_read(name: str, path: Path) -> None:
    expected = recorded(name)
    with KnowledgeBase(path, create=False) as base:
        found = json.loads(json.dumps(held(base)))
        turn = base.threads.get("talk").turns[0]
    assert found == {part: expected[part] for part in ("documents", "threads")}
    assert turn.question == QUESTIONS[0]
    assert "May 2031" in turn.answer.text
    (citation,) = turn.answer.citations
    assert citation.status == "exact"
    assert citation.citation is not None
    assert citation.citation.document_id == "report.md"
    assert format_of(path) == FORMAT_VERSION


def test_it_answers_as_a_new_knowledge_base_with_its_documents(
    name: str, path: Path, tmp_path: Path
) -> None:
    """A copy writes every row and the index anew."""
    with KnowledgeBase(path, create=False) as base:
        before = answers(base)
        base.copy_to(tmp_path / "new.kb")
    with KnowledgeBase(tmp_path / "new.kb", create=False) as base:
        assert answers(base) == before
    for question, segments in zip(QUESTIONS, before, strict=True):
        then = recorded(name)["segments"][question]
        if then:  # earlier versions abstained more often
            assert segments[0].document_id == then[0][0], question


def test_it_stays_usable(path: Path, tmp_path: Path) -> None:
    with KnowledgeBase(path, create=False) as base:
        assert base.check().findings == ()
        report = base.add(
            FORMATS / "documents", metadata={"year": 2018, "team": "law"}, replace=True
        )
        assert not report.failed
        base.add_text("A ship of 2031 sails to Zanzibar.", document_id="new")
        assert base.search("Zanzibar").segments[0].document_id == "new"
        assert base.remove("minutes.txt")
        base.ask(QUESTIONS[0], llm=ScriptedModel(answer), thread="talk")
        assert [info.turns for info in base.threads.list()] == [2]
        base.compact()
        base.backup(tmp_path / "backup.kb")
        before = answers(base)
        assert base.check().findings == ()
    for folder in (path, tmp_path / "backup.kb"):
        with KnowledgeBase(folder, create=False) as base:
            assert answers(base) == before
            assert base.check().findings == ()


def test_outputs_of_models_are_used_again(tmp_path: Path) -> None:
    """Prompts of earlier versions differ, so only the outputs of the newest version are used."""
    path, memo = unpack("11-stores", tmp_path), tmp_path / "memo.md"
    memo.write_text(MEMO, encoding="utf-8")
    context = ContextOptions(headers=True, chunk_contexts=True)
    with KnowledgeBase(path, create=False) as base:
        base.remove("memo.md")
        report = base.add(memo, llm=ScriptedModel(answer), context=context)
        assert (report.usage.calls, report.usage.cached_calls) == (0, 3)
        assert base.record("memo.md").title == "Memo about freight"


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = unpack("11-stores", tmp_path)
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute(f"pragma user_version = {FORMAT_VERSION + 1}")
    before = {file.name: file.read_bytes() for file in path.rglob("*.part")}
    message = rf"version {FORMAT_VERSION + 1}, this program reads versions up to {FORMAT_VERSION}"
    with pytest.raises(FormatError, match=message):
        KnowledgeBase(path, create=False)
    assert format_of(path) == FORMAT_VERSION + 1
    assert {file.name: file.read_bytes() for file in path.rglob("*.part")} == before


@pytest.mark.slow
def test_tables_of_the_first_migration_are_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """In PostgreSQL; the second migration adds the tables of jobs."""
    with postgres_database() as address:
        with monkeypatch.context() as patch:
            patch.setattr(postgres_schema, "_MIGRATIONS", postgres_schema._MIGRATIONS[:1])
            patch.setattr(postgres_schema, "FORMAT", 1)
            with KnowledgeBase(address) as base:
                base.add(FORMATS / "documents", metadata={"year": 2018})
                before = answers(base)
            assert read_format(address) == 1
        with KnowledgeBase(address, create=False) as base:
            assert answers(base) == before
            base.add_text("A ship sails to Zanzibar.", document_id="new")
            assert base.search("Zanzibar").segments[0].document_id == "new"
            assert base.remove("new")
            assert answers(base) == before
            assert base.check().findings == ()
        assert read_format(address) == postgres_schema.FORMAT
        with psycopg.connect(address) as connection:
            connection.execute("update spanwise.format set number = number + 1")
        latest = postgres_schema.FORMAT
        said = f"has format {latest + 1}, this program reads formats up to {latest}"
        with pytest.raises(FormatError, match=said):
            KnowledgeBase(address, create=False)


def read_format(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute("select number from spanwise.format").fetchone()
    assert row is not None
    return int(row[0])

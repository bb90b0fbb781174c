"""Tuning with chunks of other lengths: documents are cut again, and the file says how."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise
from tests.question_files import write_questions
from tests.tuned_documents import scattered_questions, scattered_texts

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.evaluation.tuning import TuneOptions, TuneReport, tune
from spanwise.evaluation.tuning.tuner import (
    Measure,
    chunk_options,
    other_chunks,
    with_chunks,
    write_tuning,
)
from spanwise.ingest.local_files import TemporarySpace
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import ChunkOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.types import GivenContext, GivenParts

OPTIONS = TuneOptions(
    budgets=(150,), tokenizer="chars:4", keyword_shares=(), chunk_targets=(100,), folds=2
)
PACK = """
name = "mine"
description = "Words of our works."

[landmarks.pumps]
name = "pumps"
titles = ["list of pumps", "pumps"]
items = ["hours", "run"]
"""
MARKDOWN = "# Pumps\n\nAll of them run.\n\n| pump | hours |\n|---|---|\n" + "| a | 1 |\n" * 60


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None, packs=()) as base:
        for name, (text, _) in scattered_texts().items():
            base.add_text(text, document_id=f"{name}.txt", title=name)
        yield base


@pytest.fixture(scope="module")
def report(base: KnowledgeBase) -> TuneReport:
    return tune(base, scattered_questions(), options=OPTIONS)


def test_chunks_that_find_more_are_chosen(report: TuneReport) -> None:
    (figure,) = report.tuning.measured.figures
    assert report.tuning.chunks == chunk_options(100)
    assert figure.after > figure.before + 0.2


def test_chunks_longer_than_the_budget_find_nothing(base: KnowledgeBase) -> None:
    measure = Measure(budgets=(150,), tokenizer="chars:4", reranking=None)
    asked = scattered_questions()[:1]
    with with_chunks(base, chunk_options(3_000), on_step=lambda *_: None) as work:
        searcher = searcher_of(work, shipped_model())
        found = measure.recalls(asked, base=work, searcher=searcher, may_refuse=True)
        assert found == [(0.0,)]
        with pytest.raises(OptionError, match="budget is 150"):
            measure.recalls(asked, base=work, searcher=searcher)


@pytest.mark.skipif(os.name != "posix", reason="needs locks of POSIX")
def test_a_killed_tuning_leaves_no_copy_for_long(tmp_path: Path) -> None:
    """The next process that needs temporary files removes the copy with the other chunks."""
    script = """
import os
from spanwise import KnowledgeBase
from spanwise.evaluation.tuning.tuner import chunk_options, with_chunks
with KnowledgeBase(":memory:", embedder=None, packs=()) as base:
    base.add_text("The pump runs.", document_id="a")
    with with_chunks(base, chunk_options(100), on_step=lambda *_: None):
        os._exit(9)
"""
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], check=False, env=environ)
    (left,) = tmp_path.iterdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        with TemporarySpace() as space, space.folder():
            assert not left.exists()


def test_chunks_that_it_has_are_not_made_again(base: KnowledgeBase) -> None:
    assert other_chunks(base, (400, 300, 300)) == [chunk_options(300)]
    assert chunk_options(400) == ChunkOptions()


def test_a_new_knowledge_base_is_made_as_the_file_says(report: TuneReport, tmp_path: Path) -> None:
    write_tuning(report.tuning, tmp_path / "tuned.toml")
    (tmp_path / "reports").mkdir()
    for name, (text, _) in scattered_texts().items():
        (tmp_path / "reports" / f"{name}.txt").write_text(text, encoding="utf-8")
    with KnowledgeBase(tmp_path / "old.kb", embedder=None):
        pass
    with pytest.raises(OptionError, match=r"chunks of 100 chars.*chunks of 400 chars.*--tuning"):
        KnowledgeBase(tmp_path / "old.kb", tuning=tmp_path / "tuned.toml")
    with KnowledgeBase(tmp_path / "new.kb", embedder=None, tuning=tmp_path / "tuned.toml") as base:
        base.add(tmp_path / "reports")
        assert max(one.end - one.start for one in base.chunks("Abernathy.txt")) <= 115


def test_documents_are_cut_again_as_they_are(tmp_path: Path) -> None:
    """Tables, a pack whose file is gone, and parts that were given all count on."""
    (tmp_path / "mine.toml").write_text(PACK, encoding="utf-8")
    steps: list[tuple[object, ...]] = []
    parts = GivenParts(summary="On pumps.", contexts=(GivenContext(start=0, end=9, text="works"),))
    with KnowledgeBase(":memory:", embedder=None, packs=[tmp_path / "mine.toml"]) as base:
        base.add_text(MARKDOWN, document_id="a.md", media_type="text/markdown", given=parts)
        (tmp_path / "mine.toml").unlink()
        with with_chunks(base, chunk_options(200), on_step=lambda *s: steps.append(s)) as work:
            assert work.get("a.md") == base.get("a.md")
            assert [one.kind for one in work.get("a.md").blocks] == ["table"]
            assert [one.title for one in work.sections("a.md")] == [
                one.title for one in base.sections("a.md")
            ]
            assert work.record("a.md").summary == "On pumps."
            assert work.chunks("a.md")[0].context == "works"
            assert len(work.chunks("a.md")) > len(base.chunks("a.md"))
            assert [one.name for one in work.packs.list() if one.in_use] == ["mine"]
            folder = Path(work.info().path)
            assert folder.exists()
    assert not folder.exists()
    assert steps == [("chunks of 200", 0, 1)]


def test_nothing_is_left_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(MARKDOWN, document_id="a.md", media_type="text/markdown")
        with (
            pytest.raises(KeyboardInterrupt),
            with_chunks(base, chunk_options(200), on_step=interrupt),
        ):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    """Tune with other chunks, add the documents as the file says, and search them."""
    extra = {"SPANWISE_ADD_EMBEDDER": "none", "SPANWISE_KB": ""}
    (tmp_path / "reports").mkdir()
    for name, (text, _) in scattered_texts().items():
        (tmp_path / "reports" / f"{name}.txt").write_text(text, encoding="utf-8")
    write_questions(tmp_path / "questions.jsonl", scattered_questions()[:10])

    def run(*words: str) -> str:
        done = spanwise(*words, folder=tmp_path, extra=extra)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("add", "reports", "--kb", "old.kb")
    options = ("--budget", "150", "--tokenizer", "chars:4", "--chunk-sizes", "100")
    said = " ".join(run("tune", "questions.jsonl", "--kb", "old.kb", *options).split())
    assert "`spanwise rebuild --tuning tuned.toml`" in said
    asked = scattered_questions()[0].text
    search = ("search", asked, "--kb", "old.kb", "--tuning", "tuned.toml", "--json")
    refused = spanwise(*search[:-1], folder=tmp_path)
    assert refused.returncode == 2
    assert "chunks of 100 chars" in " ".join(refused.stderr.split())
    run("rebuild", "--kb", "old.kb", "--tuning", "tuned.toml")
    assert json.loads(run(*search))["segments"]
    run("add", "reports", "--kb", "new.kb", "--tuning", "tuned.toml")
    assert json.loads(run(*search[:3], "new.kb", *search[4:]))["segments"]

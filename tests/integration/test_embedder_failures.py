"""What an ingest does where an embedder refuses, fails or costs too much, and what it foresees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import KnowledgeBase
from spanwise.errors import DocumentError, ModelError, ModelKeyError, OptionError
from spanwise.models.ports import EmbedReply
from spanwise.options import ContextOptions, ModelOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import IngestReport, Usage

WORDS = " ".join(f"word{number}" for number in range(40))


class Embedder:
    """A contextual embedder over a network, a dollar a text, which fails as it is told."""

    name = "scripted:embedder"
    version = "1"
    dimension = 4
    batch_texts = 2
    concurrency = 2
    is_local = False

    def __init__(self, *, dollars: float | None = 1.0) -> None:
        self.dollars = dollars
        self.failures: dict[str, ModelError] = {}
        """What is raised for texts that hold a word."""
        self.asked: list[Sequence[str]] = []

    def fail(self, word: str, *, status: int | None, kind: type[ModelError] = ModelError) -> None:
        self.failures[word] = kind(
            f"answered {status}", provider="scripted", model="embedder", status=status
        )

    def estimate(self, texts: Sequence[str]) -> Usage:
        cost = None if self.dollars is None else self.dollars * len(texts)
        return Usage(input_tokens=7 * len(texts), cost=cost)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_texts(texts, kind="document").vectors

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        self.asked.append(texts)
        for word, error in self.failures.items():
            if any(word in text for text in texts):
                raise error
        vectors = np.array([[len(text), 1, 2, 3] for text in texts], dtype=np.float32)
        usage = self.estimate(texts)
        return EmbedReply(
            vectors=vectors, usage=Usage(calls=1, input_tokens=usage.input_tokens, cost=usage.cost)
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for letter in "abcdefgh":
        (folder / f"{letter}.txt").write_text(f"Plant {letter}{letter} {WORDS}", encoding="utf-8")
    return folder


def added(report: IngestReport) -> str:
    return "".join(name[0] for name in report.added)


def failed(report: IngestReport) -> dict[str, str]:
    return {Path(one.source).name[0]: one.code for one in report.failed}


@pytest.mark.parametrize("status", [400, 413, 422])
def test_documents_that_are_refused_fail_alone(folder: Path, status: int) -> None:
    embedder = Embedder()
    for word in ("bb", "cc", "dd", "ee"):
        embedder.fail(word, status=status)
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        report = base.add(folder)
        assert added(report) == "afgh"
        assert failed(report) == dict.fromkeys("bcde", "not_embedded")
        assert f"could not be embedded: answered {status}" in report.failed[0].message


@pytest.mark.parametrize("status", [None, 404, 429, 500])
def test_an_embedder_that_is_down_ends_the_run(folder: Path, status: int | None) -> None:
    embedder = Embedder()
    for word in ("bb", "dd", "ee", "ff"):
        embedder.fail(word, status=status)
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        report = base.add(folder)
        assert added(report) == "ac"
        codes = {**dict.fromkeys("bdef", "not_embedded"), **dict.fromkeys("gh", "not_begun")}
        assert failed(report) == codes
        embedder.failures.clear()
        assert added(base.add(folder)) == "bdefgh"


def test_an_embedder_that_is_down_ends_an_import(folder: Path, tmp_path: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add(folder)
        base.export_to(tmp_path / "out")
    embedder = Embedder()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        for word in ("bb", "dd", "ee", "ff", "gg"):
            embedder.fail(word, status=500)
        report = base.import_from(tmp_path / "out")
        assert added(report) == "ac"
        codes = {**dict.fromkeys("bdef", "not_embedded"), **dict.fromkeys("gh", "not_begun")}
        assert failed(report) == codes
        embedder.failures.clear()
        report = base.import_from(tmp_path / "out")
        assert (added(report), report.failed) == ("bdefgh", ())


def test_nothing_is_removed_by_a_run_that_ended(folder: Path) -> None:
    embedder = Embedder()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        base.sync(folder)
        for name in "abcd":
            (folder / f"{name}.txt").write_text(f"down {name} {WORDS}", encoding="utf-8")
        (folder / "h.txt").unlink()
        embedder.fail("down", status=503)
        report = base.sync(folder)
        assert failed(report) == {**dict.fromkeys("abc", "not_embedded"), "d": "not_begun"}
        assert not report.removed
        assert [record.id[0] for record in base.list()] == list("abcdefgh")
        assert base.get("a.txt").text.startswith("Plant aa")


def test_a_refused_key_ends_the_run_and_what_was_stored_stays(folder: Path) -> None:
    embedder = Embedder()
    embedder.fail("cc", status=401, kind=ModelKeyError)
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        with pytest.raises(ModelKeyError):
            base.add(folder)
        assert [record.id for record in base.list()] == ["a.txt", "b.txt"]


def test_one_text_that_cannot_be_embedded_is_told() -> None:
    embedder = Embedder()
    embedder.fail("Plant", status=500)
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        with pytest.raises(DocumentError, match="could not be embedded") as raised:
            base.add_text("Plant", document_id="a")
        assert raised.value.code == "not_embedded"
        assert isinstance(raised.value.__cause__, ModelError)
        assert not list(base.list())


def test_a_limit_holds_for_embedders(folder: Path) -> None:
    embedder = Embedder()
    with KnowledgeBase(":memory:", embedder=embedder, models=ModelOptions(max_cost=3.0)) as base:
        report = base.add(folder)
        assert added(report) == "abc"
        assert failed(report) == dict.fromkeys("defgh", "cost_limit")
        assert report.usage_by_task["embed"].cost == 3.0
        assert added(base.add(folder)) == "def"


def test_a_limit_holds_for_embedder_and_language_model_together(folder: Path) -> None:
    model = ScriptedModel(lambda _: '{"title": "Plants"}', dollars_a_token=0.001, concurrency=1)
    context = ContextOptions(headers=True)
    foreseen = 0.0
    with KnowledgeBase(":memory:", embedder=Embedder()) as base:
        report = base.add(folder, llm=model, context=context, dry_run=True)
        foreseen = (report.usage.cost or 0) / 8
    limit = 1.7 * foreseen
    with KnowledgeBase(
        ":memory:", embedder=Embedder(), models=ModelOptions(max_cost=limit)
    ) as base:
        report = base.add(folder, llm=model, context=context)
    assert report.usage_by_task.keys() > {"embed"}
    assert 0 < (report.usage.cost or 0) <= limit
    assert set(failed(report).values()) == {"cost_limit"}


def test_a_limit_needs_a_price(folder: Path) -> None:
    embedder = Embedder(dollars=None)
    with KnowledgeBase(":memory:", embedder=embedder, models=ModelOptions(max_cost=3.0)) as base:
        with pytest.raises(OptionError, match="price of scripted:embedder is not known"):
            base.add(folder)
        assert not embedder.asked


def test_a_dry_run_foresees_what_embedding_takes(folder: Path) -> None:
    embedder = Embedder()
    with KnowledgeBase(":memory:", embedder=embedder, models=ModelOptions(max_cost=1.0)) as base:
        foreseen = base.add(folder, dry_run=True).usage_by_task["embed"]
        assert not embedder.asked
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        usage = base.add(folder).usage_by_task["embed"]
        assert (foreseen.calls, foreseen.input_tokens) == (usage.calls, usage.input_tokens)
        assert foreseen.cost == usage.cost == 8.0
        assert base.add(folder, dry_run=True).usage == Usage()
        (folder / "a.txt").write_text(f"Plant zz {WORDS}", encoding="utf-8")
        again = base.add(folder, dry_run=True)
        assert again.replaced == ("a.txt",)
        assert again.usage_by_task["embed"].calls == 1
        base.remove("b.txt")
        kept = base.add(folder, dry_run=True).usage_by_task["embed"]
        assert (kept.calls, kept.cached_calls) == (1, 1)


def test_a_dry_run_of_a_renamed_document_foresees_what_it_takes(folder: Path) -> None:
    embedder = Embedder()
    with KnowledgeBase(":memory:", embedder=embedder) as base:
        base.sync(folder)
        (folder / "a.txt").rename(folder / "z.txt")
        foreseen = base.sync(folder, dry_run=True)
        assert (foreseen.added, foreseen.removed) == (("z.txt",), ("a.txt",))
        done = base.sync(folder)
        assert (foreseen.usage.calls, foreseen.usage.cost) == (done.usage.calls, done.usage.cost)


def test_calls_are_heard() -> None:
    heard: list[str] = []

    class Ear:
        def on_step(self, name: str, **_: object) -> None:
            heard.append(name)

    with KnowledgeBase(":memory:", embedder=Embedder(), listener=Ear()) as base:
        base.add_text("Plant", document_id="a")
    assert "model.embed" in heard


@pytest.mark.parametrize("member", ["version", "estimate"])
def test_an_embedder_without_a_member_is_refused(member: str) -> None:
    class Incomplete(Embedder):
        def __getattribute__(self, name: str) -> object:
            if name == member:
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(OptionError, match=f"that has {member} "):
        KnowledgeBase(":memory:", embedder=Incomplete())

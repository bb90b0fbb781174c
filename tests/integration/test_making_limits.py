"""An ingest with a language model that ends before all is in: cleanly, and nothing is lost."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models import made_answer

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import CostLimitError, ModelError, OptionError
from spanwise.models.ports import EmbedReply, ModelRequest
from spanwise.testing.models import ScriptedModel
from spanwise.types import IngestReport, Usage

HEADERS = ContextOptions(headers=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with five documents."""
    folder = tmp_path / "ships"
    folder.mkdir()
    for name in ("ada", "bea", "cleo", "dora", "eva"):
        text = f"Freight of the {name} cost more than the year before. " * 12
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}")
    return folder


def sync(
    tmp_path: Path, folder: Path, *, max_cost: float, include: tuple[str, ...] = ()
) -> tuple[IngestReport, list[str]]:
    """Sync a folder by a model that costs something; return the report, and what is stored."""
    model = ScriptedModel(made_answer, dollars_a_token=0.001)
    models = ModelOptions(max_cost=max_cost)
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, models=models) as base:
        report = base.sync(folder, llm=model, context=HEADERS, include=include)
        return report, [record.id for record in base.list()]


def test_the_limit_on_the_cost_ends_cleanly_and_the_same_call_goes_on(
    tmp_path: Path, folder: Path
) -> None:
    def run(max_cost: float) -> tuple[ScriptedModel, tuple[str, ...], list[str]]:
        model = ScriptedModel(made_answer, dollars_a_token=0.001, concurrency=1)
        options = ModelOptions(max_cost=max_cost)
        with KnowledgeBase(tmp_path / "a.kb", embedder=None, models=options) as base:
            report = base.add(folder, llm=model, context=HEADERS)
        assert all(one.code == "cost_limit" for one in report.failed)
        assert (report.usage.cost or 0) <= max_cost
        done = (*report.added, *report.unchanged)
        left = [Path(one.source).name for one in report.failed]
        assert sorted([*done, *left]) == sorted(path.name for path in folder.iterdir())
        return model, done, left

    first, done, left = run(5.5)
    assert 0 < len(done) < 5
    assert left == sorted(left)
    second, done, left = run(1_000.0)
    assert (len(done), left) == (5, [])
    asked = [(one.task, one.prompt) for one in (*first.requests, *second.requests)]
    assert len(asked) == len(set(asked)), "nothing was paid for twice"


def test_what_was_not_begun_keeps_what_is_stored(tmp_path: Path, folder: Path) -> None:
    options = ModelOptions(max_cost=0.0)
    model = ScriptedModel(made_answer, dollars_a_token=0.001)
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, models=options) as base:
        base.sync(folder)
        (folder / "new.md").write_text("# New\n\nText.")
        report = base.sync(folder, llm=model, context=HEADERS)
        assert len(report.failed) == 6
        assert (report.removed, model.requests) == ((), [])
        assert len(base.list()) == 5
        with pytest.raises(CostLimitError):
            base.add_text("Text.", document_id="t", llm=model, context=HEADERS)


def test_a_limit_on_what_has_no_price_is_refused_before_anything_is_read(folder: Path) -> None:
    model = ScriptedModel(made_answer, dollars_a_token=None)
    with (
        KnowledgeBase(":memory:", embedder=None, models=ModelOptions(max_cost=1.0)) as base,
        pytest.raises(OptionError, match="the price of scripted:model is not known"),
    ):
        base.add(folder, llm=model, context=HEADERS)


def test_what_was_renamed_is_not_removed_before_it_is_in(tmp_path: Path, folder: Path) -> None:
    sync(tmp_path, folder, max_cost=1_000.0)
    (folder / "ada.md").rename(folder / "zoe.md")
    report, stored = sync(tmp_path, folder, max_cost=0.0)
    assert (report.removed, "ada.md" in stored) == ((), True)
    report, stored = sync(tmp_path, folder, max_cost=1_000.0)
    assert (report.added, report.removed) == (("zoe.md",), ("ada.md",))


def test_attachments_of_a_mail_that_was_not_opened_stay(tmp_path: Path, folder: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Freight"
    mail.set_content("It is attached.")
    mail.add_attachment("# Freight\n\nIt rose.", subtype="markdown", filename="freight.md")
    (folder / "mail.eml").write_bytes(bytes(mail))
    _, before = sync(tmp_path, folder, max_cost=1_000.0)
    assert "mail.eml!/freight.md" in before
    (folder / "ada.md").write_text("# Ada\n\nShe sank.")
    report, stored = sync(tmp_path, folder, max_cost=0.0)
    assert (report.removed, stored) == ((), before)


def test_members_of_an_archive_that_was_not_opened_stay(tmp_path: Path, folder: Path) -> None:
    """Only its members are taken: the archive itself fits no pattern."""
    with zipfile.ZipFile(folder / "log.zip", "w") as archive:
        archive.writestr("log.md", "# Log\n\nFair winds.")
    _, before = sync(tmp_path, folder, max_cost=1_000.0, include=("*.md",))
    assert "log.zip!/log.md" in before
    for path in folder.glob("*.md"):
        path.write_text("# Other\n\nShe sank.")
    report, stored = sync(tmp_path, folder, max_cost=0.0, include=("*.md",))
    assert (report.removed, stored) == ((), before)


class DeadEmbedder:
    """Is never reached."""

    name = "dead:model"
    version = "1"
    dimension = 2
    is_local = False
    batch_texts = 100
    concurrency = 1

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        return Usage(input_tokens=len(texts))

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        raise ModelError("dead", provider="dead", model="model", retryable=True)


def test_calls_that_run_when_a_run_ends_are_counted_and_kept(tmp_path: Path, folder: Path) -> None:
    """The embedder fails for three documents, while a model makes parts of the others."""

    def answer(request: ModelRequest) -> str:
        time.sleep(1 if request.prompt.count("dora") + request.prompt.count("eva") else 0)
        return made_answer(request)

    model, again = ScriptedModel(answer, concurrency=8), ScriptedModel(made_answer)
    with KnowledgeBase(tmp_path / "a.kb", embedder=DeadEmbedder()) as base:
        report = base.add(folder, llm=model, context=HEADERS)
        assert len(report.failed) == 5
        made = sum(usage.calls for task, usage in report.usage_by_task.items() if task != "embed")
        assert made == len(model.requests)
        base.add(folder, llm=again, context=HEADERS)
    asked = [(one.task, one.prompt) for one in (*model.requests, *again.requests)]
    assert len(asked) == len(set(asked)), "nothing was paid for twice"

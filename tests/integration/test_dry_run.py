"""What a dry run foresees, against what a real server counts for the same requests.

The requests go over HTTP to a server that has llama.cpp put them into its template and count them,
as it does before it answers; to have each of them answered would take minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from tests.servers.llama import LlamaServer
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.core.text.fences import fenced
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.models.registry import make_language_model
from spanwise.types import IngestReport, Usage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CHARS = 20_000
CONTEXT = ContextOptions(sections=True, headers=True, chunk_contexts=True, window_tokens=2_000)


class Title(BaseModel):
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingModel:
    """Has a server count each request, and goes on with the typical answer, as a dry run does."""

    model: LanguageModel

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def concurrency(self) -> int:
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        return self.model.estimate(request)

    def generate(self, request: ModelRequest) -> ModelReply:
        return replace(self.model.generate(request), text=request.typical)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        raise AssertionError("nothing is streamed when a document is added")


def text_of(name: str) -> str:
    """Return a text: a page of ours, of Python's reference, or of an installed package."""
    if name == "search.md":
        return (ROOT / "docs" / "how-to" / name).read_text("utf-8")
    if name == "reference.txt":
        # one line, so that windows meet inside of a topic
        return " ".join("\n".join(topics[topic] for topic in sorted(topics)).split())
    return str(metadata.distribution("pydantic").read_text("METADATA"))


def count_input(llama_server: LlamaServer, body: Any) -> int:
    """Return how many tokens llama.cpp reads of a chat request."""
    shown = httpx.post(f"{llama_server.url}/apply-template", json=body, timeout=60)
    shown.raise_for_status()
    return llama_server.count_tokens(shown.json()["prompt"])


def open_model(url: str) -> LanguageModel:
    return make_language_model(f"compatible:smollm2@{url}/v1", options=ModelOptions(concurrency=4))


@pytest.fixture(scope="module")
def counting(llama_server: LlamaServer) -> Iterator[CountingModel]:
    def count(received: Received) -> Reply:
        return chat("counted", input_tokens=count_input(llama_server, received.body))

    with ScriptedServer(count) as server:
        yield CountingModel(model=open_model(server.url))


def test_a_request_is_counted_as_it_is_when_it_is_answered(llama_server: LlamaServer) -> None:
    bodies: list[Any] = []

    def forward(received: Received) -> Reply:
        bodies.append(received.body)
        url = f"{llama_server.url}{received.path}"
        return Reply(body=httpx.post(url, json=received.body, timeout=60).content)

    request = ModelRequest(
        task="test",
        instructions="Write a title.",
        prompt=fenced("The harbour grew by 4 % in 2018.", name="text"),
        answer=Title,
        max_output_tokens=4,
    )
    with ScriptedServer(forward) as server:
        usage = open_model(server.url).generate(request).usage
    assert usage.input_tokens == count_input(llama_server, bodies[0])


@pytest.mark.parametrize("name", ["search.md", "reference.txt", "package.md"])
def test_input_is_at_most_what_is_foreseen_and_not_much_less(
    name: str, counting: CountingModel, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text_of(name)[:CHARS], encoding="utf-8")

    def add(model: LanguageModel, *, dry_run: bool) -> IngestReport:
        report = base.add(path, llm=model, context=CONTEXT, dry_run=dry_run)
        assert not report.warnings
        return report

    once = ModelOptions(answer_retries=0)
    with KnowledgeBase(":memory:", models=once) as base:
        foreseen = add(counting.model, dry_run=True)
        assert not base.list()
        counted = add(counting, dry_run=False)
    seams = {"section seams"} if name == "reference.txt" else set()
    assert seams <= foreseen.usage_by_task.keys()
    assert foreseen.usage_by_task.keys() == counted.usage_by_task.keys()
    for task, usage in counted.usage_by_task.items():
        expected = foreseen.usage_by_task[task]
        assert expected.calls >= usage.calls > 0
        assert usage.input_tokens <= expected.input_tokens, task
        if task != "section seams":  # the text around a seam is as long as it may be
            assert expected.input_tokens <= 1.4 * usage.input_tokens, task

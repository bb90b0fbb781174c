"""Rerankers on the command line, and a language model of a real server as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.commands import read_json, spanwise
from tests.servers.llama import LlamaServer
from tests.servers.scripted import Received, Reply, ScriptedServer, failure

from spanwise import KnowledgeBase
from spanwise.options import ModelOptions, RerankOptions

QUESTION = "What moved the margin?"
SEVENTEEN = "plant 17 "


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    text = "".join(
        f"The margin of plant {number} moved by {number} points.\n\n" * 4 for number in range(30)
    )
    with KnowledgeBase(folder / "spanwise.kb") as base:
        base.add_text(text, document_id="report")
        base.add_text("The margin moved. " * 40, document_id="note")
    return folder


def likes_seventeen(received: Received) -> Reply:
    results = [
        {"index": at, "relevance_score": float(SEVENTEEN in text)}
        for at, text in enumerate(received.body["documents"])
    ]
    return Reply(body=json.dumps({"results": results, "usage": {"total_tokens": 40}}).encode())


@pytest.mark.parametrize("command", ["search", "excerpts", "explain"])
def test_each_command_that_searches_reranks(command: str, home: Path) -> None:
    with ScriptedServer(likes_seventeen) as server:
        name = f"server:{command}@{server.url}"  # a name of its own: nothing is kept of it
        found = read_json(command, QUESTION, "--rerank", name, "--rerank-chunks", "20", folder=home)
        result = found.get("result", found)
        (received,) = server.received
    assert len(received.body["documents"]) == 20
    assert result["usage"]["input_tokens"] == 40
    assert SEVENTEEN in result["context"]


def test_it_may_be_set_for_every_search(home: Path, tmp_path: Path) -> None:
    with ScriptedServer(likes_seventeen) as server:
        variables = {"SPANWISE_RERANK_MODEL": f"server:set@{server.url}"}
        done = spanwise("search", QUESTION, "--budget", "200", folder=home, extra=variables)
    assert done.returncode == 0
    assert SEVENTEEN in done.stdout
    assert "1 model call" in done.stdout
    assert "uncalibrated" in done.stdout


def test_a_reranker_that_fails_is_told_and_the_search_goes_on(home: Path) -> None:
    with ScriptedServer(failure(400, "no such model")) as server:
        done = spanwise("search", QUESTION, "--rerank", f"server:m@{server.url}", folder=home)
    assert done.returncode == 0
    assert "not reranked" in done.stdout
    assert "no such model" in done.stdout


def test_a_missing_key_is_an_error_that_says_what_to_do(home: Path) -> None:
    gone = {"CO_API_KEY": "", "COHERE_API_KEY": ""}
    done = spanwise("search", QUESTION, "--rerank", "cohere:rerank-v3.5", folder=home, extra=gone)
    assert done.returncode == 1
    assert "set CO_API_KEY" in done.stderr


def test_how_much_is_read_is_of_no_use_without_a_reranker(home: Path) -> None:
    done = spanwise("search", QUESTION, "--rerank-chunks", "5", folder=home)
    assert done.returncode == 2
    assert "--rerank-chunks is of no use without --rerank" in done.stderr


@pytest.mark.slow
def test_a_small_model_of_a_real_server_rates_or_is_told_to_have_failed(
    home: Path, llama_server: LlamaServer
) -> None:
    models = ModelOptions(timeout_seconds=60, retries=0, answer_retries=0)
    with KnowledgeBase(home / "spanwise.kb", models=models) as base:
        plain = base.search(QUESTION)
        result = base.search(
            QUESTION,
            rerank=f"llm:compatible:{llama_server.model}@{llama_server.url}/v1",
            rerank_options=RerankOptions(chunks=2),
        )
    assert result.segments
    if any("not reranked" in said for said in result.warnings):
        assert result.segments == plain.segments
    else:
        assert result.usage.calls >= 1
        assert result.usage.input_tokens > 100
        assert result.usage.cost == 0.0

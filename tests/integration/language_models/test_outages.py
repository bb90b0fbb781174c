"""A server that is down: one series of retries over all calls, with its address on the terminal."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import pytest
from tests.servers.scripted import Reply, ScriptedServer, chat, failure

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.cli.program import logged_warnings
from spanwise.errors import ModelError, OptionError
from spanwise.models.ports import ModelRequest
from spanwise.models.registry import make_language_model, make_reranker
from spanwise.options import ModelOptions

REQUEST = ModelRequest(task="title", instructions="You write titles.", prompt="Write one.")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Return a port of this machine that no server uses."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("status", [500, 502])
def test_a_question_waits_once_for_a_server_that_fails(status: int) -> None:
    """Queries and answer are two calls; only the first one is retried."""
    with (
        ScriptedServer(failure(status, "out of memory")) as server,
        KnowledgeBase(":memory:") as kb,
    ):
        kb.add_text("The harbour of Altby has 412 berths.", document_id="a")
        with pytest.raises(ModelError, match=f"at {server.url}.* answered {status}"):
            kb.ask("How many berths?", llm=f"compatible:small@{server.url}/v1")
    assert len(server.received) == 3 + 1


def waits(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the logged waits."""
    return [record.getMessage() for record in caplog.records if record.name == "spanwise.waits"]


def test_a_question_waits_once_for_a_server_that_is_not_there(
    closed_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="spanwise.waits")
    address = f"http://127.0.0.1:{closed_port}/v1"
    with KnowledgeBase(":memory:") as kb:
        kb.add_text("The harbour of Altby has 412 berths.", document_id="a")
        with pytest.raises(ModelError, match=f"at {address} cannot be reached"):
            kb.ask("How many berths?", llm=f"compatible:small@{address}")
    assert waits(caplog) == [f"waiting for {address}: retry {n} of 2" for n in (1, 2)]


def test_a_server_that_is_back_gets_retries_again() -> None:
    replies: list[Reply] = [failure(500)] * 4 + [chat("Harbour"), failure(500), chat("Harbour")]
    with ScriptedServer(replies) as server:
        model = make_language_model(f"compatible:small@{server.url}/v1", options=ModelOptions())
        for _ in range(2):
            with pytest.raises(ModelError):
                model.generate(REQUEST)
        assert len(server.received) == 3 + 1
        assert model.generate(REQUEST).usage.retries == 0
        assert model.generate(REQUEST).usage.retries == 1


def test_a_busy_server_is_not_down() -> None:
    """Status 503 means that the server loads its model, and 429 that it is busy."""
    replies = [failure(503), failure(429), failure(503), chat("Harbour")]
    with ScriptedServer(replies) as server:
        model = make_language_model(f"compatible:small@{server.url}/v1", options=ModelOptions())
        assert model.generate(REQUEST).usage.retries == 3


def test_a_reranker_that_is_down_is_retried_once(
    closed_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="spanwise.waits")
    name = f"server:small@http://127.0.0.1:{closed_port}"
    reranker = make_reranker(name, options=ModelOptions())
    for _ in range(4):
        with pytest.raises(ModelError, match=f"at http://127.0.0.1:{closed_port}"):
            reranker.rerank("query", ["text"])
    assert len(waits(caplog)) == 2


def test_waits_are_lines_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Concurrent calls write each wait once; nothing is written to a file."""
    with ScriptedServer(failure(500)) as server:
        name = f"compatible:small@{server.url}/v1"
        for is_terminal in (True, False):
            monkeypatch.setattr("sys.stderr.isatty", lambda shown=is_terminal: shown)
            model = make_language_model(name, options=ModelOptions())
            with logged_warnings(), pytest.raises(ModelError):
                model.generate(REQUEST)
    shown = capsys.readouterr().err
    assert shown.splitlines() == [
        f"waiting for {server.url}/v1: retry {number} of 2" for number in (1, 2)
    ]
    assert logging.getLogger("spanwise.waits").level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-5-mini", "openai:gpt-5-mini"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gemini-2.5-flash", "google:gemini-2.5-flash"),
        ("mistral-large-latest", "mistral:mistral-large-latest"),
        ("deepseek-chat", "deepseek:deepseek-chat"),
        ("llama3.2", "ollama:llama3.2"),
        ("qwen3:8b", "ollama:qwen3:8b"),
        ("gpt-oss:20b", "ollama:gpt-oss:20b"),
        ("openai/gpt-5-mini", "openai:gpt-5-mini"),
        ("OpenAI:gpt-5-mini", "openai:gpt-5-mini"),
        ("antropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
    ],
)
def test_a_model_without_its_vendor_is_suggested_with_it(name: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"did you mean '{meant}'"):
        make_language_model(name, options=ModelOptions())


def test_an_unknown_name_has_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError) as caught:
        make_language_model("nobody", options=ModelOptions())
    assert "did you mean" not in str(caught.value)
    assert main(["ask", "--llm", "gpt-5-mini", "--kb", "missing.kb", "Why?"]) != 0
    capsys.readouterr()

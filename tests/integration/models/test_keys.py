"""A key is in no text that anybody reads, and in no file: it is sent to its provider alone."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.servers.capable import capable_reply
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.cli.main import main
from spanwise.errors import ModelError, OptionError

REPORTS = Path(__file__).resolve().parents[3] / "examples" / "reports"
CANARY = "sk-canary-7f3a91c2d4e5"
QUESTION = "Why did the gross margin fall in 2023?"
COMMANDS = (
    ("add", "reports", "--sections", "--headers", "--chunk-contexts"),
    ("add", "reports", "--headers", "--dry-run"),
    ("sync", "reports", "--headers", "--json"),
    ("ask", QUESTION, "--thread", "margins"),
    ("ask", QUESTION, "--json"),
    ("search", QUESTION, "--write-queries", "--rerank", "llm:openai:gpt-5-mini"),
    ("search", QUESTION, "--rerank", "llm:openai:gpt-5-mini", "--json"),
    ("explain", QUESTION, "--rerank", "llm:openai:gpt-5-mini"),
    ("threads", "list"),
    ("threads", "show", "margins", "--json"),
    ("doctor", "--json"),
    ("config",),
    ("config", "--json"),
    ("info", "--json"),
    ("list", "--json"),
)
NEEDS_NO_MODEL = {"doctor", "config", "info", "list"}


def echo(status: int) -> Callable[[Received], Reply]:
    """Return a provider that sends back all that it was sent."""

    def answer(received: Received) -> Reply:
        said = {"error": {"message": f"wrong: {dict(received.headers)}", "body": received.body}}
        return Reply(body=json.dumps(said).encode(), status=status)

    return answer


PROVIDERS: Mapping[str, Callable[[Received], Reply]] = {
    "well": capable_reply,
    "401": echo(401),
    "400": echo(400),
    "200": echo(200),
    "prose": lambda _: chat("no"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reports").symlink_to(REPORTS)
    return tmp_path


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


@pytest.mark.parametrize("name", PROVIDERS)
def test_no_command_shows_or_keeps_a_key(
    name: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SPANWISE_KB", raising=False)
    if name != "well":
        assert main(["add", "reports", "--quiet"]) == 0
    with ScriptedServer(PROVIDERS[name]) as server:
        variables = {
            "OPENAI_API_KEY": CANARY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "SPANWISE_LLM_MODEL": "openai:gpt-5-mini",
            "SPANWISE_LLM_RETRIES": "0",
            "SPANWISE_TRACEBACK": "1",
        }
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        for arguments in COMMANDS:
            code = main([*arguments])
            done = capsys.readouterr()
            assert CANARY not in done.out + done.err, arguments
            if name == "well" or arguments[0] in NEEDS_NO_MODEL:
                assert code == 0, (arguments, done.err)
        assert server.received
        for received in server.received:
            assert received.headers["authorization"] == f"Bearer {CANARY}"
            assert CANARY.encode() not in received.raw, "no model knows a key"
    for path, data in files(folder):
        assert CANARY.encode() not in data, path


@pytest.mark.parametrize("name", PROVIDERS)
def test_no_error_and_no_log_shows_a_key(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where everything is logged that is logged at all, and with all causes."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("COMPATIBLE_API_KEY", CANARY)
    said: list[str] = []
    models = ModelOptions(retries=0)
    with (
        ScriptedServer(PROVIDERS[name]) as server,
        KnowledgeBase(tmp_path / "a.kb", embedder=None, models=models) as base,
    ):
        llm = f"compatible:small@{server.url}/v1"
        base.add(REPORTS)
        headers = ContextOptions(headers=True)
        for run in (
            lambda: base.add(REPORTS, llm=llm, context=headers),
            lambda: base.write_queries(QUESTION, llm=llm),
            lambda: base.search(QUESTION, rerank=f"llm:{llm}"),
            lambda: base.ask(QUESTION, llm=llm, thread="t"),
            lambda: base.ask_stream(QUESTION, llm=llm).answer,
        ):
            try:
                said.append(repr(run()))
            except ModelError as error:
                said.append("".join(traceback.format_exception(error)))
                said.append(f"{error!r} {vars(error)}")
    assert len(said) >= 5
    assert CANARY not in "".join(said)
    assert CANARY not in caplog.text
    for path, data in files(tmp_path):
        assert CANARY.encode() not in data, path


def test_an_address_with_a_key_in_it_is_refused(tmp_path: Path) -> None:
    """The name of a model is stored and shown, and its address is part of it."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.add_text("Freight cost more.", document_id="a")
        for llm in (
            f"compatible:small@http://me:{CANARY}@127.0.0.1:9/v1",
            f"compatible:small@http://127.0.0.1:9/v1?api_key={CANARY}",
        ):
            with pytest.raises(OptionError, match="set the key in the environment") as caught:
                base.ask("What cost more?", llm=llm)
            assert CANARY not in "".join(traceback.format_exception(caught.value))
    for path, data in files(tmp_path):
        assert CANARY.encode() not in data, path

"""`spanwise ask --each` with a server that gives scripted answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts import QUESTION, add_contracts, reader
from tests.integration.commands import read_json, spanwise
from tests.servers.scripted import Received, Reply, ScriptedServer, chat, failure

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel


def reply(received: Received) -> Reply:
    """Return the report about a contract; the vessel charter fails for the word "broken"."""
    asked = received.prompt.rpartition("The question is: ")[2]
    if "broken" in asked and "Vessel charter" in received.prompt:
        return failure(400, "no")
    request = ModelRequest(task="document", instructions="", prompt=received.prompt)
    return chat(reader().answer(request), input_tokens=300, output_tokens=40)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a knowledge base of the contracts."""
    with KnowledgeBase(tmp_path / "spanwise.kb") as base:
        add_contracts(base)
    return tmp_path


def arguments(server: ScriptedServer, question: str = QUESTION) -> tuple[str, ...]:
    model = f"compatible:scripted@{server.url}/v1"
    return ("ask", "--each", question, "--llm", model, "--no-write-queries")


def test_the_estimate_comes_first_and_then_the_list(server: ScriptedServer, folder: Path) -> None:
    done = spanwise(*arguments(server), folder=folder)
    assert done.returncode == 0
    assert done.stderr.startswith("4 documents to read")
    assert "8 model calls" in done.stderr  # each answer may be requested twice
    lines = done.stdout.splitlines()
    assert lines[0] == "Read 4 of 4 documents: 2 yes, 1 no, 1 not stated."
    headings = [line for line in lines if line.startswith(("Yes", "No"))]
    assert headings == [
        "Yes: Harbour lease (harbour)",
        "Yes: Vessel charter (vessel)",
        "No: Mill supply agreement (mill)",
        "Not stated:",
    ]
    assert [line[:3] for line in lines if line.startswith("[")] == ["[1]", "[3]", "[2]"]
    assert len(server.received) == 4


def test_a_dry_run_writes_the_estimate_alone(server: ScriptedServer, folder: Path) -> None:
    done = spanwise(*arguments(server), "--dry-run", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 documents to read")
    estimate = read_json(*arguments(server), "--dry-run", folder=folder)
    assert estimate["documents"] == 4
    assert estimate["usage"]["calls"] == 8
    assert not server.received


def test_a_program_gets_one_json_document(server: ScriptedServer, folder: Path) -> None:
    done = spanwise(*arguments(server), "--json", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["counts"] == {"yes": 2, "no": 1, "not stated": 1, "failed": 0, "not read": 0}
    assert result["documents"][0]["citations"][0]["status"] == "exact"
    assert "seconds" not in result
    again = read_json(*arguments(server), folder=folder)
    assert (again["usage"]["calls"], again["usage"]["cached_calls"]) == (0, 4)


def test_a_failed_document_has_its_exit_code(server: ScriptedServer, folder: Path) -> None:
    done = spanwise(*arguments(server, f"{QUESTION} Or broken?"), folder=folder)
    assert done.returncode == 3
    assert "1 failed" in done.stdout
    assert "Vessel charter (vessel): " in done.stdout


def test_no_document_that_answers_has_its_exit_code(server: ScriptedServer, folder: Path) -> None:
    done = spanwise(*arguments(server), "-d", "quarry", folder=folder)
    assert done.returncode == 4
    assert "1 not stated" in done.stdout


@pytest.mark.parametrize(
    "option",
    [("--excerpts", "2"), ("--thread", "a"), ("--chat",), ("--rerank", "llm:x:y"), ("--no-deep",)],
)
def test_options_that_do_not_apply_are_refused(
    server: ScriptedServer, folder: Path, option: tuple[str, ...]
) -> None:
    done = spanwise(*arguments(server), *option, folder=folder)
    assert done.returncode == 2
    assert option[0] in done.stderr
    assert not server.received


@pytest.mark.parametrize("option", ["--dry-run", "--yes"])
def test_options_of_each_are_refused_without_it(folder: Path, option: str) -> None:
    done = spanwise("ask", QUESTION, option, "--llm", "ollama:x", folder=folder)
    assert done.returncode == 2
    assert "--each" in done.stderr


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """Return a model with a price, on a terminal."""
    model = reader()
    model.dollars_a_token = 0.000_001
    monkeypatch.setattr("spanwise.models.registry.make_language_model", lambda *_, **__: model)
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    return model


def asked(monkeypatch: pytest.MonkeyPatch, answer: bool) -> list[str]:
    """Return a list that receives the questions to the user, which are answered."""
    texts: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        texts.append(text)
        return answer

    monkeypatch.setattr("click.confirm", confirm)
    return texts


def test_a_cost_is_confirmed_on_a_terminal(
    folder: Path, paid: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    refused = asked(monkeypatch, answer=False)
    assert main(["ask", "--each", QUESTION, "--llm", "openai:x"]) == 0
    assert len(refused) == 1
    assert not paid.requests
    accepted = asked(monkeypatch, answer=True)
    assert main(["ask", "--each", QUESTION, "--llm", "openai:x"]) == 0
    assert len(accepted) == 1
    assert len(paid.requests) == 5
    assert main(["ask", "--each", QUESTION, "--llm", "openai:x"]) == 0
    assert len(accepted) == 1, "cached answers cost nothing"


@pytest.mark.parametrize("option", [["--yes"], ["--max-cost", "1"]])
def test_no_confirmation_is_asked_with_a_limit_or_consent(
    folder: Path, paid: ScriptedModel, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.chdir(folder)
    texts = asked(monkeypatch, answer=False)
    assert main(["ask", "--each", QUESTION, "--llm", "openai:x", *option]) == 0
    assert not texts
    assert len(paid.requests) == 5


def test_a_cost_limit_writes_the_documents_that_were_read(
    folder: Path,
    paid: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    paid.concurrency = 1
    words = ["ask", "--each", QUESTION, "--llm", "openai:x", "--no-write-queries"]
    assert main([*words, "--max-cost", "0.0065"]) == 3
    written = capsys.readouterr().out
    assert "not read" in written
    assert "cost limit" in written
    assert "Yes: Harbour lease" in written
    assert main([*words, "--max-cost", "1"]) == 0
    assert "Read 4 of 4 documents" in capsys.readouterr().out
    assert len(paid.requests) == 4

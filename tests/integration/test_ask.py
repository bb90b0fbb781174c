"""`spanwise ask` as people and programs run it, with a server that answers as it is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import command, environment, read_json, spanwise
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import KnowledgeBase

LEASE = "The lease of the plant in Austin ends in May 2031."
QUESTION = "When does the lease of the plant in Austin end?"


def reply(received: Received) -> Reply:
    """Answer about the lease: rightly, and with a year that nobody wrote."""
    said = received.prompt.rpartition("The question is: ")[2]
    statements = [
        {"text": "It ends in May 2031.", "quotes": [{"segment": 1, "quote": LEASE}]},
        {"text": "Or so.", "quotes": [{"segment": 1, "quote": LEASE.replace("2031", "2032")}]},
    ]
    form = {
        "answered": "silent" not in said,
        "statements": statements,
        "conflicts": [statements[0]],
        "missing": "",
    }
    return chat(json.dumps(form), input_tokens=500, output_tokens=60)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a knowledge base of one document."""
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None) as knowledge_base:
        knowledge_base.add_text(f"{LEASE} It can be extended.", document_id="lease")
    return tmp_path


def model(server: ScriptedServer) -> str:
    """Return the model of a server, by name."""
    return f"compatible:scripted@{server.url}/v1"


def test_an_answer_is_drawn_with_what_it_cites(server: ScriptedServer, folder: Path) -> None:
    done = spanwise("ask", QUESTION, "--llm", model(server), "--no-write-queries", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "It ends in May 2031. [1] Or so. [2?]"
    assert lines[2:7] == [
        f"[1] lease, {LEASE}, characters 0-50",
        f'    "{LEASE}"',
        "",
        "[2?] not found in the text; 91% of its words match",
        f'    "{LEASE.replace("2031", "2032")}"',
    ]
    assert "conflict: It ends in May 2031. [1]" in lines
    assert "warning: 1 quote was not found in the text and marked so" in lines
    assert any("1 model call" in line and "500 tokens in" in line for line in lines)


def test_a_program_gets_one_document(server: ScriptedServer, folder: Path) -> None:
    arguments = (QUESTION, "--llm", model(server), "--no-write-queries")
    said = read_json("ask", *arguments, folder=folder)
    assert said["citations"][0]["citation"]["document_id"] == "lease"
    assert [one["status"] for one in said["citations"]] == ["exact", "failed"]
    assert "seconds" not in said
    again = read_json("ask", *arguments, folder=folder)
    assert (again["usage"]["calls"], again["usage"]["cached_calls"]) == (0, 1)
    assert len(server.received) == 1


def test_a_refusal_has_its_exit_code(server: ScriptedServer, folder: Path) -> None:
    question = f"{QUESTION} Be silent."
    done = spanwise("ask", question, "--llm", model(server), "--no-write-queries", folder=folder)
    assert done.returncode == 4
    assert done.stdout.startswith("The documents hold no answer to this question")
    assert "It ends" not in done.stdout


def test_the_setting_names_the_model(server: ScriptedServer, folder: Path) -> None:
    extra = {"SPANWISE_LLM_MODEL": model(server)}
    done = spanwise("ask", QUESTION, "--no-write-queries", folder=folder, extra=extra)
    assert done.returncode == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_without_a_model_it_says_how_to_name_one(folder: Path, *, as_json: bool) -> None:
    done = spanwise("ask", QUESTION, *["--json"] * as_json, folder=folder)
    assert done.returncode == 2
    said = json.loads(done.stdout)["error"]["message"] if as_json else done.stderr
    for word in ("--llm", "SPANWISE_LLM_MODEL", "search", "openai:gpt-5-mini"):
        assert word in said


def test_a_limit_on_money_holds_before_anything_is_sent(folder: Path) -> None:
    arguments = ("--llm", "openai:gpt-5-mini", "--no-write-queries", "--max-cost", "0.000001")
    extra = {"OPENAI_API_KEY": "sk-test"}
    done = spanwise("ask", QUESTION, *arguments, folder=folder, extra=extra)
    assert done.returncode == 1
    assert "more than max_cost of 1e-06 allows" in done.stderr


def test_arguments_of_the_command_reach_the_search_and_the_models(
    server: ScriptedServer, folder: Path
) -> None:
    queries = {"standalone": "", "queries": ["end of the lease"], "conditions": []}
    with ScriptedServer(chat(json.dumps(queries))) as writer:
        arguments = ("--llm", model(server), "--query-llm", model(writer), "--temperature", "0.7")
        answer = read_json("ask", QUESTION, *arguments, "--preset", "precise", folder=folder)
        assert answer["queries"] == [QUESTION, "end of the lease"]
        assert [one.body["temperature"] for one in writer.received] == [0]
    assert [one.body["temperature"] for one in server.received] == [0.7]
    assert [one["end"] for one in answer["sources"]] == [
        len(LEASE) + 1
    ]  # without the next sentence


def test_a_model_without_a_temperature_says_so(folder: Path) -> None:
    arguments = ("--llm", "openai:gpt-5-mini", "--no-write-queries", "--temperature", "0.7")
    extra = {"OPENAI_API_KEY": "sk-test"}
    done = spanwise("ask", QUESTION, *arguments, folder=folder, extra=extra)
    assert done.returncode == 1
    assert "temperature is 0.7" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--method", "greedy", "--preset", "precise"),
        ("--method", "greedy", "--excerpts", "2"),
        ("--query-llm", "openai:gpt-5-nano", "--no-write-queries"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    server: ScriptedServer, folder: Path, arguments: tuple[str, ...]
) -> None:
    done = spanwise("ask", QUESTION, "--llm", model(server), *arguments, folder=folder)
    assert (done.returncode, server.received) == (2, [])


def test_a_chat_takes_the_same_arguments(server: ScriptedServer, folder: Path) -> None:
    queries = {"standalone": "", "queries": ["end of the lease"], "conditions": []}
    with ScriptedServer(chat(json.dumps(queries))) as writer:
        arguments = ("--llm", model(server), "--query-llm", model(writer), "--preset", "precise")
        done = subprocess.run(
            command("ask", "--chat", *arguments),
            cwd=folder,
            env=environment(),
            input=f"{QUESTION}\n",
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert (done.returncode, len(writer.received)) == (0, 1)
    assert "It ends in May 2031. [1]" in done.stdout

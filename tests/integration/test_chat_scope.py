"""`/documents` and `/where` of a chat, and the documents of a continued conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import KnowledgeBase

LEASE = "The lease of the plant in Austin ends in May 2031."
MILL = "The lease of the mill in Ostrava ends in June 2029."


def reply(received: Received) -> Reply:
    """Cite the leases that the prompt shows."""
    statements = [
        {"text": f"Lease: {quote[-9:]}", "quotes": [{"segment": 1, "quote": quote}]}
        for quote in (LEASE, MILL)
        if quote in received.prompt.rpartition("</conversation>")[2] + received.prompt
    ]
    form = {"answered": True, "statements": statements, "conflicts": [], "missing": ""}
    return chat(json.dumps(form))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None) as base:
        base.add_text(LEASE, document_id="austin", metadata={"year": 2031})
        base.add_text(MILL, document_id="the mill", metadata={"year": 2029})
    return tmp_path


def talk(server: ScriptedServer, folder: Path, lines: str, *arguments: str) -> str:
    """Return the output of a chat in the conversation "a"."""
    model = f"compatible:scripted@{server.url}/v1"
    words = ("ask", "--chat", "--thread", "a", "--no-write-queries", "--llm", model, *arguments)
    done = spanwise(*words, folder=folder, stdin=lines)
    assert done.stderr == ""
    return done.stdout


def scopes(folder: Path) -> list[tuple[tuple[str, ...] | None, str]]:
    with KnowledgeBase(folder / "spanwise.kb", create=False) as base:
        return [(turn.documents, turn.where) for turn in base.threads.get("a").turns]


QUESTION = "When does the lease end?\n"


def test_commands_switch_the_documents(server: ScriptedServer, folder: Path) -> None:
    written = talk(
        server,
        folder,
        f'{QUESTION}/documents "the mill"\n{QUESTION}/documents\n/where year = 2031\n{QUESTION}'
        f"/where\n{QUESTION}",
    )
    assert scopes(folder) == [(None, ""), (("the mill",), ""), (None, "year = 2031"), (None, "")]
    assert "only from the mill (1 document)" in written
    assert "only from documents where year = 2031 (1 document)" in written
    assert "from all documents (2 documents)" in written
    shown = [MILL in request.prompt for request in server.received]
    assert shown == [True, True, False, True]


def test_a_mistake_changes_nothing(server: ScriptedServer, folder: Path) -> None:
    written = talk(
        server,
        folder,
        f'/where year = 2031\n/documents nobody\n/documents "open\n/where yaer = 2031\n'
        f"/where year =\n/where year = 1999\n{QUESTION}",
    )
    assert written.count("unknown: ") == 5
    assert "'nobody'" in written
    assert "year" in written
    assert scopes(folder) == [(None, "year = 2031")]


def test_a_continued_conversation_keeps_its_documents(server: ScriptedServer, folder: Path) -> None:
    talk(server, folder, f"/documents austin\n{QUESTION}")
    talk(server, folder, QUESTION)
    assert scopes(folder)[1] == (("austin",), "")
    talk(server, folder, QUESTION, "--where", "year = 2029")
    assert scopes(folder)[2] == (None, "year = 2029")


def test_documents_that_are_gone_are_not_restored(server: ScriptedServer, folder: Path) -> None:
    talk(server, folder, f'/documents austin "the mill"\n{QUESTION}')
    with KnowledgeBase(folder / "spanwise.kb") as base:
        base.remove("austin")
    written = talk(server, folder, QUESTION)
    assert "removed: " in written
    assert scopes(folder)[-1] == (("the mill",), "")


def test_a_filter_that_no_document_passes_is_not_restored(
    server: ScriptedServer, folder: Path
) -> None:
    talk(server, folder, f"/where year = 2031\n{QUESTION}")
    with KnowledgeBase(folder / "spanwise.kb") as base:
        base.remove("austin")
    written = talk(server, folder, QUESTION)
    assert "unknown: " in written
    assert "answers from all documents (1 document)" in written
    assert scopes(folder)[-1] == (None, "")


def test_the_rewritten_question_is_shown(server: ScriptedServer, folder: Path) -> None:
    written = talk(server, folder, f"{QUESTION}What else does [2] say?\n")
    assert "understood as: What else does the mill" in " ".join(written.split())
    assert written.count("understood as") == 1
    shown = spanwise("threads", "show", "a", folder=folder)
    assert "understood as" in shown.stdout

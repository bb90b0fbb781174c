"""`spanwise threads` and cached model outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.knowledge_base.internals import store_of
from spanwise.testing.store_entries import make_output
from spanwise.testing.store_records import make_turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a knowledge base with two conversations."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as knowledge_base:
        store = store_of(knowledge_base)
        store.append_turn("mill", make_turn("Who runs the mill?", minute=1))
        store.append_turn("lease", make_turn("When does \x1b[31mit end?", minute=3))
        store.append_turn("mill", make_turn("And why?", minute=5))
    return tmp_path / "a.kb"


def run(path: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it wrote."""
    code = main(["threads", *arguments, "--kb", str(path)])
    written = capsys.readouterr()
    return code, written.out, written.err


def test_conversations_are_listed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The latest first, a line each, and nothing in them steers the terminal."""
    assert run(path, "list", capsys=capsys) == (
        ExitCode.OK,
        "mill   2026-01-01 00:05   2 turns  Who runs the mill?\n"
        "lease  2026-01-01 00:03    1 turn  When does \ufffd[31mit end?\n",
        "",
    )


def test_conversations_are_listed_for_a_program(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, written, _ = run(path, "list", "--json", capsys=capsys)
    assert code == ExitCode.OK
    with KnowledgeBase(path) as knowledge_base:
        expected = [info.to_dict() for info in knowledge_base.threads.list()]
    assert json.loads(written) == {"threads": expected}


def test_an_empty_list_of_conversations_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KnowledgeBase(tmp_path / "a.kb", embedder=None).close()
    code, written, _ = run(tmp_path / "a.kb", "list", capsys=capsys)
    assert code == ExitCode.OK
    assert "start one with `spanwise ask --chat`" in written


def test_a_conversation_is_shown_turn_by_turn(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions, answers, what they cite and what they took."""
    code, written, _ = run(path, "show", "mill", capsys=capsys)
    assert code == ExitCode.OK
    first, second = written.split("> And why?\n2026-01-01 00:05\n")
    assert first.startswith("> Who runs the mill?\n2026-01-01 00:01\n")
    for part in (first, second):
        assert '"margin"' in part
        assert "[2?] not found in the text" in part
        assert "conflict: Two say 3, one says 4 [1]." in part
        assert "2 model calls" in part


def test_a_conversation_is_shown_for_a_program(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, written, _ = run(path, "show", "mill", "--json", capsys=capsys)
    assert code == ExitCode.OK
    with KnowledgeBase(path) as knowledge_base:
        assert json.loads(written) == knowledge_base.threads.get("mill").to_dict()


def test_an_unknown_conversation_is_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, output = run(path, "show", "mull", capsys=capsys)
    assert code == ExitCode.NOTHING_FOUND
    assert "no conversation has the id 'mull'" in output
    code, written, _ = run(path, "show", "mull", "--json", capsys=capsys)
    assert code == ExitCode.NOTHING_FOUND
    assert json.loads(written)["error"]["code"] == "thread_not_found"


def test_conversations_are_removed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that there are; the others are named."""
    assert run(path, "remove", "mill", "mull", "mill", capsys=capsys) == (
        ExitCode.NOTHING_FOUND,
        "1 conversation removed\n",
        "not found: mull\n",
    )
    code, written, _ = run(path, "remove", "lease", "--json", capsys=capsys)
    assert code == ExitCode.OK
    assert json.loads(written) == {"removed": ["lease"], "not_found": []}
    with KnowledgeBase(path) as knowledge_base:
        assert knowledge_base.threads.list() == []


def test_cached_model_outputs_are_counted_and_deleted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase(path) as knowledge_base:
        for number in range(3):
            store_of(knowledge_base).put_outputs([make_output(f"{number}", "x" * 500)])
    assert main(["info", "--kb", str(path)]) == ExitCode.OK
    written = capsys.readouterr().out
    assert "cached model outputs  3, 1.5 kB\n" in written
    assert "conversations         2\n" in written
    assert main(["doctor", "--forget-outputs", "--kb", str(path)]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("3 cached model outputs deleted\n")
    assert main(["doctor", "--forget-outputs", "--json", "--kb", str(path)]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["forgotten_outputs"] == 0
    assert main(["info", "--kb", str(path)]) == ExitCode.OK
    assert "cached model outputs" not in capsys.readouterr().out


def test_a_group_without_a_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["threads"]) == ExitCode.USAGE
    output = "spanwise: Missing command (see `spanwise threads --help`)\n"
    assert capsys.readouterr().err == output

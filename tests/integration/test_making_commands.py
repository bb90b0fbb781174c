"""`spanwise add` and `spanwise sync` with a language model, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import spanwise
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import KnowledgeBase
from spanwise.cli.main import main

TEXT = "# Ada\n\n" + "Freight cost more than the year before. " * 15


def answer(received: Received) -> Reply:
    if "What is the title" in received.prompt:
        return chat(json.dumps({"title": "Log of the Ada"}))
    return chat(json.dumps({"summary": "It is about: freight."}))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a folder that is to be added."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SPANWISE_KB", raising=False)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.md").write_text(TEXT)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as server:
        yield server


def test_a_dry_run_then_the_run_then_nothing_more(
    folder: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("in", "--headers", "--llm", f"compatible:scripted@{server.url}")
    assert main(["add", *options, "--dry-run"]) == 0
    foreseen = capsys.readouterr()
    assert foreseen.err == ""
    lines = foreseen.out.splitlines()
    assert lines[0] == "would add ada.md"
    assert [line.partition(":")[0] for line in lines[1:4]] == [
        "title", "summary", "section summaries"
    ]  # fmt: skip
    assert lines[4] == "spanwise.kb (dry run): 1 added"
    assert "at most: 6 model calls (3 if every answer is usable)" in lines[5]
    assert server.received == []
    assert not (folder / "spanwise.kb").exists()

    done = spanwise("add", *options, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 model calls" in done.stdout
    assert len(server.received) == 3
    with KnowledgeBase(folder / "spanwise.kb") as base:
        assert [record.title for record in base.list()] == ["Log of the Ada"]

    assert main(["sync", "--json", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["unchanged"] == ["ada.md"]
    assert report["usage"]["calls"] == 0
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--llm", "openai:gpt-5-mini"), "--llm is of no use without --sections, --headers"),
        (("--fallback", "openai:gpt-5"), "--fallback is of no use without"),
        (("--batch",), "--batch is of no use without"),
        (("--sections", "--headers"), "--sections, --headers need a language model"),
        (("--headers", "--llm", "nobody:model"), "no installed package offers it"),
        (
            ("--headers", "--llm", "compatible:m@http://127.0.0.1:9", "--batch"),
            "has no batch interface",
        ),
        (
            ("--headers", "--llm", "compatible:m@http://example.org", "--max-cost", "1"),
            "the price of compatible:m@http://example.org is not known",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(
    folder: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("add", "sync"):
        assert main([command, "in", *options]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
        assert not (folder / "spanwise.kb").exists()


def test_a_model_that_is_set_serves_where_none_is_named(
    folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANWISE_CONFIG", "")
    (folder / "spanwise.toml").write_text(
        f'[llm]\nmodel = "compatible:scripted@{server.url}"\n'
        '[context]\ntitle_guidance = "Name the ship."\n'
    )
    assert main(["config", "trust"]) == 0
    assert main(["add", "in", "--headers"]) == 0
    assert sum("Name the ship." in one.instructions for one in server.received) == 1
    (folder / "in" / "b.md").write_text("# B\n\nText.")
    assert main(["add", "in"]) == 0
    assert len(server.received) == 3, "it makes nothing that is not asked"


def test_a_fallback_is_asked_where_the_first_one_fails(
    folder: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(Reply(status=404, body=b"{}")) as first:
        models = [f"compatible:scripted@{one.url}" for one in (first, server)]
        code = main(["add", "in", "--headers", "--llm", models[0], "--fallback", models[1]])
    assert code == 0
    assert f"{models[0]} failed, {models[1]} is called" in capsys.readouterr().err
    assert len(server.received) == 3


def test_a_limit_on_the_cost_says_what_is_not_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-no-use")
    (folder / "in" / "b.md").write_text("# B\n\nText.")
    options = ("--headers", "--llm", "openai:gpt-5-mini", "--max-cost", "0")
    assert main(["add", "in", *options]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("failed (cost_limit): in/ada.md: not added: 0.0000 US dollars")
    assert lines[1] == "failed (cost_limit): 1 more document not added for the same reason"


def test_a_missing_key_is_said_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert main(["add", "in", "--headers", "--llm", "openai:gpt-5-mini"]) == 1
    assert "OPENAI_API_KEY" in capsys.readouterr().err
    assert not (folder / "spanwise.kb").exists()


@pytest.mark.parametrize(
    ("llm", "variable"),
    [
        ("openai:gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("mistral:mistral-small-latest", "MISTRAL_API_KEY"),
    ],
)
def test_a_dry_run_needs_no_key(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    llm: str,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, "")
    assert main(["add", "in", "--headers", "--llm", llm, "--dry-run"]) == 0
    assert "$" in capsys.readouterr().out, "the cost"
    assert not (folder / "spanwise.kb").exists()
    assert main(["add", "in", "--headers", "--llm", llm]) == 1
    assert variable in capsys.readouterr().err

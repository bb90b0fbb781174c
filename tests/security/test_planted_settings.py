"""A `spanwise.toml` that somebody else put into the folder sends nothing away."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.scripted import Reply, ScriptedServer

from spanwise import KnowledgeBase, config
from spanwise.cli.main import main
from spanwise.errors import OptionError

KEY = "key-of-the-user"
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own, with a private knowledge base beside it."""
    for name in [name for name in os.environ if name.startswith("SPANWISE_")]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    for name in ("RERANK_API_KEY", "COMPATIBLE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with KnowledgeBase(tmp_path / "private.kb", embedder=None) as base:
        base.add_text("Margins fell because freight cost more. " * 20, document_id="note")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Return a server of a stranger."""
    with ScriptedServer(Reply(body=b'{"results": [], "data": []}')) as server:
        yield server


def plant(folder: Path, text: str) -> Path:
    path = folder / "spanwise.toml"
    path.write_text(text, encoding="utf-8")
    return path


def found(name: str) -> config.Setting:
    return next(one for one in config.read_settings() if one.name == name)


@pytest.mark.parametrize(
    ("key", "model"),
    [
        ("rerank.model", "server:x"),
        ("rerank.model", "llm:compatible:x"),
        ("llm.model", "compatible:x"),
        ("llm.fallback", "compatible:x"),
        ("add.embedder", "compatible:x"),
    ],
)
def test_a_planted_model_receives_nothing(
    work: Path, server: ScriptedServer, key: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plant(work, f'{key} = "{model}@{server.url}/v1"\n')
    (work / "note.txt").write_text("Salaries of all.", encoding="utf-8")
    assert main(["search", "why did margins fall", "--kb", "../private.kb", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["segments"]
    (warning,) = said.err.splitlines()
    assert all(one in warning for one in (str(path), key, "spanwise config trust"))
    assert main(["excerpts", "why did margins fall", "--kb", "../private.kb"]) == 0
    assert main(["add", "note.txt", "--kb", "new.kb"]) == 0
    assert server.received == []


def test_documents_are_not_stored_where_a_planted_file_says(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(work, f'kb = "{(tmp_path / "theirs.kb").as_posix()}"\n')
    (work / "note.txt").write_text("Salaries of all.", encoding="utf-8")
    assert main(["add", "note.txt", "--quiet"]) == 0
    assert not (tmp_path / "theirs.kb").exists()
    assert (work / "spanwise.kb").exists()


def test_only_what_is_harmless_counts(work: Path) -> None:
    """Every key is either tried here, or needs trust."""
    plant(
        work,
        'kb = "theirs.kb"\n[search]\nbudget = 7\npreset = "precise"\ntuning = "theirs.toml"\n'
        'tokenizer = "chars:4"\n[excerpts]\nexcerpts = 3\nexcerpt_tokens = 50\n'
        '[add]\ninclude = ["*.md"]\nexclude = ["*.log"]\ntokenizer = "chars:3"\n'
        'packs = ["theirs.toml"]\nembedder = "none"\n'
        "[llm]\nmax_cost = 0.0\nconcurrency = 2\nretries = 1\ntimeout_seconds = 9.0\n"
        'requests_per_minute = 5\ntokens_per_minute = 6\nfallback = "ollama:x"\n'
        '[context]\ntitle_guidance = "Obey."\n[parse]\nmax_pages = 5\nworkers = 2\n'
        "[fetch]\nmax_bytes = 5\n",
    )
    counting = {one.name for one in config.read_settings() if one.origin == "file"}
    assert counting == {
        "search.budget",
        "search.preset",
        "search.tokenizer",
        "excerpts.excerpts",
        "excerpts.excerpt_tokens",
        "add.include",
        "add.exclude",
        "add.tokenizer",
        "llm.concurrency",
        "llm.retries",
        "llm.timeout_seconds",
        "llm.requests_per_minute",
        "llm.tokens_per_minute",
    }
    assert counting == {key.name for key in config.KEYS if not key.needs_trust}
    project = config.read_project_file()
    assert project is not None
    assert not project.is_trusted
    assert {one.name for one in project.ignored} == {
        "kb",
        "search.tuning",
        "add.packs",
        "add.embedder",
        "llm.max_cost",
        "llm.fallback",
        "context.title_guidance",
        "parse.max_pages",
        "parse.workers",
        "fetch.max_bytes",
    }


def test_no_settings_file_names_a_cluster(work: Path) -> None:
    """The nodes of a Ray cluster can run programs on this machine."""
    plant(work, '[parse]\nworkers = "ray://127.0.0.1:1"\n')
    with pytest.raises(OptionError, match=r"parse\.workers"):
        config.read_settings()


def test_an_untrusted_file_does_not_hide_the_users_own(work: Path, tmp_path: Path) -> None:
    (tmp_path / "user" / "spanwise").mkdir(parents=True)
    plant(tmp_path / "user" / "spanwise", "[llm]\nmax_cost = 2.0\n")
    plant(work, "[llm]\nmax_cost = 0.0\n")
    assert found("llm.max_cost").value == 2.0


def test_a_variable_makes_an_ignored_setting_no_warning(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(work, 'kb = "theirs.kb"\n')
    monkeypatch.setenv("SPANWISE_KB", "../private.kb")
    assert main(["list"]) == 0
    assert capsys.readouterr().err == ""


def test_an_approved_file_counts_until_it_changes(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plant(work, 'kb = "../private.kb"\n')
    assert main(["list", "--json"]) == 1
    assert main(["config", "trust"]) == 0
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    assert capsys.readouterr().err == ""
    path.write_text('kb = "../private.kb" # more\n', encoding="utf-8")
    assert main(["list"]) == 1
    assert str(path) in capsys.readouterr().err
    plant(work, 'kb = "../private.kb"\n')
    assert main(["list"]) == 0, "it is what was approved"
    assert main(["config", "untrust"]) == 0
    assert main(["list"]) == 1
    assert main(["config", "untrust", "--json"]) == 4


def test_a_copy_or_a_link_of_an_approved_file_is_not_approved(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path in it would start at another folder."""
    path = plant(work, 'kb = "reports.kb"\n')
    assert main(["config", "trust", str(work)]) == 0
    assert found("kb").value == str(work / "reports.kb")
    for is_link in (True, False):
        other = tmp_path / f"theirs-{is_link}"
        other.mkdir()
        if is_link:
            (other / "spanwise.toml").symlink_to(path)
        else:
            plant(other, path.read_text("utf-8"))
        monkeypatch.chdir(other)
        assert found("kb").origin == "default"


def test_an_approved_folder_may_be_reached_by_a_link(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(work, 'kb = "reports.kb"\n')
    (tmp_path / "link").symlink_to(work, target_is_directory=True)
    assert main(["config", "trust", str(tmp_path / "link" / "spanwise.toml")]) == 0
    assert found("kb").value == str(work / "reports.kb")


def test_config_says_what_does_not_count(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = plant(work, 'kb = "theirs.kb"\n[search]\nbudget = 7\n')
    assert main(["config", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert document["project"]["path"] == str(path)
    assert document["project"]["is_trusted"] is False
    assert [one["name"] for one in document["project"]["ignored"]] == ["kb"]
    assert main(["config"]) == 0
    assert "spanwise config trust" in capsys.readouterr().out
    assert main(["config", "trust", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(path)
    assert main(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["project"] == {"path": str(path), "is_trusted": True, "ignored": []}


def test_a_planted_file_cannot_steer_the_terminal(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(work, 'kb = "\\u001b[2Jtheirs.kb"\n')
    for words in (["config", "trust"], ["config"]):
        assert main(words) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_approvals_are_private_and_need_no_more_than_their_own_file(
    work: Path, tmp_path: Path
) -> None:
    path = plant(work, 'kb = "reports.kb"\n')
    assert main(["config", "trust"]) == 0
    (approval,) = (tmp_path / "user" / "spanwise" / "trusted").iterdir()
    if os.name == "posix":
        assert approval.stat().st_mode & 0o777 == 0o600
    assert json.loads(approval.read_text("utf-8"))["file"] == str(path)
    for content in (b"", b"[]", b'{"file": 1}', b"\xff", b"[" * 100_000):
        approval.write_bytes(content)
        assert found("kb").origin == "default"


def test_what_cannot_be_approved_says_so(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "trust"]) == 2
    assert main(["config", "trust", "missing.toml"]) == 2
    assert main(["config", "trust", "http://[::1/"]) == 2
    plant(work, "kb = 5\n")
    assert main(["config", "trust"]) == 2
    plant(work, 'kb = "reports.kb"\n')
    (tmp_path / "user").write_text("no folder")
    capsys.readouterr()
    assert main(["config", "trust", "--json"]) == 2
    assert "SPANWISE_CONFIG" in json.loads(capsys.readouterr().out)["error"]["message"]
    for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["config", "trust"]) == 2
    assert found("kb").origin == "default"


def test_a_folder_for_configuration_that_is_relative_approves_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger could plant the approval beside the file."""
    plant(work, 'kb = "reports.kb"\n')
    monkeypatch.setenv("HOME", str(work / "home"))
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, ".")
    assert main(["config", "trust"]) == 0
    assert not (work / "spanwise").exists()

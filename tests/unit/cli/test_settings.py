"""Settings as defaults of command-line options, and `spanwise config`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import KnowledgeBase
from spanwise.cli.arguments import _OPTIONS
from spanwise.cli.main import main
from spanwise.cli.program import cli
from spanwise.config import KEYS

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a repository, a knowledge base of one note, and a file of settings."""
    monkeypatch.setenv("SPANWISE_CONFIG", str(tmp_path / "spanwise.toml"))
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)
    with KnowledgeBase(tmp_path / "notes.kb", embedder=None, tokenizer="chars:4") as base:
        text = "Gross margin fell because of freight. " * 40
        base.add_text(text, document_id="note")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command with `--json` and returns its document."""

    def run(*words: str, code: int = 0) -> Any:
        assert main([*words, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return run


def write(folder: Path, text: str) -> None:
    (folder / "spanwise.toml").write_text(text, encoding="utf-8")


def test_a_setting_is_the_default_of_an_option(folder: Path, run: Run) -> None:
    write(folder, "kb = 'notes.kb'\n[search]\nbudget = 150\n[excerpts]\nexcerpt_tokens = 200\n")
    assert run("search", "gross margin")["budget_tokens"] == 150
    assert run("search", "gross margin", "--budget", "200")["budget_tokens"] == 200
    result = run("excerpts", "gross margin")
    assert result["excerpt_tokens"] == 200
    assert run("info")["path"] == str(folder / "notes.kb")


def test_a_variable_counts_before_the_file(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "kb = 'missing.kb'\n")
    monkeypatch.setenv("SPANWISE_KB", "notes.kb")
    assert run("info")["path"] == "notes.kb"


def test_patterns_limits_and_embedder_hold_for_what_is_added(folder: Path, run: Run) -> None:
    write(
        folder,
        "kb = 'new.kb'\n[add]\ninclude = ['*.md']\nembedder = 'none'\ntokenizer = 'chars:4'\n"
        "[parse]\nmax_file_bytes = 100\n",
    )
    (folder / "in").mkdir()
    (folder / "in" / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    (folder / "in" / "b.txt").write_text("Text.\n", encoding="utf-8")
    (folder / "in" / "c.md").write_text("Text. " * 100, encoding="utf-8")
    report = run("add", "in", code=3)
    assert report["added"] == ["a.md"]
    assert [failure["code"] for failure in report["failed"]] == ["too_large"]
    settings = run("info")["settings"]
    assert (settings["embedder"], settings["tokenizer"]) == ("none", "chars:4")
    assert run("sync", "in", "--include", "*.txt")["added"] == ["b.txt"]


def test_an_empty_folder_is_not_a_knowledge_base(folder: Path, run: Run) -> None:
    """What is set for new ones holds there too."""
    write(folder, "[add]\nembedder = 'none'\ntokenizer = 'chars:4'\n")
    (folder / "new.kb").mkdir()
    (folder / "a.txt").write_text("Text.\n", encoding="utf-8")
    run("add", "a.txt", "--kb", "new.kb")
    settings = run("info", "--kb", "new.kb")["settings"]
    assert (settings["embedder"], settings["tokenizer"]) == ("none", "chars:4")


def test_config_shows_each_value_and_its_source(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "\n[search]\nbudget = 150\n")
    monkeypatch.setenv("SPANWISE_SEARCH_PRESET", "precise")
    output = run("config", "--kb", "other.kb")
    found = {one["name"]: one for one in output["settings"]}
    assert list(found) == [key.name for key in KEYS]
    path = str(folder / "spanwise.toml")
    assert output["files"] == [path]
    assert found["kb"] == {
        "name": "kb", "value": "other.kb", "origin": "argument", "place": "--kb",
    }  # fmt: skip
    assert found["search.budget"]["place"] == f"{path}:3"
    assert found["search.preset"]["origin"] == "environment"
    assert found["search.tokenizer"]["origin"] == "default"


def test_config_is_a_table_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "[add]\ninclude = ['*.md', '*.txt']\n")
    assert main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(KEYS)
    (line,) = [line for line in lines if line.startswith("add.include")]
    assert line.split()[1:] == ["*.md,", "*.txt", f"{folder / 'spanwise.toml'}:2"]


def test_without_a_file_config_names_a_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPANWISE_CONFIG", "none")
    assert main(["config"]) == 0
    assert "SPANWISE_SEARCH_BUDGET" in capsys.readouterr().out


def test_a_file_with_a_slip_stops_every_command(folder: Path, run: Run) -> None:
    write(folder, "[search]\nbugdet = 1\n")
    for command in (("info",), ("config",), ("search", "gross margin")):
        error = run(*command, code=2)["error"]
        assert error["code"] == "option"
        assert f"{folder / 'spanwise.toml'}:2" in error["message"]


def test_help_of_the_program_needs_no_file(folder: Path) -> None:
    write(folder, "[search\n")
    assert main(["--help"]) == 0
    assert main([]) == 0


@pytest.mark.parametrize("key", list(_OPTIONS))
def test_each_setting_of_a_command_has_its_option(key: str) -> None:
    assert key in {one.name for one in KEYS}
    for command, parameter in _OPTIONS[key].items():
        assert parameter in {one.name for one in cli.commands[command].params}


@pytest.mark.parametrize("key", list(_OPTIONS))
def test_each_default_is_that_of_its_option(key: str) -> None:
    default = next(one.default for one in KEYS if one.name == key)
    for command, parameter in _OPTIONS[key].items():
        (option,) = [one for one in cli.commands[command].params if one.name == parameter]
        if key != "search.tokenizer" and not option.multiple:
            assert option.default == default


def test_a_preset_that_is_set_is_of_the_exact_method_alone(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, "kb = 'notes.kb'\n[search]\npreset = 'precise'\n")
    assert run("search", "gross margin", "--method", "greedy")["segments"]
    assert main(["search", "gross margin", "--method", "greedy", "--preset", "precise"]) == 2
    assert "dsrag-balanced" in capsys.readouterr().err
    assert (
        main(["explain", "gross margin", "--method", "greedy", "--preset", "dsrag-balanced"]) == 0
    )

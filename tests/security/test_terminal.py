"""Documents, names, settings and forged databases cannot write terminal control characters."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from spanwise import KnowledgeBase
from spanwise.cli.main import main
from spanwise.cli.program import cli
from spanwise.knowledge_base.internals import store_of
from spanwise.testing.store_records import make_turn

ATTACK = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\x7f"
"""Clears the screen, names the window, colours by a C1 control, and turns the text round."""
OURS = re.compile(r"\x1b\[[0-9;]+m")
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067]")
ID = f"report\x9b\u202e{ATTACK[-1]}"
"""An id may have no characters below the blank; it may have these."""
FACT = "Gross margin fell in 2018 because freight costs rose."
TEXT = f"# Heading {ATTACK}\n\n{FACT} {ATTACK}\n\n## Second {ATTACK}\n\n| a | {ATTACK} |\n"

COMMANDS: dict[str, list[list[str]]] = {
    "add": [["{folder}/in"], ["{folder}/in", "--dry-run"], ["{folder}/missing {attack}"]],
    "sync": [["{folder}/in", "--dry-run"]],
    "search": [
        ["freight costs {attack}"],
        ["freight", "--context"],
        ["freight", "--where", "`{attack}` = 1"],
        ["freight", "--json"],
    ],
    "excerpts": [["freight costs"], ["freight", "--context"]],
    "explain": [["freight costs"]],
    "ask": [["freight {attack}", "--llm", "none:{attack}"]],
    "threads list": [[]],
    "threads show": [["talk"], ["{attack}"]],
    "threads remove": [["gone {attack}"]],
    "list": [[], ["--json"]],
    "show": [["{id}"], ["{id}", "--sections"], ["{id}", "--chunks"], ["{id}", "--text"]],
    "page": [["{id}", "1", "-o", "{folder}/page.png"]],
    "locate": [["{folder}/cited.json"]],
    "set": [
        ["{id}", "field {attack}=value {attack}"],
        ["{id}", "--title", "New {attack}"],
        ["x {attack}"],
    ],
    "remove": [["gone {attack}"]],
    "serve": [["--kb", "{folder}/gone {attack}"], ["--keys", "{folder}/gone {attack}"]],
    "keys add": [["x {attack}"], ["x", "--where", "{attack}"]],
    "keys list": [["--file", "{folder}/gone {attack}"]],
    "keys remove": [["x {attack}"]],
    "tenants grant": [["{attack}", "--role", "{attack}"]],
    "tenants revoke": [["x", "--role", "{attack}", "--kb", "{folder}/gone {attack}"]],
    "tenants list": [["--kb", "{folder}/gone {attack}"]],
    "mcp": [["--kb", "{folder}/gone {attack}"]],
    "rebuild": [["--dry-run"], ["--embedder", "{attack}"]],
    "compact": [[]],
    "copy": [["{folder}/base.kb", "{folder}/missing {attack}/copy.kb"], ["{attack}", "x.kb"]],
    "export": [["{folder}/missing {attack}/out"], ["{folder}/out"]],
    "import": [["{folder}/in"]],
    "packs list": [[]],
    "packs new": [["{folder}/missing {attack}/a.toml"]],
    "packs check": [["{folder}/pack.toml"], ["{attack}"]],
    "packs use": [["{attack}"]],
    "packs remove": [["{attack}"]],
    "questions make": [["--llm", "none:{attack}", "-o", "{folder}/made.jsonl"]],
    "questions check": [["{folder}/questions.jsonl"]],
    "eval": [["{folder}/questions.jsonl"]],
    "tune": [["{folder}/questions.jsonl", "-o", "{folder}/tuned.toml"]],
    "info": [[], ["--json"]],
    "doctor": [[], ["--json"]],
    "backup": [["{folder}/missing {attack}/copy.kb"]],
    "config": [[], ["--json"]],
    "config trust": [["{attack}"], ["https://x/{attack}"]],
    "config untrust": [["{attack}"], ["https://x/{attack}", "--json"]],
    "models get": [["{attack}"]],
    "completion": [["bash"], ["{attack}"]],
}
SHOWING = ("search", "excerpts", "threads list", "threads show", "list", "show", "info", "doctor")
TABLES = ("setting", "document", "section", "page", "chunk", "heading", "thread", "turn")


class Terminal(io.StringIO):
    """Text that a program takes for a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True."""
        return True


def leaves(group: click.Group, *names: str) -> Iterator[str]:
    """Yield the full name of each command."""
    for name, one in group.commands.items():
        if isinstance(one, click.Group):
            yield from leaves(one, *names, name)
        if not isinstance(one, click.Group) or one.invoke_without_command:
            yield " ".join((*names, name))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a hostile knowledge base, and hostile files beside it."""
    with KnowledgeBase(tmp_path / "base.kb", embedder=None) as base:
        base.add_text(
            TEXT,
            document_id=ID,
            title=f"Title {ATTACK}",
            metadata={f"field {ATTACK}": f"value {ATTACK}", "year": 2018},
            media_type="text/markdown",
        )
        store_of(base).append_turn("talk", make_turn(f"Why {ATTACK}?", minute=1))
        cited = base.search("freight costs").segments[0].citation.to_dict()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.docx").write_bytes(b"PK\x03\x04" + ATTACK.encode())
    (tmp_path / "in" / "front.md").write_text(f"---\ntitle: {ATTACK}\n---\n{TEXT}", "utf-8")
    if sys.platform == "linux":
        (tmp_path / "in" / f"name {ATTACK}.txt").write_text(TEXT, "utf-8")
    wrong = {**cited, "document_id": f"x {ATTACK}", "title": ATTACK}
    (tmp_path / "cited.json").write_text(json.dumps([cited, wrong]), "utf-8")
    asked = {"id": f"q {ATTACK}", "question": f"Why {ATTACK}?", "evidence": [FACT]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked) + "\n", "utf-8")
    (tmp_path / "pack.toml").write_text(f'name = "{ATTACK[-1]}"', "utf-8")
    return tmp_path


def written(name: str, arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command for a terminal without colours; return all that it wrote to it."""
    screen, errors = Terminal(), io.StringIO()
    words = [
        one.format(folder=folder, id=ID, attack=ATTACK.replace("\x00", "")) for one in arguments
    ]
    place = (
        []
        if name.startswith(("completion", "config ", "keys ", "models "))
        else ["--kb", str(folder / "base.kb")]
    )
    if name in ("packs new", "packs check"):
        place = []
    with monkeypatch.context() as patched:
        patched.setenv("NO_COLOR", "1")
        patched.setattr("sys.stdout", screen)
        patched.setattr("sys.stderr", errors)
        patched.setattr("sys.stdin", io.StringIO())
        main(
            [*name.split(), *place, "--", *words]
            if _is_plain(words)
            else [*name.split(), *place, *words]
        )
    return screen.getvalue() + errors.getvalue()


def _is_plain(words: list[str]) -> bool:
    return not any(word.startswith("-") for word in words)


def test_every_command_is_tried() -> None:
    assert set(leaves(cli)) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_terminal_control_characters(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in COMMANDS[name]:
        output = written(name, arguments, folder, monkeypatch)
        assert output, arguments
        assert STEERS.findall(output) == [], arguments


@pytest.mark.parametrize("table", TABLES)
def test_a_forged_database_cannot_control_the_terminal(
    table: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forge(folder / "base.kb" / "truth.db", table)
    for name in SHOWING:
        for arguments in COMMANDS[name]:
            output = written(name, arguments, folder, monkeypatch)
            assert STEERS.findall(output) == [], (name, arguments)


def _forge(database: Path, table: str) -> None:
    """Write the attack into all texts of a table, inside of JSON where one is JSON."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(f"select * from {table}").fetchall()
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        connection.execute(f"delete from {table}")
        marks = ", ".join("?" * len(columns))
        for row in rows:
            forged = [
                value if column in ("id", "name") else _with_attack(value)
                for column, value in zip(columns, row, strict=True)
            ]
            connection.execute(f"insert into {table} values ({marks})", forged)
        connection.commit()


def _with_attack(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return value + ATTACK
    return json.dumps(_inside(parsed)) if isinstance(parsed, dict | list) else value


def _inside(value: object) -> object:
    if isinstance(value, dict):
        return {name: _inside(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_inside(item) for item in value]
    return value + ATTACK if isinstance(value, str) else value


@pytest.mark.parametrize("arguments", [["config"], ["search", "--help"], ["add", "--help"]])
def test_a_settings_file_cannot_control_the_terminal(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    escaped = json.dumps(f"x {ATTACK}").replace("\x7f", "\\u007f")
    keys = ["kb", "add.embedder", "search.preset", "llm.model", "context.guidance"]
    settings = tmp_path / "spanwise.toml"
    for key in keys:
        settings.write_text(f"{key} = {escaped}\n", "utf-8")
        monkeypatch.setenv("SPANWISE_CONFIG", str(settings))
        screen, errors = Terminal(), io.StringIO()
        monkeypatch.setattr("sys.stdout", screen)
        monkeypatch.setattr("sys.stderr", errors)
        monkeypatch.setenv("NO_COLOR", "1")
        main(arguments)
        output = screen.getvalue() + errors.getvalue()
        assert output
        assert STEERS.findall(output) == [], key


def test_colours_are_ours_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", screen)
    main(["search", "freight costs", "--kb", str(folder / "base.kb")])
    output = screen.getvalue()
    assert OURS.search(output)
    assert STEERS.findall(OURS.sub("", output)) == []


def test_a_program_that_reads_json_gets_every_character(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["list", "--json", "--kb", str(folder / "base.kb")])
    (record,) = json.loads(capsys.readouterr().out)
    assert record["title"] == f"Title {ATTACK}"
    assert record["metadata"][f"field {ATTACK}"] == f"value {ATTACK}"

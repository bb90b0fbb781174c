"""The password in the address of a knowledge base is shown nowhere."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import click
import pytest
from tests.integration.commands import spanwise

from spanwise import KnowledgeBase
from spanwise.cli.program import cli
from spanwise.errors import OptionError, SpanwiseError
from spanwise.server.ingest_process import IngestSettings
from spanwise.server.options import QueueOptions, ServerOptions

SECRET = "hunter2-Zx"
NOWHERE = f"postgresql://me:{SECRET}@127.0.0.1:9/reports"
"""Address at which no server listens."""
ODD = (
    f"postgresql://me:{SECRET}@x@127.0.0.1:9/reports",
    f"postgresql://127.0.0.1:9/reports?password={SECRET}@x",
    f"mysql://me:{SECRET}@127.0.0.1:9/reports",
)
ARGUMENTS = {
    "search": ["why?"],
    "excerpts": ["why?"],
    "ask": ["why?", "--llm", "ollama:none"],
    "explain": ["why?"],
    "threads list": [],
    "threads show": ["a"],
    "threads remove": ["a"],
    "locate": ["found.json"],
    "add": ["text.md"],
    "sync": ["texts"],
    "list": [],
    "show": ["a"],
    "page": ["a", "1"],
    "set": ["a", "year=1"],
    "remove": ["a"],
    "info": [],
    "packs list": [],
    "packs check": ["filings"],
    "packs use": ["filings"],
    "packs remove": ["filings"],
    "rebuild": ["--embedder", "none"],
    "compact": [],
    "doctor": [],
    "backup": ["backup"],
    "export": ["exported"],
    "import": ["exported"],
    "questions make": ["--output", "made.jsonl", "--llm", "ollama:none"],
    "questions check": ["questions.jsonl"],
    "eval": ["questions.jsonl"],
    "tune": ["questions.jsonl"],
    "serve": ["--port", "0"],
    "mcp": [],
    "config": [],
    "tenants grant": ["acme", "--role", "reader"],
    "tenants revoke": ["acme", "--role", "reader"],
    "tenants list": [],
}
"""Arguments of each command with `--kb`."""


def commands(group: click.Command = cli, names: tuple[str, ...] = ()) -> list[str]:
    """Return the names of all commands with the option `--kb`."""
    found = [" ".join(names)] if any(part.name == "kb" for part in group.params) else []
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            found += commands(command, (*names, name))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the arguments name."""
    made = tmp_path_factory.mktemp("commands")
    (made / "text.md").write_text("# A text\n\nThe margin fell.\n")
    (made / "texts").mkdir()
    (made / "texts" / "text.md").write_text("# A text\n\nThe margin fell.\n")
    (made / "questions.jsonl").write_text('{"id": "1", "question": "Why?", "evidence": []}\n')
    (made / "found.json").write_text("[]")
    with KnowledgeBase(made / "reports.kb", embedder=None) as base:
        base.add_text("The margin fell.", document_id="a")
        base.export_to(made / "exported")
    return made


def test_every_command_is_tried() -> None:
    assert sorted(ARGUMENTS) == sorted(commands())


@pytest.mark.parametrize("name", ARGUMENTS)
def test_commands_show_no_password(folder: Path, name: str) -> None:
    for address in (NOWHERE, ODD[0]):
        done = spanwise(*name.split(), *ARGUMENTS[name], "--kb", address, folder=folder)
        assert SECRET not in done.stdout + done.stderr
        assert done.returncode in ((0, 2) if name == "config" else (1, 2))


@pytest.mark.parametrize("address", [NOWHERE, *ODD])
def test_settings_show_no_password(folder: Path, address: str) -> None:
    file = folder / "settings.toml"
    file.write_text(f'kb = "{address}"\n')
    for extra in ({"SPANWISE_KB": address}, {"SPANWISE_CONFIG": str(file)}):
        for words in (["config"], ["config", "--json"], ["info"], ["info", "--json"]):
            done = spanwise(*words, folder=folder, extra=extra)
            assert SECRET not in done.stdout + done.stderr


def test_the_approval_of_a_file_shows_no_password(tmp_path: Path) -> None:
    (tmp_path / "spanwise.toml").write_text(f'kb = "{NOWHERE}"\n')
    extra = {"SPANWISE_CONFIG": "", "XDG_CONFIG_HOME": str(tmp_path / "user")}
    for words in (["config", "--json"], ["config", "trust"], ["config", "trust", "--json"]):
        done = spanwise(*words, folder=tmp_path, extra=extra)
        assert done.returncode == 0
        assert SECRET not in done.stdout + done.stderr


def test_an_untrusted_file_names_no_server(tmp_path: Path) -> None:
    """An address in a file of a stranger would send the passwords of this user to a server."""
    (tmp_path / "spanwise.toml").write_text(f'kb = "{NOWHERE}"\n')
    extra = {"SPANWISE_CONFIG": "", "XDG_CONFIG_HOME": str(tmp_path / "user")}
    done = spanwise("info", "--json", folder=tmp_path, extra=extra)
    assert "127.0.0.1" not in done.stdout
    assert json.loads(done.stdout)["error"]["code"] == "format"


def test_several_knowledge_bases_and_copies_show_no_password(folder: Path) -> None:
    for address in (NOWHERE, *ODD):
        for words in (
            ["search", "why?", "--kb", address, "--kb", "reports.kb"],
            ["info", "--kb", address, "--kb", address],
            ["copy", "reports.kb", address],
            ["copy", address, "reports.kb", "--json"],
            ["add", "text.md", "--kb", address, "--dry-run"],
        ):
            done = spanwise(*words, folder=folder)
            assert done.returncode in (1, 2)
            assert SECRET not in done.stdout + done.stderr


def test_errors_and_objects_of_the_library_show_no_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for address in (NOWHERE, *ODD):
        with pytest.raises(SpanwiseError) as caught:
            KnowledgeBase(address)
        error: BaseException | None = caught.value
        while error is not None:  # a traceback shows the causes too
            assert SECRET not in f"{error} {error!r}"
            error = error.__cause__ or error.__context__
    assert SECRET not in caplog.text
    bases = {"reports": NOWHERE}
    options = ServerOptions(knowledge_bases=bases)
    settings = IngestSettings(knowledge_bases=bases, queue=QueueOptions())
    assert SECRET not in f"{options!r} {settings!r}"


@pytest.mark.parametrize(
    "name",
    [
        "compatible:m@http://me:{}@127.0.0.1/v1",
        "compatible:m@http://{}@127.0.0.1:99999/v1",
        "compatible:@http://me:{}@host/v1",
        "compatible:m@http://host/v1?key={}",
        "compatible:m@http://host/v1#{}",
        "openai:m@https://me:{}@host/v1",
        "unknown:m@http://me:{}@host/v1",
    ],
)
def test_secrets_in_the_name_of_a_model_are_neither_shown_nor_stored(
    tmp_path: Path, name: str
) -> None:
    model = name.format(SECRET)
    with pytest.raises(OptionError) as refused:
        KnowledgeBase(tmp_path / "a.kb", embedder=model)
    with KnowledgeBase(tmp_path / "b.kb", embedder=None) as base:
        base.add_text("The margin fell.", document_id="a")
        with pytest.raises(OptionError) as asked:
            base.ask("Why did it fall?", llm=model)
        with pytest.raises(OptionError) as reranked:
            base.search("Why did it fall?", rerank=model)
    assert SECRET not in f"{refused.value} {asked.value} {reranked.value}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]

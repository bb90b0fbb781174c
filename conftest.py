"""Collect the code blocks of README, docs and docstrings as tests.

Each page runs in a new folder with a copy of `examples/`, and copies of its folders `reports/`,
`contracts/` and `filings/`.
Python blocks are run. In console blocks, each line `$ spanwise ...` is run; if output is shown
below it, the actual output must match (`...` matches anything). `$ spanwise serve` starts a server
for the `$ curl` lines and Python blocks below it. JSON and TOML blocks are read. Language models
are replaced by a local server with scripted answers about the reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from tests.console import FLAGS, run_block
from tests.servers.capable import capable_server

from spanwise.config import KEYS

ROOT = Path(__file__).resolve().parent


def run_console(example: Example) -> str:
    """Run the commands of a console block; return the first difference, or ""."""
    return run_block(example.parsed, example.namespace["_stack"])


def check_json(example: Example) -> str:
    """Read a JSON block. A configuration of MCP servers must start with valid arguments."""
    from spanwise.cli.program import cli

    try:
        parts = [json.loads(example.parsed)]
    except json.JSONDecodeError:
        parts = [json.loads(line) for line in example.parsed.splitlines()]
    for server in parts[0].get("mcpServers", {}).values():
        if server["command"] != "spanwise":
            return f"unknown program {server['command']}"
        name, *arguments = server["args"]
        names = ["--help", "-h"]  # click stores the help option of the first context
        cli.commands[name].make_context(name, arguments, help_option_names=names)
    return ""


def check_toml(example: Example) -> str:
    """Read a TOML block. Tables of `spanwise.toml` must have known keys only."""
    tables = {key.name.rpartition(".")[0] for key in KEYS}
    settings = tomllib.loads(example.parsed)
    names = {f"{table}.{key}" for table in tables & {*settings} for key in settings[table]}
    unknown = names - {key.name for key in KEYS}
    return f"unknown settings: {unknown}" if unknown else ""


def enter_folder(namespace: dict[str, Any]) -> None:
    """Change to a temporary folder with a copy of the examples."""
    namespace["_stack"] = stack = contextlib.ExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    for source, copy in (
        ("examples", "examples"),
        ("examples/reports", "reports"),
        ("examples/contracts", "contracts"),
        ("examples/filings", "filings"),
    ):
        shutil.copytree(ROOT / source, Path(folder) / copy)
    shutil.copy(ROOT / "examples/reports/supply-agreement.txt", Path(folder) / "contracts")
    stack.enter_context(contextlib.chdir(folder))
    server = stack.enter_context(capable_server())
    variables = pytest.MonkeyPatch()
    variables.setenv("COLUMNS", "80")
    # For programs that start `spanwise`.
    variables.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    variables.setenv("SPANWISE_DEEP", "off")  # the same output with and without MiniLM
    variables.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when haystack is imported
    variables.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    variables.setenv("OPENAI_API_KEY", "of-no-use")
    variables.delenv("SPANWISE_KB", raising=False)
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        variables.setenv(name, str(Path(folder) / "user"))
    stack.callback(variables.undo)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Change back and delete the folder."""
    namespace["_stack"].close()


PAGES = Sybil(
    name="pages",
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="json", evaluator=check_json),
        CodeBlockParser(language="toml", evaluator=check_toml),
    ],
    patterns=["README.md", "docs/*.md", "docs/guides/*.md", "docs/how-to/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
)
DOCSTRINGS = Sybil(
    name="docstrings",
    parsers=[DocTestParser(optionflags=FLAGS)],
    patterns=["src/spanwise/*.py", "src/spanwise/**/*.py"],
    setup=enter_folder,
    teardown=leave_folder,
)

pytest_collect_file = (PAGES + DOCSTRINGS).pytest()

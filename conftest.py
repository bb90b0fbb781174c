"""Collect the code blocks of README, docs and docstrings as tests.

Each page runs in a new folder with a copy of `examples/` and of `examples/reports/` as `reports/`.
Python blocks are run. In console blocks, each line `$ spanwise ...` is run; if output is shown
below it, the actual output must match (`...` matches anything). Language models are replaced by a
local server with scripted answers about the reports.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from tests.servers.capable import capable_server

ROOT = Path(__file__).resolve().parent
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output shown below it."""
    for part in ("\n" + block.strip()).split("\n$ ")[1:]:
        command, _, output = part.partition("\n")
        yield command, output.strip()


def run_console(example: Example) -> str:
    """Run the `spanwise` commands of a console block; return the first difference, or ""."""
    from spanwise.cli.main import main

    for command, expected in steps(example.parsed):
        program, *arguments = shlex.split(command, comments=True)
        if program != "spanwise":
            continue
        written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
            code = main(arguments)
        written.seek(0)
        output = written.read()
        if code != 0:
            return f"`{command}` ended with {code}:\n{output}"
        if expected and not CHECKER.check_output(expected + "\n", output, FLAGS):
            return f"`{command}` wrote:\n{output}\ninstead of:\n{expected}"
    return ""


def enter_folder(namespace: dict[str, Any]) -> None:
    """Change to a temporary folder with a copy of the examples."""
    namespace["_stack"] = stack = contextlib.ExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    for source, copy in (("examples", "examples"), ("examples/reports", "reports")):
        shutil.copytree(ROOT / source, Path(folder) / copy)
    stack.enter_context(contextlib.chdir(folder))
    server = stack.enter_context(capable_server())
    variables = pytest.MonkeyPatch()
    variables.setenv("COLUMNS", "80")
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
    ],
    patterns=["README.md", "docs/*.md"],
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

"""Commands of console blocks in the documentation: `spanwise` and `curl`.

`spanwise serve` starts a server on a free port. Connections to 127.0.0.1:8000, the address in the
documentation, are then made to this port. `NAME=$(spanwise ...)` sets a variable to the first line
of the output of a command, and `$NAME` in later commands is replaced by it.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import socket
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.running import running

__all__ = ["CHECKER", "FLAGS", "run_block"]

CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCUMENTED = ("127.0.0.1", 8000)
_VARIABLE = re.compile(r"([A-Z]+)=\$\((spanwise|curl) (.+)\)")


def run_block(block: str, stack: contextlib.ExitStack) -> str:
    """Run the commands of a console block; return the first difference, or ""."""
    for command, expected in steps(block):
        line = command.replace("\\\n", " ")
        set_variable = _VARIABLE.fullmatch(line)
        if set_variable:
            name, program, rest = set_variable.groups()
            run = run_curl if program == "curl" else run_spanwise
            stack.callback(os.environ.pop, name, None)
            os.environ[name] = run(shlex.split(rest))[1].splitlines()[0].strip()
            continue
        words = shlex.split(line, comments=True)
        program, *arguments = map(os.path.expandvars, words)
        if program not in ("spanwise", "curl"):
            continue
        if (program, *arguments[:1]) == ("spanwise", "serve"):
            serve(arguments, stack)
            continue
        code, output = run_curl(arguments) if program == "curl" else run_spanwise(arguments)
        matches = bool(expected) and CHECKER.check_output(expected + "\n", output, FLAGS)
        if code != 0 and (expected == "..." or not matches):
            return f"`{command}` ended with {code}:\n{output}"
        if expected and not matches:
            return f"`{command}` wrote:\n{output}\ninstead of:\n{expected}"
    return ""


def steps(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output shown below it.

    A line of a command that ends with a backslash continues on the next line.
    """
    for part in ("\n" + block.strip()).split("\n$ ")[1:]:
        lines = part.split("\n")
        size = 1
        while lines[size - 1].endswith("\\"):
            size += 1
        yield "\n".join(lines[:size]), "\n".join(lines[size:]).strip()


def run_spanwise(arguments: Sequence[str]) -> tuple[int, str]:
    """Return the exit code of a command and what it wrote; `> FILE` writes its output to a file."""
    from spanwise.cli.main import main

    arguments, _, target = _partition(arguments, ">")
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        code = main(arguments)
    written.seek(0)
    output = written.read()
    if target:
        Path(target[0]).write_text(output, encoding="utf-8")
        output = ""
    return code, output


def serve(arguments: Sequence[str], stack: contextlib.ExitStack) -> None:
    """Start a server with the arguments of `spanwise serve`, until the stack is closed."""
    from spanwise.cli.main import main
    from spanwise.server import run
    from spanwise.server.app import make_app

    started: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "check_port", lambda *_: None)
        patch.setattr(run, "run_server", lambda options, **_: started.append(options))
        assert main([*arguments]) == 0
    address = stack.enter_context(running(make_app(started[0]), lifespan="on"))
    port = int(address.rpartition(":")[2])
    connect = socket.create_connection

    def redirected(place: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
        return connect((place[0], port) if place == DOCUMENTED else place, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket, "create_connection", redirected)
    stack.callback(patch.undo)


def run_curl(arguments: Sequence[str]) -> tuple[int, str]:
    """Return 0 or the status of a refused request, and the body of the response."""
    arguments, _, pipe = _partition(arguments, "|")
    options = _curl_options().parse_args(arguments)
    headers = dict(header.split(": ", 1) for header in options.header)
    content = options.data if options.json is None else options.json
    if options.json is not None:
        headers.setdefault("Content-Type", "application/json")
    paths = [(name, Path(path)) for name, path in (form.split("=@") for form in options.form)]
    response = httpx.request(
        options.request or ("GET" if content is None and not paths else "POST"),
        options.url,
        headers=headers,
        content=None if content is None else _data(content),
        files=[(name, (path.name, path.read_bytes())) for name, path in paths] or None,
        timeout=30,
    )
    output = response.text
    if options.output:
        Path(options.output).write_bytes(response.content)
        output = ""
    if pipe:
        output = _filtered(json.loads(output), pipe)
    return (0 if response.is_success else response.status_code), output


def _curl_options() -> ArgumentParser:
    """Return a parser of the options of curl that the documentation uses."""
    parser = ArgumentParser(prog="curl", exit_on_error=False)
    parser.add_argument("url")
    parser.add_argument("-X", "--request")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data")
    parser.add_argument("--json")
    parser.add_argument("-F", "--form", action="append", default=[])
    parser.add_argument("-o", "--output")
    parser.add_argument("-s", "--silent", action="store_true")
    parser.add_argument("-N", "--no-buffer", action="store_true")
    return parser


def _filtered(value: Any, program: Sequence[str]) -> str:
    """Return the output of `python -m json.tool`, or of `jq -r` with a path."""
    if tuple(program) == ("python", "-m", "json.tool"):
        return json.dumps(value, indent=4)
    assert program[0] == "jq", f"unknown program {program}"
    for part in re.findall(r"\w+", program[2]):
        value = value[int(part) if part.isdigit() else part]
    return value if isinstance(value, str) else json.dumps(value)


def _data(text: str) -> bytes:
    return Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()


def _partition(arguments: Sequence[str], sign: str) -> tuple[list[str], bool, list[str]]:
    """Return the arguments before and after a sign, and whether there is one."""
    parts = [*arguments]
    at = parts.index(sign) if sign in parts else len(parts)
    return parts[:at], at < len(parts), parts[at + 1 :]

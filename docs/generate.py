"""Generator of docs/cli.md, options.md, errors.md, http.md and python.md, and of docs/images.

The pages are built from the help texts, docstrings and signatures of the code. A test fails if a
page differs from the output of this program.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import click
from docs.drawings import main as draw_pictures
from docs.http_reference import http_reference
from docs.python_reference import python_reference

from spanwise import errors, options
from spanwise.cli.program import PROGRAM, cli
from spanwise.config import KEYS
from spanwise.errors import SpanwiseError, error_code
from spanwise.options import answers, crawl, ingest, models, search
from spanwise.server.codes import CODES
from spanwise.server.problems import status_of
from spanwise.types import reports

DOCS = Path(__file__).resolve().parent
WIDTH = 80

_CLI_HEAD = """\
# Command line

Generated from the help of the commands by `make docs`; do not edit.

Every command that reports a result takes `--json`. Standard output is then one JSON document, whose
field names are those of the Python types ([python.md](python.md#results-and-inputs)). An error is a
JSON document too:

```json
{"error": {"code": "store", "message": "..."}}
```

`code` is one of

%s

[errors.md](errors.md) explains the codes. Five of them exist on the command line only: `usage`
(invalid arguments), `system` (an error of the operating system), `memory` (not enough memory),
`interrupted` (Ctrl-C or SIGTERM) and `internal` (a defect of Spanwise; `SPANWISE_TRACEBACK=1`
shows its traceback).

Progress, warnings and errors are written to standard error. Colours are used in a terminal only;
`NO_COLOR` switches them off.

Options that are not given on the command line can be set in environment variables and in
`spanwise.toml`; see [settings](#settings).
"""

_SETTINGS_HEAD = """\

## Settings

The value of a setting comes from the first of these sources that has it:

1. the command line;
2. the environment variable;
3. `spanwise.toml` of the project: the nearest file in the working folder or one of its parents,
   up to the root of the repository (the folder with `.git`); outside a repository, only the file
   in the working folder;
4. `spanwise.toml` of the user: `~/.config/spanwise/spanwise.toml`, or below `XDG_CONFIG_HOME` if
   that is set, or below `APPDATA` on Windows;
5. the default.

`spanwise config` shows every value and its source. `SPANWISE_CONFIG` is the path of a file that
is read instead of both files, or `none` for no file.

**Form.** In the file, the part of a key before the point is the name of a table: `search.budget`
is `budget` in the table `[search]`. In a variable, the items of a list are separated by commas. A
relative path in a file starts at the folder of that file, and `~` is your home folder. An unknown
key, or a value of the wrong type, is an error that names the line. Do not put secrets into the
file. `--allow-private` cannot be set; it must be given with each command.

**Trust.** The file of a project may have been written by somebody else. Until you approve it with
`spanwise config trust`, the settings marked in the column "needs trust" are ignored with a
warning, and the others apply. An approval is valid for one folder and one content: approve the
file again after each change. The file of the user, and a file named by `SPANWISE_CONFIG`, need no
approval.

A knowledge base may have been created by somebody else, too. The address of its embedder
(`compatible:bge@http://gpu:8000/v1`) is contacted only if you named the address when you created
or opened the knowledge base, approved it with `spanwise config trust http://gpu:8000`, or listed
it in `SPANWISE_TRUSTED_ADDRESSES` (separated by commas, for containers). Scheme, host and port
must match. Approvals are stored in the folder `trusted` next to the file of the user.

The Python library reads neither the files nor these variables, except for the approved addresses.
Its behaviour depends on its arguments only.

| key | variable | default | needs trust | meaning |
|---|---|---|---|---|
"""

_ERRORS_HEAD = """\
# Errors

Generated from `spanwise.errors` by `make docs`; do not edit.

All errors are subclasses of `SpanwiseError`. With `--json`, the command line writes the code of
the class instead of its name.

"""

_SERVER_CODES_HEAD = """\
## Problems of the server

Errors over HTTP are problem details (RFC 9457), with the media type `application/problem+json`:

```json
{"type": "about:blank", "title": "Not Found", "status": 404, "code": "job_not_found",
 "detail": "there is no job '7'"}
```

`detail` says what happened and what to do. The tools for agents return it as the text of the error.
Errors with the status 500, 502, 503 and 507 do not show their message, which may contain paths; the
log of the server has it. In a stream of server-sent events, the event `error` has the same object.
"""

_OPTIONS_HEAD = """\
# Options

Generated from `spanwise.options` by `make docs`; do not edit.

Every class is an immutable dataclass with keyword-only arguments. A value that is out of range
raises `OptionError` when the object is created.
"""


def _error_codes() -> list[str]:
    kinds = [getattr(errors, name) for name in errors.__all__]
    codes = {error_code(kind) for kind in kinds if isinstance(kind, type)} - {"spanwise"}
    return sorted(codes | {"usage", "system", "memory", "interrupted", "internal"})


def _help(command: click.Command, *names: str) -> str:
    parent: click.Context | None = None
    for name in names[:-1]:
        parent = click.Context(cli, info_name=name, parent=parent, terminal_width=WIDTH)
    context = click.Context(
        command,
        info_name=names[-1],
        parent=parent,
        terminal_width=WIDTH,
        help_option_names=["--help", "-h"],
    )
    return command.get_help(context)


def cli_reference() -> str:
    """Return docs/cli.md: the help of the program and of each command, and all settings."""
    codes = textwrap.fill(", ".join(f"`{code}`" for code in _error_codes()), 98)
    parts = [_CLI_HEAD % codes, f"\n```text\n{_help(cli, PROGRAM)}\n```\n"]
    for name, command in cli.commands.items():
        text = _help(command, PROGRAM, name)
        parts.append(f"\n## {PROGRAM} {name}\n\n```text\n{text}\n```\n")
        subcommands = command.commands if isinstance(command, click.Group) else {}
        for inner, subcommand in subcommands.items():
            text = _help(subcommand, PROGRAM, name, inner)
            parts.append(f"\n### {PROGRAM} {name} {inner}\n\n```text\n{text}\n```\n")
    return "".join(parts) + _settings_table()


def _settings_table() -> str:
    """Return the section on settings, with a table row for each key."""
    rows = []
    for key in KEYS:
        default = list(key.default) if isinstance(key.default, tuple) else key.default
        trust = "yes" if key.needs_trust else "no"
        cells = (f"`{key.name}`", f"`{key.variable}`", f"`{default!r}`", trust, key.meaning)
        rows.append(f"| {' | '.join(cells)} |\n")
    return _SETTINGS_HEAD + "".join(rows)


def _field_rows(class_node: ast.ClassDef) -> list[str]:
    """Return a table row for each field, with the docstring that follows it."""
    rows = []
    for node, following in zip(class_node.body, [*class_node.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or node.value is None:
            continue
        meaning = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            meaning = inspect.cleandoc(str(following.value.value)).replace("\n", " ")
        cells = (ast.unparse(node.target), ast.unparse(node.annotation), ast.unparse(node.value))
        name, kind, default = (f"`{cell}`".replace("|", "\\|") for cell in cells)
        rows.append(f"| {name} | {kind} | {default} | {meaning} |")
    return rows


_PRESETS = {
    "SegmentOptions": (
        "exact",
        ("token_price", "trim"),
    ),
    "PublishedOptions": (
        "greedy",
        (
            "irrelevant_chunk_penalty",
            "rank_decay",
            "max_segment_chunks",
            "budget_chunks",
            "further_query_chunks",
            "min_segment_value",
            "document_ranks",
        ),
    ),
}
"""Search method of each options class with presets, and the fields in which its presets differ."""


def _preset_lines(class_name: str) -> list[str]:
    method, fields = _PRESETS[class_name]
    lines = ["| preset | " + " | ".join(f"`{name}`" for name in fields) + " |"]
    lines.append("|---" * (len(fields) + 1) + "|")
    for name in options.METHOD_PRESETS[method]:
        preset = getattr(options, class_name).preset(name)
        cells = [f"`{name}`", *(str(getattr(preset, field)) for field in fields)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def options_reference() -> str:
    """Return docs/options.md: a table for each class of options, in the order of the sources."""
    sources = (ingest, crawl, search, models, answers)
    lines = [_OPTIONS_HEAD]
    for node in [node for module in sources for node in ast.parse(inspect.getsource(module)).body]:
        if not isinstance(node, ast.ClassDef):
            continue
        lines += [f"## {node.name}", "", ast.get_docstring(node) or "", ""]
        lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
        lines += [*_field_rows(node), ""]
        if node.name in _PRESETS:
            lines += [*_preset_lines(node.name), ""]
    return "\n".join(lines).rstrip() + "\n"


def errors_reference() -> str:
    """Return docs/errors.md: the tree of errors, their codes, codes of documents and findings."""
    source = inspect.getsource(errors)
    tree = inspect.cleandoc(errors.__doc__ or "").split("::\n\n")[1].split("\n\n")[0]
    lines = [
        "```text",
        textwrap.dedent(tree),
        "```",
        "",
        "| error | code | meaning |",
        "|---|---|---|",
    ]
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, SpanwiseError):
            meaning = (inspect.getdoc(kind) or "").splitlines()[0]
            lines.append(f"| `{name}` | `{error_code(kind)}` | {meaning} |")
    lines += ["", "## Codes of documents", ""]
    lines += [
        "Values of `DocumentError.code`, and of `code` of each failure in an `IngestReport`.",
        "",
    ]
    lines += ["| code | meaning |", "|---|---|"]
    lines += [
        f"| `{code}` | {meaning} |" for code, meaning in re.findall(r'"(\w+)",  # (.+)', source)
    ]
    lines += ["", "## Codes of findings", ""]
    lines += ["Values of `code` of a `CheckFinding`: kinds of damage found by a check.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    codes = inspect.getsource(reports).split("CheckCode = Literal[")[1].split("]")[0]
    lines += [
        f"| `{code}` | {meaning} |" for code, meaning in re.findall(r'"(\w+)",  # (.+)', codes)
    ]
    return _ERRORS_HEAD + "\n".join([*lines, *_server_codes()]) + "\n"


def _server_codes() -> list[str]:
    """Return the section about problems of the server."""
    lines = ["", *_SERVER_CODES_HEAD.splitlines(), ""]
    lines += ["| status | code | cause | what to do |", "|---|---|---|---|"]
    lines += [
        f"| {one.status} | `{code}` | {one.cause} | {one.remedy} |" for code, one in CODES.items()
    ]
    lines += ["", "Errors of the library have these statuses:", ""]
    lines += ["| status | code |", "|---|---|"]
    kinds = [getattr(errors, name) for name in errors.__all__]
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, SpanwiseError):
            by_status.setdefault(status_of(kind), []).append(f"`{error_code(kind)}`")
    lines += [f"| {status} | {', '.join(codes)} |" for status, codes in sorted(by_status.items())]
    return lines


def main() -> None:
    """Write the pages and pictures."""
    (DOCS / "errors.md").write_text(errors_reference(), encoding="utf-8")
    (DOCS / "cli.md").write_text(cli_reference(), encoding="utf-8")
    (DOCS / "options.md").write_text(options_reference(), encoding="utf-8")
    (DOCS / "python.md").write_text(python_reference(), encoding="utf-8")
    (DOCS / "http.md").write_text(http_reference(), encoding="utf-8")
    draw_pictures()


if __name__ == "__main__":
    main()

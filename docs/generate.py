"""Writes docs/cli.md, docs/options.md, docs/errors.md and docs/python.md from the sources.

A test compares the files with what this would write.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import click
from docs.python_reference import python_reference

from spanwise import errors, options
from spanwise.cli.failures import error_code
from spanwise.cli.program import PROGRAM, cli
from spanwise.config import KEYS
from spanwise.errors import SpanwiseError
from spanwise.types import reports

DOCS = Path(__file__).resolve().parent
WIDTH = 80

_CLI_HEAD = """\
# Command line

Made from the help of the commands by `make docs`; do not edit.

Every command takes `--json`: standard output then holds one JSON document whose field names are
those of the Python types (`spanwise.types`), for errors too:

```json
{"error": {"code": "store", "message": "..."}}
```

`code` is one of

%s

[errors.md](errors.md) says what they mean; `usage` (the command line is wrong), `system` (what the
operating system says), `memory`, `interrupted` and `internal` are of the command line alone.
Progress, warnings and failures go to standard error, colours only to a terminal (`NO_COLOR` turns
them off).

What is not said on the command line can be set: see [settings](#settings).
`SPANWISE_TRACEBACK=1` shows the traceback of an error that should not happen.
"""

_SETTINGS_HEAD = """\

## Settings

An argument counts first, then an environment variable, then `spanwise.toml` of the project, then
`spanwise.toml` of the user, then the default; `spanwise config` shows every value and where it came
from. The file of the project is the nearest one from the working folder up to the root of its
repository (`.git`); outside of a repository only the working folder counts. The file of the user is
`~/.config/spanwise/spanwise.toml` (below `XDG_CONFIG_HOME` where that is set; below `APPDATA` on
Windows). `SPANWISE_CONFIG` names one file to read in place of both, or is `none`. A knowledge base
that a file names is looked for from the folder of that file; `~` is your home.

The file of a project may have been written by somebody else. Until you approve it with `spanwise
config trust`, its settings that need trust (see the table) are ignored with a warning, and the
others count. An approval holds for the file in its folder with its content: a change needs another
one. The file of the user, and one that `SPANWISE_CONFIG` names, need none. Approvals are files in
the folder `trusted` next to the user configuration file.

A knowledge base may have been made by somebody else, too. The address of its embedder
(`compatible:bge@http://gpu:8000/v1`) is contacted only if you named it when you made the knowledge
base, approved it with `spanwise config trust http://gpu:8000`, or set it in
`SPANWISE_TRUSTED_ADDRESSES` (addresses with commas between them, for containers). Scheme, host and
port must be equal.

What stands before the point is a table: `search.budget` is `budget` below `[search]`. A list in a
variable has commas between its texts. What is not known, or of a wrong type, is an error that names
the line. Secrets belong into no file, and `--allow-private` is said each time. The Python library
reads neither files nor these variables, except the approved addresses: what it does depends on its
arguments alone.

| key | variable | default | needs trust | meaning |
|---|---|---|---|---|
"""

_ERRORS_HEAD = """\
# Errors

Made from `spanwise.errors` by `make docs`; do not edit. A program catches `SpanwiseError`, or one
of its kinds; the command line writes the code of the kind with `--json`.

"""

_OPTIONS_HEAD = """\
# Options

Made from `spanwise.options` by `make docs`; do not edit. Every class is frozen, takes keywords only
and is checked when it is made: a value out of range raises `OptionError`.
"""


def _error_codes() -> list[str]:
    kinds = [getattr(errors, name) for name in errors.__all__]
    codes = {error_code(kind) for kind in kinds if isinstance(kind, type)} - {"spanwise"}
    return sorted(codes | {"usage", "system", "memory", "interrupted", "internal"})


def _help(command: click.Command, *names: str) -> str:
    parent: click.Context | None = None
    for name in names[:-1]:
        parent = click.Context(cli, info_name=name, terminal_width=WIDTH)
    context = click.Context(
        command,
        info_name=names[-1],
        parent=parent,
        terminal_width=WIDTH,
        help_option_names=["--help", "-h"],
    )
    return command.get_help(context)


def cli_reference() -> str:
    """Return docs/cli.md: the help of the program and of each command in order."""
    codes = textwrap.fill(", ".join(f"`{code}`" for code in _error_codes()), 98)
    parts = [_CLI_HEAD % codes, f"\n```text\n{_help(cli, PROGRAM)}\n```\n"]
    for name, command in cli.commands.items():
        said = _help(command, PROGRAM, name)
        parts.append(f"\n## {PROGRAM} {name}\n\n```text\n{said}\n```\n")
        for inner, one in command.commands.items() if isinstance(command, click.Group) else ():
            said = _help(one, PROGRAM, name, inner)
            parts.append(f"\n### {PROGRAM} {name} {inner}\n\n```text\n{said}\n```\n")
    return "".join(parts) + _settings_table()


def _settings_table() -> str:
    """Return a row for each key."""
    rows = []
    for key in KEYS:
        default = list(key.default) if isinstance(key.default, tuple) else key.default
        trust = "yes" if key.needs_trust else "no"
        cells = (f"`{key.name}`", f"`{key.variable}`", f"`{default!r}`", trust, key.meaning)
        rows.append(f"| {' | '.join(cells)} |\n")
    return _SETTINGS_HEAD + "".join(rows)


def _field_rows(class_node: ast.ClassDef) -> list[str]:
    """Return a table row for each field; the text after a field is what is said about it."""
    rows = []
    for node, following in zip(class_node.body, [*class_node.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or node.value is None:
            continue
        said = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            said = inspect.cleandoc(str(following.value.value)).replace("\n", " ")
        cells = (ast.unparse(node.target), ast.unparse(node.annotation), ast.unparse(node.value))
        name, kind, default = (f"`{cell}`".replace("|", "\\|") for cell in cells)
        rows.append(f"| {name} | {kind} | {default} | {said} |")
    return rows


_PRESETS = {
    "SegmentOptions": (
        "exact",
        ("segment_charge", "irrelevant_chunk_penalty", "relative_penalty", "trim"),
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
"""Method of a class of options, and the fields in which its presets differ."""


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
    sources = (options.ingest, options.search, options.models)
    lines = [_OPTIONS_HEAD]
    for node in [node for one in sources for node in ast.parse(inspect.getsource(one)).body]:
        if not isinstance(node, ast.ClassDef):
            continue
        lines += [f"## {node.name}", "", ast.get_docstring(node) or "", ""]
        lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
        lines += [*_field_rows(node), ""]
        if node.name in _PRESETS:
            lines += [*_preset_lines(node.name), ""]
    return "\n".join(lines).rstrip() + "\n"


def errors_reference() -> str:
    """Return docs/errors.md: the tree, each kind with its code, codes of documents and findings."""
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
            said = (inspect.getdoc(kind) or "").splitlines()[0]
            lines.append(f"| `{name}` | `{error_code(kind)}` | {said} |")
    lines += ["", "## Codes of documents", ""]
    lines += ["`DocumentError.code`, and `code` of each failure in an `IngestReport`.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    lines += [f"| `{code}` | {said} |" for code, said in re.findall(r'"(\w+)",  # (.+)', source)]
    lines += ["", "## Codes of findings", ""]
    lines += ["`code` of each `CheckFinding`: what a check of a knowledge base found damaged.", ""]
    lines += ["| code | meaning |", "|---|---|"]
    found = inspect.getsource(reports).split("CheckCode = Literal[")[1].split("]")[0]
    lines += [f"| `{code}` | {said} |" for code, said in re.findall(r'"(\w+)",  # (.+)', found)]
    return _ERRORS_HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    (DOCS / "errors.md").write_text(errors_reference(), encoding="utf-8")
    (DOCS / "cli.md").write_text(cli_reference(), encoding="utf-8")
    (DOCS / "options.md").write_text(options_reference(), encoding="utf-8")
    (DOCS / "python.md").write_text(python_reference(), encoding="utf-8")


if __name__ == "__main__":
    main()

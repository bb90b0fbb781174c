"""`spanwise config`: show the settings, and approve files and addresses."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, untrusted_warning
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, one_line
from spanwise.cli.output import write_json
from spanwise.config import (
    FILE_NAME,
    KEYS,
    ProjectFile,
    Setting,
    Value,
    approve_file,
    read_project_file,
    read_settings,
    settings_files,
    shown_location,
    trust_store,
)

_ADDRESS = re.compile("https?://", re.IGNORECASE)


@click.group(
    cls=ExampleGroup,
    invoke_without_command=True,
    short_help="Show the settings and their sources.",
    examples=[
        ("show every setting and its source", "spanwise config"),
        ("write JSON", "spanwise config --json"),
        ("approve the spanwise.toml of this project", "spanwise config trust"),
    ],
)
@knowledge_base_option
@json_option
@click.pass_context
def config(context: click.Context, *, kb: str | None, as_json: bool) -> ExitCode:
    """Show every setting, its value and its source.

    Precedence: command-line argument, environment variable, project file, user file, default. The
    project file is the nearest spanwise.toml from the working folder up to the repository root.
    The user file is spanwise.toml in the user's configuration folder. The Python library reads
    neither the files nor the variables.

    A project file may have been written by someone else. Until you approve it with `config trust`,
    its settings for models, addresses, files, folders, limits and costs are ignored.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    settings = _shown([_with_argument(setting, kb) for setting in read_settings()])
    files = [str(path) for path in settings_files()]
    project, addresses = read_project_file(), trust_store().approved_origins()
    if as_json:
        document = {
            "files": files,
            "settings": [setting._asdict() for setting in settings],
            "project": _project_fields(project),
            "trusted_addresses": addresses,
        }
        write_json(document, sys.stdout)
        return ExitCode.OK
    page = Page()
    _draw_settings(settings, page)
    if not files:
        page.line()
        page.wrapped("no spanwise.toml; variables are named like " + KEYS[1].variable, "dim")
    if project is not None:
        page.line()
        trusted = f"{project.path} is {'' if project.is_trusted else 'not '}trusted"
        page.message("", untrusted_warning(project) or trusted)
    if addresses:
        page.line()
        page.wrapped("trusted addresses: " + ", ".join(addresses))
    return ExitCode.OK


@config.command(
    cls=ExampleCommand,
    short_help="Approve a spanwise.toml or an address.",
    examples=[
        ("approve the settings file of this project", "spanwise config trust"),
        (
            "approve the settings file of another folder",
            "spanwise config trust ../reports/spanwise.toml",
        ),
        (
            "approve the embedding server of a knowledge base",
            "spanwise config trust http://gpu:8000",
        ),
    ],
)
@click.argument("what", metavar="[FILE|ADDRESS]", required=False)
@json_option
def trust(*, what: str | None, as_json: bool) -> ExitCode:
    """Approve a spanwise.toml, or a server address stored in a knowledge base.

    A file is approved by folder and content: after a change or a copy to another folder, it must be
    approved again. An address is approved by scheme, host and port. Approvals are stored in the
    folder "trusted" of the user's configuration folder. Default: the project file.
    """
    if what is not None and _ADDRESS.match(what):
        origin = _origin(what)
        trust_store().add_origin(origin)
        return _write(f"{origin} is trusted", {"address": origin}, as_json=as_json)
    path = _file(what)
    settings = _shown(approve_file(path))
    fields = {"file": str(path), "settings": [setting._asdict() for setting in settings]}
    code = _write(f"{path} is trusted as it is now; it sets", fields, as_json=as_json)
    if not as_json and settings:
        _draw_settings(settings, Page())
    return code


@config.command(
    cls=ExampleCommand,
    short_help="Withdraw the approval of a file or an address.",
    examples=[
        ("withdraw the approval of the project file", "spanwise config untrust"),
        ("withdraw the approval of a server", "spanwise config untrust http://gpu:8000"),
    ],
    exit_codes={ExitCode.NOTHING_FOUND: "the file or address was not approved"},
)
@click.argument("what", metavar="[FILE|ADDRESS]", required=False)
@json_option
def untrust(*, what: str | None, as_json: bool) -> ExitCode:
    """Withdraw the approval of a spanwise.toml or an address. Default: the project file."""
    if what is not None and _ADDRESS.match(what):
        subject = _origin(what)
        fields, was_trusted = {"address": subject}, trust_store().remove_origin(subject)
    else:
        path = _file(what)
        subject = str(path)
        fields, was_trusted = {"file": subject}, trust_store().remove_file(path)
    message = f"{subject} {'is no longer' if was_trusted else 'was not'} trusted"
    _write(message, fields, as_json=as_json)
    return ExitCode.OK if was_trusted else ExitCode.NOTHING_FOUND


def _write(text: str, fields: Mapping[str, object], *, as_json: bool) -> ExitCode:
    if as_json:
        write_json(fields, sys.stdout)
    else:
        Page().message("", text)
    return ExitCode.OK


def _origin(address: str) -> str:
    from spanwise.config.network_addresses import canonical_origin

    try:
        return canonical_origin(address)
    except ValueError as error:
        raise click.UsageError(f"{address!r} is not an address: {error}") from error


def _file(what: str | None) -> Path:
    """Return the file to approve; the project file by default."""
    if what is not None:
        path = Path(what).absolute()
        return path / FILE_NAME if path.is_dir() else path
    project = read_project_file()
    if project is None:
        raise click.UsageError(
            f"there is no {FILE_NAME} in this folder or above it in its repository; name a file"
        )
    return project.path


def _project_fields(project: ProjectFile | None) -> dict[str, object] | None:
    if project is None:
        return None
    return {
        "path": str(project.path),
        "is_trusted": project.is_trusted,
        "ignored": [setting._asdict() for setting in _shown(project.ignored)],
    }


def _draw_settings(settings: Sequence[Setting], page: Page) -> None:
    values = [_formatted(setting.value) for setting in settings]
    names = [setting.name for setting in settings]
    widths = [max(map(len, column)) for column in (names, values)]
    for setting, value in zip(settings, values, strict=True):
        origin = one_line(setting.place or setting.origin)
        style = "dim" if setting.origin == "default" else "bold"
        name = page.paint(setting.name.ljust(widths[0]), style)
        page.line(f"{name}  {value.ljust(widths[1])}  {page.paint(origin, 'dim')}")


def _with_argument(setting: Setting, kb: str | None) -> Setting:
    if setting.name != "kb" or not kb:
        return setting
    return Setting(name="kb", value=kb, origin="argument", place="--kb")


def _shown(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings without the password in the address of a knowledge base."""
    return [
        setting._replace(value=shown_location(str(setting.value)))
        if setting.name == "kb"
        else setting
        for setting in settings
    ]


def _formatted(value: Value) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    return one_line(str(value)) or "-"

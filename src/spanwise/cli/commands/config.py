"""`spanwise config`: what is set, where each value came from, and what is trusted."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, one_line
from spanwise.cli.settings import untrusted_warning
from spanwise.cli.usage_errors import TeachingCommand, TeachingGroup
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
    trust_store,
)

_ADDRESS = re.compile("https?://", re.IGNORECASE)


@click.group(
    cls=TeachingGroup,
    invoke_without_command=True,
    short_help="Say what is set, and where.",
    examples=[
        ("every setting of this folder, with its origin", "spanwise config"),
        ("for a program", "spanwise config --json"),
        ("let the spanwise.toml of this project count", "spanwise config trust"),
    ],
)
@knowledge_base_option
@json_option
@click.pass_context
def config(context: click.Context, *, kb: str | None, as_json: bool) -> ExitCode:
    """Say what is set, and where each value came from.

    An argument counts first, then an environment variable, then spanwise.toml of the working
    folder (or above it, up to the root of the repository), then spanwise.toml in the user's folder
    for configuration, then the default. The Python library reads none of them.

    The file of a project may come from somebody else. Until you approve it with `config trust`,
    what it says about models, addresses, files, folders, limits and costs does not count.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK
    settings = [_with_argument(one, kb) for one in read_settings()]
    files = [str(path) for path in settings_files()]
    project, addresses = read_project_file(), trust_store().approved_origins()
    if as_json:
        document = {
            "files": files,
            "settings": [dataclasses.asdict(one) for one in settings],
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
    cls=TeachingCommand,
    short_help="Approve a spanwise.toml or an address.",
    examples=[
        ("the file of this project, after reading it", "spanwise config trust"),
        ("the file of another folder", "spanwise config trust ../reports/spanwise.toml"),
        ("the server that embeds a knowledge base", "spanwise config trust http://gpu:8000"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.USAGE),
)
@click.argument("what", metavar="[FILE|ADDRESS]", required=False)
@json_option
def trust(*, what: str | None, as_json: bool) -> ExitCode:
    """Approve a spanwise.toml as it is now, or an address that a knowledge base names.

    A file is approved with its folder and its content: when it changes, or is copied elsewhere, it
    needs another approval. An address is approved with its scheme, host and port. Approvals lie in
    the folder "trusted" of the user's folder for configuration.
    """
    if what is not None and _ADDRESS.match(what):
        origin = _origin(what)
        trust_store().add_origin(origin)
        return _tell(f"{origin} is trusted", {"address": origin}, as_json=as_json)
    path = _file(what)
    settings = approve_file(path)
    fields = {"file": str(path), "settings": [dataclasses.asdict(one) for one in settings]}
    code = _tell(f"{path} is trusted as it is now; it sets", fields, as_json=as_json)
    if not as_json and settings:
        _draw_settings(settings, Page())
    return code


@config.command(
    cls=TeachingCommand,
    short_help="Withdraw the approval of a file or an address.",
    examples=[
        ("that of the file of this project", "spanwise config untrust"),
        ("that of a server", "spanwise config untrust http://gpu:8000"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.USAGE, ExitCode.NOTHING_FOUND),
)
@click.argument("what", metavar="[FILE|ADDRESS]", required=False)
@json_option
def untrust(*, what: str | None, as_json: bool) -> ExitCode:
    """Withdraw the approval of a spanwise.toml or of an address."""
    if what is not None and _ADDRESS.match(what):
        subject = _origin(what)
        fields, was_trusted = {"address": subject}, trust_store().remove_origin(subject)
    else:
        path = _file(what)
        subject = str(path)
        fields, was_trusted = {"file": subject}, trust_store().remove_file(path)
    said = f"{subject} {'is no longer' if was_trusted else 'was not'} trusted"
    _tell(said, fields, as_json=as_json)
    return ExitCode.OK if was_trusted else ExitCode.NOTHING_FOUND


def _tell(text: str, fields: Mapping[str, object], *, as_json: bool) -> ExitCode:
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
        raise click.UsageError(f"{address!r} is no address: {error}") from error


def _file(what: str | None) -> Path:
    """Return the file that is meant: the one of the project where none is named."""
    if what is not None:
        path = Path(what).absolute()
        return path / FILE_NAME if path.is_dir() else path
    project = read_project_file()
    if project is None:
        raise click.UsageError(
            f"there is no {FILE_NAME} in this folder, or above it in its repository; name a file"
        )
    return project.path


def _project_fields(project: ProjectFile | None) -> dict[str, object] | None:
    if project is None:
        return None
    return {
        "path": str(project.path),
        "is_trusted": project.is_trusted,
        "ignored": [dataclasses.asdict(one) for one in project.ignored],
    }


def _draw_settings(settings: Sequence[Setting], page: Page) -> None:
    values = [_shown(one.value) for one in settings]
    widths = [max(map(len, column)) for column in ([one.name for one in settings], values)]
    for one, value in zip(settings, values, strict=True):
        origin = one_line(one.place or one.origin)
        name = page.paint(one.name.ljust(widths[0]), "bold" if one.origin != "default" else "dim")
        page.line(f"{name}  {value.ljust(widths[1])}  {page.paint(origin, 'dim')}")


def _with_argument(one: Setting, kb: str | None) -> Setting:
    if one.name != "kb" or not kb:
        return one
    return Setting(name="kb", value=kb, origin="argument", place="--kb")


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    return one_line(str(value)) or "-"

"""`spanwise config`: what is set, and where each value came from."""

from __future__ import annotations

import dataclasses
import sys

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import KEYS, Setting, Value, read_settings, settings_files


@click.command(
    cls=TeachingCommand,
    short_help="Say what is set, and where.",
    examples=[
        ("every setting of this folder, with its origin", "spanwise config"),
        ("for a program", "spanwise config --json"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.USAGE),
)
@knowledge_base_option
@json_option
def config(*, kb: str | None, as_json: bool) -> ExitCode:
    """Say what is set, and where each value came from.

    An argument counts first, then an environment variable, then spanwise.toml of the working
    folder (or above it, up to the root of the repository), then spanwise.toml in the user's folder
    for configuration, then the default. The Python library reads none of them.
    """
    settings = [_with_argument(one, kb) for one in read_settings()]
    files = [str(path) for path in settings_files()]
    if as_json:
        said = [dataclasses.asdict(one) for one in settings]
        write_json({"files": files, "settings": said}, sys.stdout)
        return ExitCode.OK
    page = Page()
    values = [_shown(one.value) for one in settings]
    widths = [max(map(len, column)) for column in ([one.name for one in settings], values)]
    for one, value in zip(settings, values, strict=True):
        origin = one.place or one.origin
        name = page.paint(one.name.ljust(widths[0]), "bold" if one.origin != "default" else "dim")
        page.line(f"{name}  {value.ljust(widths[1])}  {page.paint(origin, 'dim')}")
    if not files:
        page.line()
        page.wrapped("no spanwise.toml; variables are named like " + KEYS[1].variable, "dim")
    return ExitCode.OK


def _with_argument(one: Setting, kb: str | None) -> Setting:
    if one.name != "kb" or not kb:
        return one
    return Setting(name="kb", value=kb, origin="argument", place="--kb")


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "-"
    return str(value) or "-"

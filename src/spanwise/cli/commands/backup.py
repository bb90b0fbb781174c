"""`spanwise backup`: copy a knowledge base while it is in use."""

from __future__ import annotations

import sys

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, duration, size
from spanwise.cli.progress import copy_bar
from spanwise.config import knowledge_base_path


@click.command(
    cls=ExampleCommand,
    short_help="Copy a knowledge base while it is in use.",
    examples=[
        ("copy the knowledge base", "spanwise backup copy.kb"),
        ("check the copy", "spanwise doctor --kb copy.kb"),
    ],
    exit_codes=(
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("copy", metavar="FOLDER", type=click.Path(readable=False))
@knowledge_base_option
@json_option
def backup(*, copy: str, kb: str | None, as_json: bool) -> ExitCode:
    """Copy a knowledge base to a new folder. Other processes can search and write meanwhile.

    The copy is a consistent snapshot. It appears under its name only when it is complete and
    written to disk. After an error or an interruption, the partial copy is deleted.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with (
        KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base,
        copy_bar() as on_progress,
    ):
        report = knowledge_base.backup(copy, on_progress=on_progress)
    if as_json:
        write_json(report, sys.stdout)
        return ExitCode.OK
    page = Page()
    page.wrapped(
        f"backup {report.path}: {size(report.bytes_on_disk)} in {duration(report.seconds)}"
    )
    return ExitCode.OK

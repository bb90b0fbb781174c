"""`spanwise backup`: copy a knowledge base while it is in use."""

from __future__ import annotations

import sys

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, duration, size
from spanwise.cli.progress import copy_bar
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import knowledge_base_path


@click.command(
    cls=TeachingCommand,
    short_help="Copy a knowledge base while it is in use.",
    examples=[
        ("as it is now", "spanwise backup copy.kb"),
        ("see that it is sound", "spanwise doctor --kb copy.kb"),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("copy", metavar="FOLDER", type=click.Path(readable=False))
@knowledge_base_option
@json_option
def backup(*, copy: str, kb: str | None, as_json: bool) -> ExitCode:
    """Copy a knowledge base to a new folder, while others search and write.

    The backup holds every document of one moment. It appears under its name when it is whole and
    safe on the disk; after an error or an interruption nothing is left of it.
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

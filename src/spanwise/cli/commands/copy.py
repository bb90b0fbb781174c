"""`spanwise copy`: copy a knowledge base to another folder or database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode, Interrupted, Terminated
from spanwise.cli.layout import Page, count, duration
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.stores.copy import Verification
    from spanwise.types import CopyReport


@click.command(
    cls=ExampleCommand,
    short_help="Copy a knowledge base to another folder or database.",
    examples=[
        ("move to PostgreSQL", "spanwise copy reports.kb postgresql://db/reports"),
        ("copy a database to a folder", "spanwise copy postgresql://db/reports reports.kb"),
        ("compare every document at the end", "spanwise copy reports.kb copy.kb --verify all"),
    ],
    exit_codes=(
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@click.option(
    "--merge",
    is_flag=True,
    help="Copy into a knowledge base with other documents, which stay. Documents with the same id "
    "are replaced.",
)
@click.option(
    "--verify",
    type=click.Choice(["sample", "all"]),
    default="sample",
    show_default=True,
    help="Documents that are compared in full at the end: 2 % of the chunks, or all.",
)
@json_option
def copy(*, source: str, target: str, merge: bool, verify: Verification, as_json: bool) -> ExitCode:
    """Copy the knowledge base SOURCE to TARGET; both are folders or addresses.

    Documents, vectors, settings, packs, cached model outputs and conversations are copied and
    verified. TARGET is created if it does not exist. The same command continues an interrupted copy
    and copies later changes: documents that TARGET has in the same version are not copied again.
    Other processes can search and write meanwhile.
    """
    from spanwise.knowledge_base import KnowledgeBase

    place = knowledge_base_path(target)
    with (
        KnowledgeBase(knowledge_base_path(source), create=False) as knowledge_base,
        _interruptible(place),
        step_bar(quiet=as_json) as draw,
    ):
        report = knowledge_base.copy_to(place, merge=merge, verify=verify, on_progress=draw)
    if as_json:
        write_json(report, sys.stdout)
    else:
        _draw(report)
    return ExitCode.OK


def _draw(report: CopyReport) -> None:
    for warning in report.warnings:
        Page(sys.stderr).message("warning: ", warning, "yellow")
    amounts = [f"{report.copied:,} of {count(report.documents, 'document')} copied"]
    if report.threads:
        amounts.append(count(report.threads, "conversation"))
    if report.outputs:
        amounts.append(count(report.outputs, "cached output"))
    amounts.append(f"{count(report.verified, 'document')} verified")
    Page().wrapped(f"{report.target}: {', '.join(amounts)} in {duration(report.seconds)}")


@contextmanager
def _interruptible(target: Location) -> Iterator[None]:
    """Run the block; after Ctrl-C or SIGTERM, raise an error that explains how to continue.

    Raises:
        Interrupted: After Ctrl-C, with a message.
        Terminated: After SIGTERM, with a message.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated) as ending:
        kind: type[Interrupted | Terminated] = (
            Terminated if isinstance(ending, Terminated) else Interrupted
        )
        raise kind(
            f"the copy in {target} is not complete; run the same command again to continue"
        ) from ending

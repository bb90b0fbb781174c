"""`spanwise add`: take files, folders and URLs into a knowledge base."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, parse_metadata
from spanwise.cli.exits import ExitCode
from spanwise.cli.failures import Interrupted
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, duration
from spanwise.cli.progress import IngestBar
from spanwise.cli.teaching import TeachingCommand
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.types import IngestReport, Scalar

__all__ = ["add"]


class _AddArguments(TypedDict):
    sources: tuple[str, ...]
    kb: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    replace: bool
    metadata: tuple[str, ...]
    allow_private: bool
    timeout: float
    quiet: bool
    as_json: bool


@click.command(
    cls=TeachingCommand,
    short_help="Take in files, folders and URLs.",
    examples=[
        ("a folder, with everything below it", "spanwise add reports/"),
        (
            "only PDF files, with fields to filter by",
            "spanwise add reports/ --include '*.pdf' --metadata year=2018",
        ),
        (
            "a page of the web, into another knowledge base",
            "spanwise add https://example.com/terms --kb legal.kb",
        ),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.SOME_FAILED,
        ExitCode.NOTHING_FOUND,
        ExitCode.INTERRUPTED,
    ),
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(readable=False))
@knowledge_base_option
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Only files of a folder that match; repeat for more.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="No files of a folder that match; repeat for more.",
)
@click.option(
    "--replace", is_flag=True, help="Replace documents that came from another folder, file or URL."
)
@click.option(
    "--metadata",
    multiple=True,
    metavar="NAME=VALUE",
    help="Field of every document added, for filters. Numbers, true and false are read as such.",
)
@click.option(
    "--allow-private",
    is_flag=True,
    help="Fetch URLs on private networks and on this machine too.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    help="Most time to read one file; one that takes longer fails, and the others go in.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress bar and no summary, only failures.")
@json_option
def add(**arguments: Unpack[_AddArguments]) -> ExitCode:
    """Add files, folders and URLs to a knowledge base, which is made if there is none.

    A document that is there already, unchanged, costs nothing: the same command can be run again,
    after an interruption too. The id of a document is its path below the folder that was added,
    the name of the file, or the URL.
    """
    fields = parse_metadata(arguments["metadata"])
    path = knowledge_base_path(arguments["kb"])
    quiet = arguments["quiet"] or arguments["as_json"]
    with IngestBar(quiet=quiet) as bar:
        try:
            report = _ingest(path, arguments, fields, bar)
        except KeyboardInterrupt as interruption:
            raise Interrupted(
                f"interrupted: {count(bar.acknowledged, 'document')} of this run "
                f"{'is' if bar.acknowledged == 1 else 'are'} in {path} and stay there; "
                "run the same command again to go on"
            ) from interruption
    if arguments["as_json"]:
        write_json(report, sys.stdout)
    else:
        _draw(report, path, quiet=quiet)
    if report.failed:
        return ExitCode.SOME_FAILED
    found = report.added or report.replaced or report.unchanged
    return ExitCode.OK if found else ExitCode.NOTHING_FOUND


def _ingest(
    path: Path, arguments: _AddArguments, fields: dict[str, Scalar], bar: IngestBar
) -> IngestReport:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import FetchOptions, ParseOptions

    fetch = FetchOptions(allow_private=arguments["allow_private"])
    parse = ParseOptions(timeout_seconds=arguments["timeout"])
    with KnowledgeBase(path, fetch=fetch, parse=parse) as knowledge_base:
        return knowledge_base.add(
            *arguments["sources"],
            include=arguments["include"],
            exclude=arguments["exclude"],
            replace=arguments["replace"],
            metadata=fields or None,
            on_document=bar.on_document,
        )


def _draw(report: IngestReport, path: Path, *, quiet: bool) -> None:
    """Write failures and warnings on standard error, and the summary on standard output."""
    errors = Page(sys.stderr)
    for failure in report.failed:
        errors.message(f"failed ({failure.code}): ", failure.message, "red")
    for warning in report.warnings:
        errors.message("warning: ", warning, "yellow")
    if quiet:
        return
    page = Page()
    outcomes = [
        f"{len(documents):,} {outcome}"
        for outcome, documents in (
            ("added", report.added),
            ("replaced", report.replaced),
            ("unchanged", report.unchanged),
            ("failed", report.failed),
        )
        if documents
    ]
    page.line(f"{path}: {', '.join(outcomes) or 'no document found'}")
    if report.chunks:
        # In the first second the start of the processes is most of it: a rate would mislead.
        rate = f" ({report.chunks / report.seconds:,.0f} chunks/s)" if report.seconds >= 1 else ""
        page.line(
            f"{count(report.chunks, 'chunk')} of {count(report.chars, 'character')} "
            f"in {duration(report.seconds)}{rate}"
        )

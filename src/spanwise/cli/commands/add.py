"""`spanwise add`: take files, folders and URLs into a knowledge base."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, parse_metadata
from spanwise.cli.exits import ExitCode
from spanwise.cli.ingest import (
    draw_failures,
    draw_report,
    ingest_options,
    interruptible_bar,
    target,
)
from spanwise.cli.json_output import write_json
from spanwise.cli.settings import making_keywords
from spanwise.cli.teaching import TeachingCommand
from spanwise.config import fetch_options, knowledge_base_path, parse_options

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cli.progress import IngestBar
    from spanwise.types import IngestReport, Scalar

__all__ = ["add"]


class _AddArguments(TypedDict):
    sources: tuple[str, ...]
    kb: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    replace: bool
    metadata: tuple[str, ...]
    timeout: float
    allow_private: bool
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
@ingest_options
@click.option(
    "--allow-private",
    is_flag=True,
    help="Fetch URLs on private networks and on this machine too.",
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
    with interruptible_bar(path, quiet=quiet) as bar:
        report = _ingest(path, arguments, fields, bar)
    if arguments["as_json"]:
        write_json(report, sys.stdout)
    else:
        draw_failures(report)
        if not quiet:
            draw_report(report, label=str(path), nothing="no document found")
    if report.failed:
        return ExitCode.SOME_FAILED
    found = report.added or report.replaced or report.unchanged
    return ExitCode.OK if found else ExitCode.NOTHING_FOUND


def _ingest(
    path: Path, arguments: _AddArguments, fields: dict[str, Scalar], bar: IngestBar
) -> IngestReport:
    from spanwise.knowledge_base import KnowledgeBase

    fetch = fetch_options(allow_private=arguments["allow_private"])
    parse = parse_options(timeout_seconds=arguments["timeout"])
    sources, include, exclude = arguments["sources"], arguments["include"], arguments["exclude"]
    folder = target(path, sources=sources, include=include, exclude=exclude)
    made = making_keywords(path)
    with KnowledgeBase(folder, fetch=fetch, parse=parse, **made) as knowledge_base:
        return knowledge_base.add(
            *sources,
            include=include,
            exclude=exclude,
            replace=arguments["replace"],
            metadata=fields or None,
            on_document=bar.on_document,
        )

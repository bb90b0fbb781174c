"""`spanwise add`: take files, folders and URLs into a knowledge base."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, parse_metadata
from spanwise.cli.failures import ExitCode
from spanwise.cli.ingest import (
    draw_failures,
    draw_report,
    ingest_options,
    interruptible_bar,
    target,
)
from spanwise.cli.json_output import write_json
from spanwise.cli.model_arguments import (
    MakingArguments,
    draw_foreseen,
    made_of,
    making_options,
    models_of,
)
from spanwise.cli.settings import making_keywords
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import fetch_options, knowledge_base_path, parse_options

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cli.progress import IngestBar
    from spanwise.types import Durability, IngestReport, Scalar


class _AddArguments(MakingArguments):
    sources: tuple[str, ...]
    kb: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    replace: bool
    metadata: tuple[str, ...]
    timeout: float
    parser: str
    ocr: str
    durability: Durability
    allow_private: bool
    ignore_robots: bool
    id: str | None
    tuning: str | None
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
        (
            "with sections, titles and summaries by a language model: what it would cost",
            "spanwise add reports/ --llm openai:gpt-5-mini --sections --headers --dry-run",
        ),
        (
            "standard input, which has no name",
            "pandoc a.tex -t markdown | spanwise add - --id a.md",
        ),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.SOME_FAILED,
        ExitCode.NOTHING_FOUND,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(readable=False))
@knowledge_base_option
@ingest_options
@making_options
@click.option(
    "--allow-private",
    is_flag=True,
    help="Fetch URLs on private networks and on this machine too.",
)
@click.option(
    "--ignore-robots",
    is_flag=True,
    help="Fetch URLs that the robots.txt of their server forbids to programs.",
)
@click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Cut chunks as this file of `spanwise tune` wants them, in a new knowledge base.",
)
@click.option("--id", metavar="ID", help="Id of what comes from standard input (-).")
@click.option("--quiet", "-q", is_flag=True, help="No progress bar and no summary, only failures.")
@json_option
def add(**arguments: Unpack[_AddArguments]) -> ExitCode:
    """Add files, folders and URLs to a knowledge base, which is made if there is none.

    A document that is there already, unchanged, costs nothing: the same command can be run again,
    after an interruption too. The id of a document is its path below the folder that was added,
    the name of the file, or the URL. Archives, mailboxes and e-mails are opened: a document in one
    has the id of its container, "!/" and its own path. Object storage (s3://bucket/prefix) is read
    through fsspec.
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
        if arguments["dry_run"]:
            draw_foreseen(report)
        if not quiet:
            draw_report(
                report,
                path=path,
                nothing="no document found",
                foreseen=arguments["dry_run"],
            )
    if report.failed:
        return ExitCode.SOME_FAILED
    found = report.added or report.replaced or report.unchanged
    return ExitCode.OK if found else ExitCode.NOTHING_FOUND


def _ingest(
    path: Path, arguments: _AddArguments, fields: dict[str, Scalar], bar: IngestBar
) -> IngestReport:
    from spanwise.knowledge_base import KnowledgeBase

    fetch = fetch_options(
        allow_private=arguments["allow_private"], robots=not arguments["ignore_robots"]
    )
    parse = parse_options(
        timeout_seconds=arguments["timeout"], parser=arguments["parser"], ocr=arguments["ocr"]
    )
    include, exclude, name = arguments["include"], arguments["exclude"], arguments["id"]
    sources = [_standard_input(name) if one == "-" else one for one in arguments["sources"]]
    models = models_of(arguments)
    made = made_of(arguments, models=models)
    folder = target(
        path,
        sources=() if arguments["dry_run"] else sources,
        include=include,
        exclude=exclude,
        document_id=None if arguments["dry_run"] else name,
    )
    with KnowledgeBase(
        folder,
        fetch=fetch,
        parse=parse,
        models=models,
        tuning=arguments["tuning"],
        durability=arguments["durability"],
        listener=bar,
        **making_keywords(path),
    ) as knowledge_base:
        return knowledge_base.add(
            *sources,
            document_id=name,
            include=include,
            exclude=exclude,
            replace=arguments["replace"],
            metadata=fields or None,
            on_document=bar.on_document,
            **made,
        )


def _standard_input(document_id: str | None) -> BinaryIO:
    if document_id is None:
        raise click.UsageError("standard input has no name; give it an id: add - --id NAME")
    if sys.stdin.isatty():
        raise click.UsageError("standard input is a terminal; pipe a document: add - --id NAME < F")
    # Without a buffer: a thread that waits for one at the end of the process would abort it.
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)

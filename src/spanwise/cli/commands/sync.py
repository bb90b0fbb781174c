"""`spanwise sync`: keep a knowledge base in step with a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

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
from spanwise.config import knowledge_base_path, parse_options

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cli.progress import IngestBar
    from spanwise.types import Durability, IngestReport, Scalar


class _SyncArguments(MakingArguments):
    folder: str
    kb: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    replace: bool
    metadata: tuple[str, ...]
    timeout: float
    parser: str
    ocr: str
    durability: Durability
    allow_empty: bool
    quiet: bool
    as_json: bool


@click.command(
    cls=TeachingCommand,
    short_help="Keep a knowledge base in step with a folder.",
    examples=[
        ("add, replace and remove, so that it equals the folder", "spanwise sync reports/"),
        ("see first what would be done", "spanwise sync reports/ --dry-run"),
        ("leave drafts out; those that are in are removed", "spanwise sync docs -q --exclude tmp/"),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.SOME_FAILED,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("folder", type=click.Path(readable=False))
@knowledge_base_option
@ingest_options
@click.option(
    "--allow-empty",
    is_flag=True,
    help="Remove every document of the folder if nothing in it is taken; refused otherwise.",
)
@making_options
@click.option("--quiet", "-q", is_flag=True, help="No progress bar and no summary, only failures.")
@json_option
def sync(**arguments: Unpack[_SyncArguments]) -> ExitCode:
    """Add, replace and remove, so that the documents that came from a folder equal it.

    Documents from elsewhere are left alone. A file that is unchanged costs a hash; after an
    interruption the same command goes on where it stopped. A file that cannot be read now, and
    all below a subfolder that cannot be listed, keeps what is stored, and is reported as failed.
    A folder that is missing removes nothing. A prefix of an object storage (s3://bucket/reports) is
    a folder too, and what is in archives and e-mails is kept in step as files are.
    """
    fields = parse_metadata(arguments["metadata"])
    path = knowledge_base_path(arguments["kb"])
    quiet = arguments["quiet"] or arguments["as_json"]
    with interruptible_bar(path, quiet=quiet) as bar:
        report = _sync(path, arguments, fields, bar)
    if arguments["as_json"]:
        write_json(report, sys.stdout)
    else:
        draw_failures(report)
        if arguments["dry_run"]:
            draw_foreseen(report)
        if not quiet:
            draw_report(report, path=path, nothing="nothing to do", foreseen=arguments["dry_run"])
    return ExitCode.SOME_FAILED if report.failed else ExitCode.OK


def _sync(
    path: Path, arguments: _SyncArguments, fields: dict[str, Scalar], bar: IngestBar
) -> IngestReport:
    from spanwise.knowledge_base import KnowledgeBase

    parse = parse_options(
        timeout_seconds=arguments["timeout"], parser=arguments["parser"], ocr=arguments["ocr"]
    )
    folder, include, exclude = arguments["folder"], arguments["include"], arguments["exclude"]
    sources = () if arguments["dry_run"] else (folder,)
    models = models_of(arguments)
    made = made_of(arguments, models=models)
    kept_in = target(path, sources=sources, include=include, exclude=exclude)
    with KnowledgeBase(
        kept_in,
        parse=parse,
        models=models,
        durability=arguments["durability"],
        listener=bar,
        **making_keywords(path),
    ) as knowledge_base:
        return knowledge_base.sync(
            folder,
            include=include,
            exclude=exclude,
            replace=arguments["replace"],
            metadata=fields or None,
            allow_empty=arguments["allow_empty"],
            on_document=bar.on_document,
            **made,
        )

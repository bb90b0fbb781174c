"""`spanwise sync`: synchronise a knowledge base with a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, parse_metadata
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.ingest import (
    draw_failures,
    draw_report,
    ingest_options,
    ingest_target,
    interruptible_bar,
)
from spanwise.cli.json_output import write_json
from spanwise.cli.model_arguments import (
    GenerationArguments,
    draw_dry_run,
    generation_keywords,
    generation_models,
    generation_options,
)
from spanwise.cli.settings import creation_keywords
from spanwise.config import knowledge_base_path, parse_options

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cli.progress import IngestBar
    from spanwise.types import Durability, IngestReport, Scalar


class _SyncArguments(GenerationArguments):
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
    cls=ExampleCommand,
    short_help="Synchronise a knowledge base with a folder.",
    examples=[
        ("add new, replace changed and remove deleted files", "spanwise sync reports/"),
        ("list the changes without making them", "spanwise sync reports/ --dry-run"),
        ("skip a subfolder, and remove its documents", "spanwise sync docs --exclude tmp/"),
    ],
    exit_codes=(
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
    help="Remove all documents of the folder if it holds no matching file. Without this option, "
    "that is an error.",
)
@generation_options
@click.option(
    "--quiet", "-q", is_flag=True, help="Show only failures: no progress bar, no summary."
)
@json_option
def sync(**arguments: Unpack[_SyncArguments]) -> ExitCode:
    """Add new, replace changed and remove deleted documents of a folder.

    Documents from other sources are not changed. Unchanged files are only hashed, so an
    interrupted command can be run again. A file that cannot be read, or a subfolder that cannot be
    listed, is reported as failed; its stored documents are kept. If FOLDER is missing, nothing is
    removed. FOLDER can be an object storage prefix (s3://bucket/reports). Files in archives and
    e-mails are synchronised too.
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
            draw_dry_run(report)
        if not quiet:
            draw_report(
                report, path=path, empty_message="nothing to do", is_dry_run=arguments["dry_run"]
            )
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
    models = generation_models(arguments)
    generation = generation_keywords(arguments, models=models)
    target = ingest_target(path, sources=sources, include=include, exclude=exclude)
    with KnowledgeBase(
        target,
        parse=parse,
        models=models,
        durability=arguments["durability"],
        listener=bar,
        **creation_keywords(path),
    ) as knowledge_base:
        return knowledge_base.sync(
            folder,
            include=include,
            exclude=exclude,
            replace=arguments["replace"],
            metadata=fields or None,
            allow_empty=arguments["allow_empty"],
            on_document=bar.on_document,
            **generation,
        )

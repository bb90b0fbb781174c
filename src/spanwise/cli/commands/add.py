"""`spanwise add`: add files, folders and URLs to a knowledge base."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from spanwise.cli.arguments import (
    creation_keywords,
    json_option,
    knowledge_base_option,
    parse_metadata,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.ingest import (
    GenerationArguments,
    draw_dry_run,
    draw_failures,
    draw_report,
    generation_keywords,
    generation_models,
    generation_options,
    ingest_options,
    ingest_target,
    interruptible_bar,
)
from spanwise.cli.output import write_json
from spanwise.config import fetch_options, knowledge_base_path, parse_options

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cli.progress import IngestBar
    from spanwise.types import Durability, IngestReport, Scalar


class _AddArguments(GenerationArguments):
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
    cls=ExampleCommand,
    short_help="Add files, folders and URLs.",
    examples=[
        ("add a folder and its subfolders", "spanwise add reports/"),
        (
            "add only PDF files, with a metadata field",
            "spanwise add reports/ --include '*.pdf' --metadata year=2018",
        ),
        (
            "add a web page to another knowledge base",
            "spanwise add https://example.com/terms --kb legal.kb",
        ),
        (
            "estimate the cost of sections, titles and summaries",
            "spanwise add reports/ --llm openai:gpt-5-mini --sections --headers --dry-run",
        ),
        (
            "add standard input, with an id",
            "pandoc a.tex -t markdown | spanwise add - --id a.md",
        ),
    ],
    exit_codes=(
        ExitCode.SOME_FAILED,
        ExitCode.NOTHING_FOUND,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(readable=False))
@knowledge_base_option
@ingest_options
@generation_options
@click.option(
    "--allow-private",
    is_flag=True,
    help="Also fetch URLs on private networks and on this machine.",
)
@click.option(
    "--ignore-robots",
    is_flag=True,
    help="Also fetch URLs that robots.txt disallows.",
)
@click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Tuning file written by `spanwise tune`; sets the chunk options of a new knowledge base.",
)
@click.option("--id", metavar="ID", help="Document id for text read from standard input (-).")
@click.option(
    "--quiet", "-q", is_flag=True, help="Show only failures: no progress bar, no summary."
)
@json_option
def add(**arguments: Unpack[_AddArguments]) -> ExitCode:
    """Add files, folders and URLs to a knowledge base. Create the knowledge base if needed.

    Unchanged documents are skipped, so an interrupted command can be run again. A document id is
    the path below the added folder, the file name, or the URL. Archives, mailboxes and e-mails are
    unpacked; the id of a document in one of them is the container id, "!/" and the path inside.
    Object storage (s3://bucket/prefix) is read through fsspec.
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
            draw_dry_run(report)
        if not quiet:
            draw_report(
                report,
                path=path,
                empty_message="no document found",
                is_dry_run=arguments["dry_run"],
            )
    if report.failed:
        return ExitCode.SOME_FAILED
    documents = report.added or report.replaced or report.unchanged
    return ExitCode.OK if documents else ExitCode.NOTHING_FOUND


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
    sources = [
        _standard_input(name) if source == "-" else source for source in arguments["sources"]
    ]
    models = generation_models(arguments)
    generation = generation_keywords(arguments, models=models)
    folder = ingest_target(
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
        **creation_keywords(path),
    ) as knowledge_base:
        return knowledge_base.add(
            *sources,
            document_id=name,
            include=include,
            exclude=exclude,
            replace=arguments["replace"],
            metadata=fields or None,
            on_document=bar.on_document,
            **generation,
        )


def _standard_input(document_id: str | None) -> BinaryIO:
    if document_id is None:
        raise click.UsageError("standard input has no name; give it an id: add - --id NAME")
    if sys.stdin.isatty():
        raise click.UsageError("standard input is a terminal; pipe a document: add - --id NAME < F")
    # Unbuffered: a daemon thread blocked on a buffer lock would abort the process at exit.
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)


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

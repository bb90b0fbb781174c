"""`spanwise export` and `spanwise import`: exchange documents with other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import (
    creation_keywords,
    json_option,
    knowledge_base_option,
    where_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.commands.add import draw_failures, draw_report
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, duration, size
from spanwise.cli.output import write_json
from spanwise.cli.progress import IngestBar, step_bar
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.ingest.tables import TableFormat


@click.command(
    cls=ExampleCommand,
    short_help="Write the documents to files for other programs.",
    examples=[
        ("write JSON Lines to a new folder", "spanwise export exported"),
        ("write Parquet", "spanwise export exported --format parquet"),
        (
            "write tables for a spreadsheet, without vectors",
            "spanwise export tables --format csv --where 'year >= 2018'",
        ),
    ],
    exit_codes={ExitCode.NOTHING_FOUND: "no document passes the filter; nothing is written"},
)
@click.argument("folder", metavar="FOLDER", type=click.Path(readable=False))
@knowledge_base_option
@click.option(
    "--format",
    "table_format",
    type=click.Choice(["jsonl", "parquet", "csv"]),
    default="jsonl",
    show_default=True,
    help="Format of the tables: JSON Lines, Parquet, or CSV for spreadsheets.",
)
@where_option
@click.option("--no-vectors", is_flag=True, help="Leave out the vectors of the chunks.")
@json_option
def export(
    *,
    folder: str,
    kb: str | None,
    table_format: TableFormat,
    where: str | None,
    no_vectors: bool,
    as_json: bool,
) -> ExitCode:
    """Write documents, sections, chunks, vectors and metadata to the new folder FOLDER.

    `spanwise import` reads the folder, except for CSV. The folder appears under its name only when
    it is complete. Cells of CSV that a spreadsheet would run as a formula begin with an apostrophe.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with (
        KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base,
        step_bar(quiet=as_json) as draw,
    ):
        if where is not None and not knowledge_base.list(where):
            return _report_no_document(knowledge_base.filter_warning(where), as_json=as_json)
        report = knowledge_base.export_to(
            folder,
            table_format=table_format,
            where=where,
            vectors=not no_vectors,
            on_progress=lambda done, total: draw("documents", done, total),
        )
    if as_json:
        write_json(report, sys.stdout)
        return ExitCode.OK
    Page().wrapped(
        f"{report.path}: {count(report.documents, 'document')} with "
        f"{count(report.chunks, 'chunk')}, {size(report.bytes_on_disk)} in "
        f"{duration(report.seconds)}"
    )
    return ExitCode.OK


def _report_no_document(warning: str, *, as_json: bool) -> ExitCode:
    """Report that no document passes the filter."""
    Page(sys.stderr).message("warning: ", warning, "yellow")
    if as_json:
        write_json({"path": None, "documents": 0, "sections": 0, "chunks": 0}, sys.stdout)
    return ExitCode.NOTHING_FOUND


@click.command(
    "import",
    cls=ExampleCommand,
    short_help="Add the documents of an export.",
    examples=[
        ("add an export to a new knowledge base", "spanwise import exported --kb copy.kb"),
    ],
    exit_codes=(ExitCode.SOME_FAILED,),
)
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False))
@knowledge_base_option
@click.option(
    "--replace",
    is_flag=True,
    help="Replace documents with the same id from another source.",
)
@json_option
def import_export(*, folder: str, kb: str | None, replace: bool, as_json: bool) -> ExitCode:
    """Add the documents of FOLDER, which `spanwise export` has written.

    Titles, summaries, sections and metadata are those of the export. Documents are divided into
    chunks by the options of the knowledge base, which is created if it does not exist. Vectors of
    the same embedder are reused. The same command continues after an interruption.
    """
    from spanwise.ingest.exchange import open_export
    from spanwise.knowledge_base import KnowledgeBase

    open_export(Path(folder))  # before a knowledge base is created
    path = knowledge_base_path(kb)
    with (
        IngestBar(quiet=as_json) as bar,
        KnowledgeBase(path, listener=bar, **creation_keywords(path)) as knowledge_base,
    ):
        report = knowledge_base.import_from(folder, replace=replace, on_document=bar.on_document)
    if as_json:
        write_json(report, sys.stdout)
    else:
        draw_failures(report)
        draw_report(report, path=path, empty_message="the export has no documents")
    return ExitCode.SOME_FAILED if report.failed else ExitCode.OK

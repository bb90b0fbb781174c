"""`spanwise page`: render a PDF page as an image."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page
from spanwise.config import fetch_options, knowledge_base_path, parse_options

_STANDARD_OUTPUT = "-"


class _PageArguments(TypedDict):
    document_id: str
    number: int
    kb: str | None
    output: str
    dots_per_inch: int
    allow_private: bool
    as_json: bool


@click.command(
    cls=ExampleCommand,
    short_help="Render a PDF page as an image.",
    examples=[
        ("render page 60", "spanwise page 3M_2018_10K.pdf 60 -o page.png"),
        (
            "render at a higher resolution",
            "spanwise page 3M_2018_10K.pdf 60 --dots-per-inch 300 -o page.png",
        ),
    ],
)
@click.argument(
    "document_id", metavar="ID", type=as_document_id, shell_complete=complete_document_ids
)
@click.argument("number", metavar="PAGE", type=click.IntRange(min=1))
@knowledge_base_option
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    required=True,
    help='PNG file to write, or "-" for standard output.',
)
@click.option(
    "--dots-per-inch",
    metavar="N",
    type=click.IntRange(min=10, max=600),
    default=150,
    show_default=True,
    help="Resolution in dots per inch.",
)
@click.option(
    "--allow-private",
    is_flag=True,
    help="Also fetch the document from private networks and from this machine.",
)
@json_option
def page(**arguments: Unpack[_PageArguments]) -> ExitCode:
    """Render a page of a PDF as a PNG image.

    The page is read from the original file. It is an error if that file is missing or has changed
    since it was added. --json reports the path and size of the image.
    """
    to_standard_output = arguments["output"] == _STANDARD_OUTPUT
    if to_standard_output and arguments["as_json"]:
        raise click.UsageError("--json needs a file for the image; name one with --output")
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(
        knowledge_base_path(arguments["kb"]),
        create=False,
        parse=parse_options(),
        fetch=fetch_options(allow_private=arguments["allow_private"]),
    ) as knowledge_base:
        png = knowledge_base.page_image(
            arguments["document_id"], arguments["number"], dots_per_inch=arguments["dots_per_inch"]
        )
    if to_standard_output:
        sys.stdout.buffer.write(png)
        return ExitCode.OK
    path = Path(arguments["output"])
    try:
        path.write_bytes(png)
    except OSError as error:
        raise click.FileError(str(path), hint=error.strerror) from error
    number, document_id = arguments["number"], arguments["document_id"]
    if arguments["as_json"]:
        written = {"path": str(path), "bytes": len(png)}
        write_json({"document_id": document_id, "page": number, **written}, sys.stdout)
    else:
        Page().line(f"{path}: page {number} of {document_id}")
    return ExitCode.OK

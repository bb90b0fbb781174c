"""`spanwise locate`: whether citations still hold, and where their text stands now."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, one_line
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.types import CitationLocation


_COLOURS = {"current": "green", "moved": "cyan", "changed": "yellow", "removed": "red"}
_MAX_BYTES = 64_000_000


@click.command(
    cls=TeachingCommand,
    short_help="Say whether citations still hold.",
    examples=[
        ("keep an answer", 'spanwise search "main risks" --json > answer.json'),
        ("look later whether its citations still hold", "spanwise locate answer.json"),
        ("one citation, from a program", "spanwise locate - --json < citation.json"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, ExitCode.NOTHING_FOUND),
)
@click.argument("file", metavar="FILE", type=click.File("rb"))
@knowledge_base_option
@json_option
def locate(*, file: BinaryIO, kb: str | None, as_json: bool) -> ExitCode:
    """Say for each citation in a JSON file, or - for standard input, where its text stands now.

    The file holds a citation, a segment, a list of them, or what `search` or `excerpts` wrote with
    --json. A text is current where it was cited, moved where the very same characters stand
    elsewhere, changed where it was edited or is gone (the passage most like it is shown), or
    removed with its document.
    """
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.knowledge_base.citations import given_citations

    given = given_citations(_read(file))
    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        located = [knowledge_base.locate(one) for one in given]
    if as_json:
        write_json({"citations": located}, sys.stdout)
    else:
        page = Page()
        for one in located:
            _draw(one, page)
        page.line(page.paint(count(len(located), "citation"), "dim"))
    is_lost = any(one.status in ("changed", "removed") for one in located)
    return ExitCode.NOTHING_FOUND if is_lost else ExitCode.OK


def _read(file: BinaryIO) -> object:
    """Return what a JSON file holds.

    Raises:
        UsageError: If it is too large, or no JSON.
    """
    data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise click.UsageError(f"{file.name} has more than {_MAX_BYTES:,} bytes; give citations")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(
            f"{file.name} is no JSON: {error}; give what `spanwise search --json` wrote"
        ) from error


def _draw(located: CitationLocation, page: Page) -> None:
    status = page.paint(located.status.ljust(8), "bold", _COLOURS[located.status])
    page.line(f"{status} {one_line(str(located.cited))}")
    page.wrapped(located.message, "dim", indent="  ")
    if located.status == "changed" and located.text:
        page.line()
        page.body(located.text)
    page.line()

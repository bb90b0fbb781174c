"""`spanwise locate`: check whether citations are still valid."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, one_line
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.types import CitationLocation


_COLOURS = {"current": "green", "moved": "cyan", "changed": "yellow", "removed": "red"}
_MAX_BYTES = 64_000_000


@click.command(
    cls=ExampleCommand,
    short_help="Check whether citations are still valid.",
    examples=[
        ("save a search result", 'spanwise search "main risks" --json > answer.json'),
        ("check its citations later", "spanwise locate answer.json"),
        ("check citations from standard input", "spanwise locate - --json < citation.json"),
    ],
    exit_codes={ExitCode.NOTHING_FOUND: "the text of a citation was changed or removed"},
)
@click.argument("file", metavar="FILE", type=click.File("rb"))
@knowledge_base_option
@json_option
def locate(*, file: BinaryIO, kb: str | None, as_json: bool) -> ExitCode:
    """Check whether the cited text is still where each citation says.

    FILE is a JSON file (- for standard input) with a citation, a segment, a list of them, or the
    --json output of `search` or `excerpts`. The status of a citation is "current" (the text is
    unchanged), "moved" (the same text is at another position), "changed" (the text was edited or
    deleted; the most similar passage is shown) or "removed" (the document was removed).
    """
    from spanwise.answers.citation_lookup import given_citations
    from spanwise.knowledge_base import KnowledgeBase

    citations = given_citations(_read(file))
    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        located = [knowledge_base.locate(citation) for citation in citations]
    if as_json:
        write_json({"citations": located}, sys.stdout)
    else:
        page = Page()
        for location in located:
            _draw(location, page)
        page.line(page.paint(count(len(located), "citation"), "dim"))
    is_lost = any(location.status in ("changed", "removed") for location in located)
    return ExitCode.NOTHING_FOUND if is_lost else ExitCode.OK


def _read(file: BinaryIO) -> object:
    """Return the content of a JSON file.

    Raises:
        UsageError: If the file is too large or is not JSON.
    """
    data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise click.UsageError(
            f"{file.name} has more than {_MAX_BYTES:,} bytes; give a smaller file"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(
            f"{file.name} is not JSON: {error}; give the output of `spanwise search --json`"
        ) from error


def _draw(located: CitationLocation, page: Page) -> None:
    status = page.paint(located.status.ljust(8), "bold", _COLOURS[located.status])
    page.line(f"{status} {one_line(str(located.cited))}")
    page.wrapped(located.message, "dim", indent="  ")
    if located.status == "changed" and located.text:
        page.line()
        page.body(located.text)
    page.line()

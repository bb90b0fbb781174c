"""`spanwise set`: change the metadata and the title of documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
    parse_metadata,
    where_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, one_line
from spanwise.cli.output import write_json
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.filters import Filter
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import MetadataChange, MetadataReport, MetadataValue

_SHOWN_DOCUMENTS = 20


class _SetArguments(TypedDict):
    arguments: tuple[str, ...]
    kb: str | None
    where: str | None
    title: str | None
    metadata: tuple[str, ...]
    remove: tuple[str, ...]
    dry_run: bool
    as_json: bool


@click.command(
    "set",
    cls=ExampleCommand,
    short_help="Change metadata and titles.",
    examples=[
        ("set fields of a document", "spanwise set handbook.md team=hr year=2023"),
        ("set a field of all documents of a filter", "spanwise set --where 'year < 2015' old=true"),
        ("give a document another title", 'spanwise set scan7.pdf --title "Supply agreement"'),
        ("remove a field", "spanwise set handbook.md --remove team"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument(
    "arguments",
    metavar="[ID]... [NAME=VALUE]...",
    nargs=-1,
    shell_complete=complete_document_ids,
)
@knowledge_base_option
@where_option
@click.option(
    "--title", metavar="TEXT", help='Title of the document; "" restores the title of the file.'
)
@click.option(
    "--metadata",
    multiple=True,
    metavar="NAME=VALUE",
    help="Field to set, as an argument NAME=VALUE. Repeatable.",
)
@click.option("--remove", multiple=True, metavar="NAME", help="Field to remove. Repeatable.")
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@json_option
def set_metadata(**arguments: Unpack[_SetArguments]) -> ExitCode:
    """Set metadata fields and the title of stored documents. Nothing is read or embedded again.

    An argument with "=" is a field, unless it is the id of a document. Numbers, true and false are
    stored with their type; a value in double quotes is text. The id of an archive selects the
    documents inside. These values are kept when a file changes, and take precedence over the
    file, sidecar files and --metadata of `add` and `sync`.
    """
    from spanwise.filters import parse_filter
    from spanwise.knowledge_base import KnowledgeBase

    where = arguments["where"]
    is_dry_run = arguments["dry_run"]
    with KnowledgeBase(knowledge_base_path(arguments["kb"]), create=False) as knowledge_base:
        ids, pairs = _divided(arguments["arguments"], knowledge_base)
        fields = _fields((*pairs, *arguments["metadata"]), arguments["remove"])
        if not ids and where is None:
            raise click.UsageError("no document is named; give ids, or a filter with --where")
        if ids and where is not None:
            raise click.UsageError("give either ids or --where, not both")
        documents: Sequence[str] | Filter = ids if where is None else parse_filter(where)
        if not fields and arguments["title"] is None:
            raise click.UsageError("nothing to set; give NAME=VALUE, --title or --remove")
        report = knowledge_base.update_metadata(
            documents, fields, title=arguments["title"], dry_run=is_dry_run
        )
        is_empty = not report.changes and not report.unchanged
        warning = knowledge_base.filter_warning(where) if is_empty else ""
    if warning:
        Page(sys.stderr).message("warning: ", warning, "yellow")
    if arguments["as_json"]:
        write_json(report, sys.stdout)
    else:
        _draw(report, is_dry_run=is_dry_run)
    return ExitCode.OK if report.changes or report.unchanged else ExitCode.NOTHING_FOUND


def _divided(
    arguments: Sequence[str], knowledge_base: KnowledgeBase
) -> tuple[list[str], list[str]]:
    """Return the ids and the NAME=VALUE pairs among the arguments."""
    odd = [text for text in arguments if "=" in text]
    known = {record.id for record in knowledge_base.list()} if odd else set[str]()
    ids: list[str] = []
    pairs: list[str] = []
    for text in arguments:
        document_id = as_document_id(text)
        name = text.partition("=")[0]
        is_id = text not in odd or document_id in known or "://" in name
        (ids if is_id else pairs).append(document_id if is_id else text)
    return ids, pairs


def _fields(pairs: Sequence[str], removed: Sequence[str]) -> dict[str, MetadataValue | None]:
    """Return the fields to set, and None for those to remove.

    Raises:
        UsageError: If a field is set and removed, or is named "title".
    """
    fields: dict[str, MetadataValue | None] = dict(parse_metadata(pairs))
    if "title" in fields:
        raise click.UsageError("title is not a metadata field; set it with --title TEXT")
    for name in removed:
        if name in fields:
            raise click.UsageError(
                f"the field {name!r} is both set and removed; give only one of the two"
            )
    return {**fields, **dict.fromkeys(removed)}


def _draw(report: MetadataReport, *, is_dry_run: bool) -> None:
    page = Page()
    if is_dry_run:
        for change in report.changes[:_SHOWN_DOCUMENTS]:
            page.line(page.paint(one_line(change.document_id), "bold"))
            for line in _changed_lines(change):
                page.wrapped(line, indent="  ")
        if len(report.changes) > _SHOWN_DOCUMENTS:
            page.line(f"and {count(len(report.changes) - _SHOWN_DOCUMENTS, 'more document')}")
    outcome = "would change" if is_dry_run else "changed"
    changed = count(len(report.changes), "document")
    unchanged = f", {len(report.unchanged):,} unchanged" if report.unchanged else ""
    page.line(
        f"{outcome}: {changed}{unchanged}" if is_dry_run else f"{changed} {outcome}{unchanged}"
    )


def _changed_lines(change: MetadataChange) -> list[str]:
    lines = [
        f"{name}: {_shown(change.before[name])} -> {_shown(after)}"
        for name, after in change.after.items()
    ]
    if change.title_before != change.title_after:
        lines.insert(0, f"title: {change.title_before} -> {change.title_after}")
    return lines


def _shown(value: MetadataValue | None) -> str:
    return "none" if value is None else str(value)

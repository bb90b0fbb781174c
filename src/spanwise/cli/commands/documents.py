"""`spanwise list`, `show` and `remove`: the documents of a knowledge base."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
    where_option,
)
from spanwise.cli.exits import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, clean, count, one_line
from spanwise.cli.teaching import TeachingCommand
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.types import Chunk, Document, DocumentRecord, Section

__all__ = ["list_documents", "remove", "show"]


@click.command(
    "list",
    cls=TeachingCommand,
    short_help="List the documents.",
    examples=[
        ("every document", "spanwise list"),
        ("those that pass a filter, for a program", "spanwise list --where 'year >= 2018' --json"),
    ],
)
@knowledge_base_option
@where_option
@json_option
def list_documents(*, kb: str | None, where: str | None, as_json: bool) -> ExitCode:
    """List the documents of a knowledge base in the order of their ids."""
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        records = knowledge_base.list(where)
    if as_json:
        write_json(records, sys.stdout)
        return ExitCode.OK
    page = Page()
    for record in records:
        _draw_record(record, page)
    page.line(page.paint(count(len(records), "document"), "dim"))
    return ExitCode.OK


def _draw_record(record: DocumentRecord, page: Page) -> None:
    page.line(page.paint(one_line(record.id), "bold"))
    page.wrapped(
        page.joined(
            [
                record.title,
                count(record.pages, "page") if record.pages else "",
                count(record.chunks, "chunk"),
                count(record.tokens, "token"),
                *(f"{name}={value}" for name, value in sorted(record.metadata.items())),
            ]
        ),
        "dim",
        indent="  ",
    )


class _ShowArguments(TypedDict):
    document_id: str
    kb: str | None
    sections: bool
    chunks: bool
    start: int | None
    end: int | None
    as_json: bool


@click.command(
    cls=TeachingCommand,
    short_help="Show one document, or how it was cut.",
    examples=[
        ("what is known about a document, and its text", "spanwise show 3M_2018_10K.pdf"),
        ("how it was cut", "spanwise show 3M_2018_10K.pdf --sections --chunks"),
        ("the characters that a citation names", "spanwise show msa.md --start 1200 --end 1850"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, ExitCode.NOTHING_FOUND),
)
@click.argument(
    "document_id", metavar="ID", type=as_document_id, shell_complete=complete_document_ids
)
@knowledge_base_option
@click.option("--sections", is_flag=True, help="Show its sections instead of its text.")
@click.option("--chunks", is_flag=True, help="Show its chunks instead of its text.")
@click.option(
    "--start", metavar="N", type=click.IntRange(min=0), help="First character to show, from 0."
)
@click.option(
    "--end", metavar="N", type=click.IntRange(min=0), help="One past the last character to show."
)
@json_option
def show(**arguments: Unpack[_ShowArguments]) -> ExitCode:
    """Show one document: its text, its sections, its chunks, or some of its characters."""
    is_range = arguments["start"] is not None or arguments["end"] is not None
    if is_range and (arguments["sections"] or arguments["chunks"]):
        raise click.UsageError("--start and --end show text; leave out --sections and --chunks")
    from spanwise.knowledge_base import KnowledgeBase

    document_id = arguments["document_id"]
    with KnowledgeBase(knowledge_base_path(arguments["kb"]), create=False) as knowledge_base:
        document = knowledge_base.get(document_id)
        sections = knowledge_base.sections(document_id) if arguments["sections"] else None
        chunks = knowledge_base.chunks(document_id) if arguments["chunks"] else None
    if is_range:
        return _show_range(document, arguments)
    if arguments["as_json"]:
        parts = {"document": document, "sections": sections, "chunks": chunks}
        write_json({name: part for name, part in parts.items() if part is not None}, sys.stdout)
        return ExitCode.OK
    page = Page()
    _draw_facts(document, page)
    if sections is not None:
        _draw_sections(sections, page)
    if chunks is not None:
        _draw_chunks(chunks, page)
    if sections is None and chunks is None:
        page.line()
        page.body(document.text)
    return ExitCode.OK


def _show_range(document: Document, arguments: _ShowArguments) -> ExitCode:
    length = len(document.text)
    start = arguments["start"] or 0
    end = length if arguments["end"] is None else arguments["end"]
    if not start <= end <= length:
        raise click.UsageError(
            f"the range {start}-{end} is not inside the {count(length, 'character')} of "
            f"{document.id!r}"
        )
    text = document.text[start:end]
    if arguments["as_json"]:
        write_json(
            {"document_id": document.id, "start": start, "end": end, "text": text}, sys.stdout
        )
    else:
        sys.stdout.write((clean(text) if sys.stdout.isatty() else text) + "\n")
    return ExitCode.OK


def _draw_facts(document: Document, page: Page) -> None:
    page.facts(
        [
            ("document", document.id),
            *([("title", document.title)] if document.title else []),
            *([("source", document.source)] if document.source else []),
            ("kind", document.media_type),
            ("length", count(len(document.text), "character")),
            *([("pages", f"{len(document.pages):,}")] if document.pages else []),
            *((name, str(value)) for name, value in sorted(document.metadata.items())),
            *(("warning", warning) for warning in document.warnings),
        ]
    )


def _draw_sections(sections: Sequence[Section], page: Page) -> None:
    page.line()
    for section in sections:
        place = f"{section.start}-{section.end}".rjust(15)
        page.line(f"{page.paint(place, 'dim')}  {one_line(' > '.join(section.path))}")


def _draw_chunks(chunks: Sequence[Chunk], page: Page) -> None:
    for chunk in chunks:
        page.line()
        said = page.joined(
            [
                f"chunk {chunk.index}",
                f"characters {chunk.start}-{chunk.end}",
                f"section {chunk.section}",
                count(chunk.tokens, "token"),
            ]
        )
        page.line(page.paint(said, "dim"))
        page.body(chunk.text)


@click.command(
    cls=TeachingCommand,
    short_help="Remove documents.",
    examples=[
        ("one document", "spanwise remove old/report.pdf"),
        (
            "several at once, ids as `spanwise list` says them",
            "spanwise remove old/a.pdf old/b.pdf",
        ),
    ],
    exit_codes=(ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, ExitCode.NOTHING_FOUND),
)
@click.argument(
    "document_ids",
    metavar="ID...",
    nargs=-1,
    required=True,
    type=as_document_id,
    shell_complete=complete_document_ids,
)
@knowledge_base_option
@json_option
def remove(*, document_ids: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Remove documents from a knowledge base, each one whole; files on disk stay."""
    from spanwise.knowledge_base import KnowledgeBase

    removed: list[str] = []
    not_found: list[str] = []
    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        for document_id in dict.fromkeys(document_ids):
            (removed if knowledge_base.delete(document_id) else not_found).append(document_id)
    if as_json:
        write_json({"removed": removed, "not_found": not_found}, sys.stdout)
    else:
        page = Page()
        page.line(f"{count(len(removed), 'document')} removed")
        errors = Page(sys.stderr)
        for document_id in not_found:
            errors.message("not found: ", document_id, "red")
    return ExitCode.NOTHING_FOUND if not_found else ExitCode.OK

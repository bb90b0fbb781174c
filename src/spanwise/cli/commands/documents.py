"""`spanwise list`, `show` and `remove`: list, show and remove documents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
    knowledge_bases_option,
    where_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.knowledge_bases import open_knowledge_bases
from spanwise.cli.layout import STATUSES, Page, count, one_line, write_text
from spanwise.cli.output import write_json
from spanwise.cli.pager import pager_option
from spanwise.config import fetch_options, knowledge_base_path, parse_options
from spanwise.errors import as_sentence
from spanwise.filters import items_of

if TYPE_CHECKING:
    from spanwise.types import (
        Chunk,
        Citation,
        CitationLocation,
        Document,
        DocumentRecord,
        MetadataValue,
        Section,
    )


@click.command(
    "list",
    cls=ExampleCommand,
    short_help="List the documents.",
    examples=[
        ("list all documents", "spanwise list"),
        ("list filtered documents as JSON", "spanwise list --where 'year >= 2018' --json"),
    ],
)
@knowledge_base_option
@where_option
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="List only the first N documents."
)
@pager_option
@json_option
def list_documents(
    *, kb: str | None, where: str | None, limit: int | None, as_json: bool
) -> ExitCode:
    """List the documents of a knowledge base, sorted by id."""
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        records = knowledge_base.list(where)
        warning = "" if records else knowledge_base.filter_warning(where)
    if as_json:
        if warning:
            Page(sys.stderr).message("warning: ", warning, "yellow")
        write_json(records[:limit], sys.stdout)
        return ExitCode.OK
    page = Page()
    if warning:
        page.wrapped(as_sentence(warning), "yellow")
    for record in records[:limit]:
        _draw_record(record, page)
    shown = f"the first {limit:,} of " if limit is not None and limit < len(records) else ""
    page.line(page.paint(shown + count(len(records), "document"), "dim"))
    return ExitCode.OK


def _draw_record(record: DocumentRecord, page: Page) -> None:
    page.line(page.paint(one_line(record.id), "bold"))
    page.wrapped(
        page.joined(
            [
                record.title,
                "" if record.status == "ok" else STATUSES[record.status],
                count(record.pages, "page") if record.pages else "",
                count(record.chunks, "chunk"),
                count(record.tokens, "token"),
                *(f"{name}={text}" for name, text in _field_texts(record)),
            ]
        ),
        "dim",
        indent="  ",
    )


def _field_texts(record: DocumentRecord) -> list[tuple[str, str]]:
    """Return the metadata of a document, and its language if detected, as names and texts."""
    language = {"language": record.language} if record.language else {}
    fields: dict[str, MetadataValue] = {**language, **record.metadata}
    return [
        (name, ", ".join(_value_text(item) for item in items_of(value)))
        for name, value in sorted(fields.items())
    ]


def _value_text(value: str | float | bool) -> str:
    """Return a value as a filter and `set` accept it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _ShowArguments(TypedDict):
    document_id: str
    kb: str | None
    text: bool
    sections: bool
    chunks: bool
    start: int | None
    end: int | None
    page: str | None
    as_json: bool


@click.command(
    cls=ExampleCommand,
    short_help="Show a document, its sections or its chunks.",
    examples=[
        ("show the properties and the text of a document", "spanwise show 3M_2018_10K.pdf"),
        ("show its sections and chunks", "spanwise show 3M_2018_10K.pdf --sections --chunks"),
        ("show a character range from a citation", "spanwise show msa.md --start 1200 --end 1850"),
        ("show a page by its printed number", "spanwise show 3M.pdf --page F-12"),
        ("write its text to a file", "spanwise show 3M_2018_10K.pdf --text > 3M.txt"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument(
    "document_id", metavar="ID", type=as_document_id, shell_complete=complete_document_ids
)
@knowledge_base_option
@click.option("--text", is_flag=True, help="Write only the text.")
@click.option("--sections", is_flag=True, help="List the sections instead of showing the text.")
@click.option("--chunks", is_flag=True, help="List the chunks instead of showing the text.")
@click.option(
    "--start",
    metavar="N",
    type=click.IntRange(min=0),
    help="First character to show, counted from 0.",
)
@click.option(
    "--end",
    metavar="N",
    type=click.IntRange(min=0),
    help="End of the range (exclusive): position of the first character that is not shown.",
)
@click.option(
    "--page", metavar="PAGE", help="Page to show: its number from 1, or its printed label."
)
@pager_option
@json_option
def show(**arguments: Unpack[_ShowArguments]) -> ExitCode:
    """Show a document: its properties and text, its sections, its chunks, or a part of its text.

    With --json, write the whole document: text, pages, headings, metadata and properties.
    """
    is_text_only = _is_text_only(arguments)
    from spanwise.knowledge_base import KnowledgeBase

    document_id = arguments["document_id"]
    with KnowledgeBase(knowledge_base_path(arguments["kb"]), create=False) as knowledge_base:
        document = knowledge_base.get(document_id)
        if is_text_only:
            start, end = _text_range(document, arguments)
            citation = knowledge_base.cite(document_id, start, end) if start < end else None
            return _show_text(document, start, end, citation, as_json=arguments["as_json"])
        record = knowledge_base.record(document_id)
        sections = knowledge_base.sections(document_id) if arguments["sections"] else None
        chunks = knowledge_base.chunks(document_id) if arguments["chunks"] else None
    if arguments["as_json"]:
        parts = {"record": record, "document": document, "sections": sections, "chunks": chunks}
        write_json({name: part for name, part in parts.items() if part is not None}, sys.stdout)
        return ExitCode.OK
    page = Page()
    _draw_facts(document, record, page)
    if sections is not None:
        _draw_sections(sections, page)
    if chunks is not None:
        _draw_chunks(chunks, page)
    if sections is None and chunks is None:
        page.line()
        page.body(document.text)
    return ExitCode.OK


def _is_text_only(arguments: _ShowArguments) -> bool:
    """Return whether only text is requested.

    Raises:
        UsageError: If several options request text, or text is requested together with sections or
            chunks.
    """
    options = {
        "--text": arguments["text"],
        "--page": arguments["page"] is not None,
        "--start and --end": arguments["start"] is not None or arguments["end"] is not None,
    }
    used = [option for option, is_used in options.items() if is_used]
    if len(used) > 1:
        raise click.UsageError(f"{' and '.join(used)} exclude each other; give one of them")
    if used and (arguments["sections"] or arguments["chunks"]):
        raise click.UsageError(f"{used[0]} show text; leave out --sections and --chunks")
    return bool(used)


def _text_range(document: Document, arguments: _ShowArguments) -> tuple[int, int]:
    """Return the requested character range.

    Raises:
        UsageError: If the document has no such page or character range.
    """
    length = len(document.text)
    if arguments["page"] is not None:
        return _page_range(document, arguments["page"])
    start = arguments["start"] or 0
    end = length if arguments["end"] is None else arguments["end"]
    if not start <= end <= length:
        raise click.UsageError(
            f"the range {start}-{end} is not inside the {count(length, 'character')} of "
            f"{document.id!r}"
        )
    return start, end


def _page_range(document: Document, name: str) -> tuple[int, int]:
    """Return the character range of a page, named by its number from 1 or by its label."""
    for number, page in enumerate(document.pages, start=1):
        if name == str(number) or (not name.isdecimal() and name == page.label):
            return page.start, page.end
    if not document.pages:
        raise click.UsageError(f"{document.id!r} has no pages; show it without --page")
    raise click.UsageError(
        f"there is no page {name!r} among the {count(len(document.pages), 'page')} of "
        f"{document.id!r}"
    )


def _show_text(
    document: Document, start: int, end: int, citation: Citation | None, *, as_json: bool
) -> ExitCode:
    """Write a character range of a document; `citation` is None for an empty range."""
    text = document.text[start:end]
    if as_json:
        fields = {"document_id": document.id, "start": start, "end": end, "text": text}
        write_json({**fields, "citation": citation}, sys.stdout)
    else:
        write_text(text if text.endswith("\n") else f"{text}\n", sys.stdout)
    return ExitCode.OK


def _draw_facts(document: Document, record: DocumentRecord, page: Page) -> None:
    page.facts(
        [
            ("document", document.id),
            ("title", record.title),
            *([("summary", record.summary)] if record.summary else []),
            *([("source", document.source)] if document.source else []),
            ("kind", document.media_type),
            ("version", record.version),
            *([("status", STATUSES[record.status])] if record.status != "ok" else []),
            ("length", count(len(document.text), "character")),
            *([("pages", f"{len(document.pages):,}")] if document.pages else []),
            *_field_texts(record),
            *(("warning", warning) for warning in document.warnings),
        ]
    )


def _draw_sections(sections: Sequence[Section], page: Page) -> None:
    page.line()
    for section in sections:
        place = f"{section.start}-{section.end}".rjust(15)
        page.line(f"{page.paint(place, 'dim')}  {one_line(' > '.join(section.path))}")
        if section.summary:
            page.wrapped(section.summary, "dim", indent=" " * 17)


def _draw_chunks(chunks: Sequence[Chunk], page: Page) -> None:
    for chunk in chunks:
        page.line()
        label = page.joined(
            [
                f"chunk {chunk.index}",
                f"characters {chunk.start}-{chunk.end}",
                f"section {chunk.section}",
                count(chunk.tokens, "token"),
            ]
        )
        page.line(page.paint(label, "dim"))
        page.body(chunk.text)


@click.command(
    cls=ExampleCommand,
    short_help="Remove documents.",
    examples=[
        ("remove one document", "spanwise remove old/report.pdf"),
        (
            "remove several documents",
            "spanwise remove old/a.pdf old/b.pdf",
        ),
        ("remove all documents of an archive", "spanwise remove reports.zip"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
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
    """Remove documents from a knowledge base. Source files are not deleted.

    The id of an archive, mailbox or e-mail removes all documents inside it.
    """
    from spanwise.ingest.sources import containers_of
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        removed = knowledge_base.remove(*document_ids)
    matched = {name for removed_id in removed for name in (removed_id, *containers_of(removed_id))}
    not_found = [name for name in dict.fromkeys(document_ids) if name not in matched]
    if as_json:
        write_json({"removed": removed, "not_found": not_found}, sys.stdout)
    else:
        page = Page()
        page.line(f"{count(len(removed), 'document')} removed")
        errors = Page(sys.stderr)
        for document_id in not_found:
            errors.message("not found: ", document_id, "red")
    return ExitCode.NOTHING_FOUND if not_found else ExitCode.OK


_STANDARD_OUTPUT = "-"


class _PageArguments(TypedDict):
    document_id: str
    number: int
    kb: str | None
    output: str
    dots_per_inch: int
    highlight: tuple[int, int] | str | None
    allow_private: bool
    as_json: bool


_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def _as_highlight(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, int] | str | None:
    """Return a range of characters ("1200-1450"), or the words to highlight."""
    match = _RANGE.fullmatch(value or "")
    return (int(match[1]), int(match[2])) if match else value


@click.command(
    cls=ExampleCommand,
    short_help="Render a PDF page as an image.",
    examples=[
        ("render page 60", "spanwise page 3M_2018_10K.pdf 60 -o page.png"),
        (
            "render at a higher resolution",
            "spanwise page 3M_2018_10K.pdf 60 --dots-per-inch 300 -o page.png",
        ),
        (
            "highlight the characters of a citation",
            "spanwise page 3M_2018_10K.pdf 60 --highlight 245119-246020 -o page.png",
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
    "--highlight",
    metavar="RANGE",
    callback=_as_highlight,
    help="Range of characters to highlight, as in a citation (1200-1450), or words of the page.",
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
            arguments["document_id"],
            arguments["number"],
            dots_per_inch=arguments["dots_per_inch"],
            highlight=arguments["highlight"],
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
@knowledge_bases_option()
@pager_option
@json_option
def locate(*, file: BinaryIO, kb: tuple[str, ...], as_json: bool) -> ExitCode:
    """Check whether each cited text is unchanged and still at its cited position.

    FILE is a JSON file (- for standard input) with a citation, a segment, a list of them, or the
    --json output of `search` or `excerpts`. The status of a citation is "current" (the text is
    unchanged), "moved" (the same text is at another position), "changed" (the text was edited or
    deleted; the most similar passage is shown) or "removed" (the document was removed). For the
    result of a search of several knowledge bases, name the same ones by --kb.
    """
    from spanwise.answers.citation_lookup import citation_of, given_citations

    citations = given_citations(_read_json(file))
    if len(kb) < 2:
        _check_origin([citation_of(citation).knowledge_base for citation in citations], *kb)
    with open_knowledge_bases(kb) as knowledge_base:
        located = [knowledge_base.locate(citation) for citation in citations]
    if as_json:
        write_json({"citations": located}, sys.stdout)
    else:
        page = Page()
        for location in located:
            _draw_location(location, page)
        page.line(page.paint(count(len(located), "citation"), "dim"))
    is_lost = any(location.status in ("changed", "removed") for location in located)
    return ExitCode.NOTHING_FOUND if is_lost else ExitCode.OK


def _check_origin(names: Sequence[str], folder: str | None = None) -> None:
    """Check that citations are from one knowledge base.

    Args:
        names: Name of the knowledge base in each citation; empty if only one was searched.
        folder: Value of `--kb`; None for the knowledge base of the settings.

    Raises:
        UsageError: If a citation names another knowledge base.
    """
    path = knowledge_base_path(folder)
    others = sorted({*names} - {"", path.name, str(path)})
    if others:
        raise click.UsageError(
            f"the citations are from several knowledge bases ({', '.join(others)}); name each one "
            "with --kb"
        )


def _read_json(file: BinaryIO) -> object:
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


def _draw_location(located: CitationLocation, page: Page) -> None:
    status = page.paint(located.status.ljust(8), "bold", _COLOURS[located.status])
    page.line(f"{status} {one_line(str(located.cited))}")
    page.wrapped(located.message, "dim", indent="  ")
    if located.status == "changed" and located.text:
        page.line()
        page.body(located.text)
    page.line()

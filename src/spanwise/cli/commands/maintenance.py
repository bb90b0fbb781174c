"""Maintenance of a knowledge base: `spanwise info`, `doctor`, `compact` and `backup`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import STATUSES, Page, count, duration, size
from spanwise.cli.output import write_json
from spanwise.cli.progress import copy_bar
from spanwise.config import knowledge_base_path, setting

if TYPE_CHECKING:
    from spanwise.types import CheckReport


_MIN_RECLAIMABLE_BYTES = 100_000

_LABELS = {
    "chunks": "chunk options",
    "copy_of": "copy of",
    "embedder_version": "embedder version",
    "reference_terms": "terms per chunk",
    "revision": "rebuilds",
    "sections": "section options",
}


@click.command(
    cls=ExampleCommand,
    short_help="Show the contents of a knowledge base.",
    examples=[
        ("show the default knowledge base", "spanwise info"),
        ("show another one as JSON", "spanwise info --kb legal.kb --json"),
    ],
)
@knowledge_base_option
@json_option
def info(*, kb: str | None, as_json: bool) -> ExitCode:
    """Show the contents of a knowledge base, its options, and the fields for filters."""
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.stores.copy_origin import COPY_OF, unfinished_copy

    tuning = str(setting("search.tuning")) or None
    with KnowledgeBase(knowledge_base_path(kb), create=False, tuning=tuning) as knowledge_base:
        summary = knowledge_base.info()
    if as_json:
        write_json(summary, sys.stdout)
        return ExitCode.OK
    page = Page()
    if warning := unfinished_copy(summary.settings):
        page.message("warning: ", warning, "yellow")
    page.facts(
        [
            ("knowledge base", summary.path),
            ("documents", f"{summary.documents:,}"),
            *([(STATUSES["partial"], f"{summary.partial:,}")] if summary.partial else []),
            *([(STATUSES["needs_ocr"], f"{summary.needs_ocr:,}")] if summary.needs_ocr else []),
            ("chunks", f"{summary.chunks:,}"),
            ("characters", f"{summary.chars:,}"),
            ("tokens", f"{summary.tokens:,}"),
            *([("on disk", size(summary.bytes_on_disk))] if summary.bytes_on_disk else []),
            *(
                [("reclaimable", f"{size(summary.reclaimable_bytes)} by `spanwise compact`")]
                * (summary.reclaimable_bytes >= _MIN_RECLAIMABLE_BYTES)
            ),
            *([("conversations", f"{summary.threads:,}")] if summary.threads else []),
            *(
                [("cached model outputs", f"{summary.outputs:,}, {size(summary.output_bytes)}")]
                * bool(summary.outputs)
            ),
            *(
                (f"field {name}", ", ".join(kinds))
                for name, kinds in sorted(summary.fields.items())
            ),
            *sorted(
                (_LABELS.get(name, name), _plain(value))
                for name, value in summary.settings.items()
                if value or name != COPY_OF
            ),
        ]
    )
    return ExitCode.OK


def _plain(setting: str) -> str:
    """Return a stored setting as text; a JSON object becomes a list of names and values."""
    if not setting.startswith("{"):
        return setting
    return ", ".join(f"{name} {value}" for name, value in json.loads(setting).items())


_REPAIRABLE = ("manifest", "part", "orphans", "outputs")


@click.command(
    cls=ExampleCommand,
    short_help="Check a knowledge base for damage.",
    examples=[
        ("check a knowledge base", "spanwise doctor"),
        ("rebuild damaged parts of the index", "spanwise doctor --repair"),
        ("check a backup and write JSON", "spanwise doctor --kb copy.kb --json"),
        ("delete cached model outputs", "spanwise doctor --forget-outputs"),
    ],
    exit_codes={ExitCode.ERROR: "the knowledge base is damaged, or another error"},
)
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild damaged parts of the index. Documents are never changed; for a damaged document, "
    "the report says what to do.",
)
@click.option(
    "--forget-outputs",
    is_flag=True,
    help="Delete cached model outputs. Later requests call the model again, at its price. "
    "Documents and conversations are not deleted.",
)
@knowledge_base_option
@json_option
def doctor(*, repair: bool, forget_outputs: bool, kb: str | None, as_json: bool) -> ExitCode:
    """Check all stored data against its checksums, and the index against the documents.

    Other processes can search and write during the check. The exit code is 0 if there is no damage
    or if all damage was repaired.
    """
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.parsers.process.landlock import landlock_version

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        forgotten = knowledge_base.forget_outputs() if forget_outputs else None
        report = knowledge_base.check(repair=repair)
    if as_json:
        extra = {} if forgotten is None else {"forgotten_outputs": forgotten}
        extra["parser_landlock"] = landlock_version()
        write_json({"sound": report.sound, "report": report, **extra}, sys.stdout)
    else:
        page = Page()
        if forgotten is not None:
            page.line(f"{count(forgotten, 'cached model output')} deleted")
        draw_check(report, page)
    return ExitCode.OK if report.sound else ExitCode.ERROR


def _parser_rights() -> str:
    """Return the restrictions of the parser process on this system."""
    from spanwise.parsers.process.landlock import landlock_version

    version = landlock_version()
    if not version:
        return "not restricted: Landlock is not available, the process has your permissions"
    tcp = ", no TCP connections" if version >= 4 else ""
    return f"restricted by Landlock {version}: writes only temporary files{tcp}"


def draw_check(report: CheckReport, page: Page) -> None:
    """Write a summary of the check, each finding, and the verdict."""
    page.facts(
        [
            ("knowledge base", report.path),
            ("documents", f"{report.documents:,} with {count(report.chunks, 'chunk')}"),
            (
                "index",
                f"{count(report.index_parts, 'part')}, {count(report.index_chunks, 'chunk')} "
                f"compared, {report.pending_chunks:,} not written yet",
            ),
            ("time", duration(report.seconds)),
            ("parser", _parser_rights()),
        ]
    )
    for finding in report.findings:
        page.line()
        label, style = ("repaired", "green") if finding.repaired else (finding.code, "red")
        page.message(f"{label}: ", finding.message, style)
    page.line()
    unsound = [finding for finding in report.findings if not finding.repaired]
    if not unsound:
        page.line(page.paint("sound", "green", "bold"))
        return
    page.line(page.paint(f"not sound: {count(len(unsound), 'finding')}", "red", "bold"))
    if any(finding.code in _REPAIRABLE for finding in unsound):
        page.line("`spanwise doctor --repair` rebuilds the index and deletes orphaned data")


@click.command(
    cls=ExampleCommand,
    short_help="Copy a knowledge base while it is in use.",
    examples=[
        ("copy the knowledge base", "spanwise backup copy.kb"),
        ("check the copy", "spanwise doctor --kb copy.kb"),
    ],
    exit_codes=(
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("copy", metavar="FOLDER", type=click.Path(readable=False))
@knowledge_base_option
@json_option
def backup(*, copy: str, kb: str | None, as_json: bool) -> ExitCode:
    """Copy a knowledge base to a new folder. Other processes can search and write meanwhile.

    The copy is a consistent snapshot. It appears under its name only when it is complete and
    written to disk. After an error or an interruption, the partial copy is deleted.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with (
        KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base,
        copy_bar() as on_progress,
    ):
        report = knowledge_base.backup(copy, on_progress=on_progress)
    if as_json:
        write_json(report, sys.stdout)
        return ExitCode.OK
    page = Page()
    page.wrapped(
        f"backup {report.path}: {size(report.bytes_on_disk)} in {duration(report.seconds)}"
    )
    return ExitCode.OK


@click.command(
    cls=ExampleCommand,
    short_help="Return the space of removed documents to the disk.",
    examples=[
        ("compact the default knowledge base", "spanwise compact"),
        ("compact another one and write JSON", "spanwise compact --kb legal.kb --json"),
    ],
)
@knowledge_base_option
@json_option
def compact(*, kb: str | None, as_json: bool) -> ExitCode:
    """Compact the index of a knowledge base, and return free space to the disk.

    Other processes can search and write meanwhile. After large removals, most of the space is
    returned without this command. `spanwise info` shows how much can be returned.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        report = knowledge_base.compact()
    if as_json:
        write_json(report, sys.stdout)
        return ExitCode.OK
    sizes = f"{size(report.bytes_after)}, {size(report.bytes_before)} before, "
    is_folder = bool(report.bytes_after)
    Page().wrapped(
        f"{report.path}: {sizes if is_folder else 'compacted '}in {duration(report.seconds)}"
    )
    return ExitCode.OK

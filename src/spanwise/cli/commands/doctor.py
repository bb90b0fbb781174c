"""`spanwise doctor`: check a knowledge base and repair its index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, duration
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.types import CheckReport


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
    help="Delete cached model outputs. Later requests call, and pay for, the model again. "
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

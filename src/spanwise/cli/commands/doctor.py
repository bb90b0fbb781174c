"""`spanwise doctor`: check a knowledge base and repair what is derived."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, duration
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.types import CheckReport


_REPAIRABLE = ("manifest", "part", "orphans", "outputs")


@click.command(
    cls=TeachingCommand,
    short_help="Check a knowledge base for damage.",
    examples=[
        ("is everything as it was stored?", "spanwise doctor"),
        ("make the index anew where it is damaged", "spanwise doctor --repair"),
        ("a backup, for a program", "spanwise doctor --kb copy.kb --json"),
        ("forget what models answered", "spanwise doctor --forget-outputs"),
    ],
)
@click.option(
    "--repair",
    is_flag=True,
    help="Make anew what is derived. Documents are never changed: what to do is said.",
)
@click.option(
    "--forget-outputs",
    is_flag=True,
    help="Delete the kept outputs of models: the same is asked for, and paid for, again. "
    "Documents and conversations stay.",
)
@knowledge_base_option
@json_option
def doctor(*, repair: bool, forget_outputs: bool, kb: str | None, as_json: bool) -> ExitCode:
    """Check everything that is stored against its checksums, and the index against the documents.

    Others may search and write meanwhile. It ends with code 0 if all is sound, or is again after
    a repair.
    """
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.parsers.process.landlock import landlock_version

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        forgotten = knowledge_base.forget_outputs() if forget_outputs else None
        report = knowledge_base.check(repair=repair)
    if as_json:
        said = {} if forgotten is None else {"forgotten_outputs": forgotten}
        said["parser_landlock"] = landlock_version()
        write_json({"sound": report.sound, "report": report, **said}, sys.stdout)
    else:
        page = Page()
        if forgotten is not None:
            page.line(f"{count(forgotten, 'kept output')} forgotten")
        draw_check(report, page)
    return ExitCode.OK if report.sound else ExitCode.ERROR


def _parser_rights() -> str:
    """Return what the parser's process gives up on this system."""
    from spanwise.parsers.process.landlock import landlock_version

    version = landlock_version()
    if not version:
        return "no Landlock here: its process has your rights"
    tcp = ", and connects to nothing by TCP" if version >= 4 else ""
    return f"Landlock {version}: its process writes temporary files alone{tcp}"


def draw_check(report: CheckReport, page: Page) -> None:
    """Write what was checked, each finding, and the verdict."""
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
        page.line("spanwise doctor --repair makes the index anew and deletes what has no owner")

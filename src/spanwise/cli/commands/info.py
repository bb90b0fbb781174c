"""`spanwise info`: show the contents and options of a knowledge base."""

from __future__ import annotations

import json
import sys

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import STATUSES, Page, size
from spanwise.config import knowledge_base_path, setting

_LABELS = {
    "chunks": "chunk options",
    "embedder_version": "embedder version",
    "reference_terms": "reference terms",
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

    tuning = str(setting("search.tuning")) or None
    with KnowledgeBase(knowledge_base_path(kb), create=False, tuning=tuning) as knowledge_base:
        summary = knowledge_base.info()
    if as_json:
        write_json(summary, sys.stdout)
        return ExitCode.OK
    Page().facts(
        [
            ("knowledge base", summary.path),
            ("documents", f"{summary.documents:,}"),
            *([(STATUSES["partial"], f"{summary.partial:,}")] if summary.partial else []),
            *([(STATUSES["needs_ocr"], f"{summary.needs_ocr:,}")] if summary.needs_ocr else []),
            ("chunks", f"{summary.chunks:,}"),
            ("characters", f"{summary.chars:,}"),
            ("tokens", f"{summary.tokens:,}"),
            ("on disk", size(summary.bytes_on_disk)),
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
                (_LABELS.get(name, name), _plain(value)) for name, value in summary.settings.items()
            ),
        ]
    )
    return ExitCode.OK


def _plain(setting: str) -> str:
    """Return a stored setting as text: JSON options as names and values."""
    if not setting.startswith("{"):
        return setting
    return ", ".join(f"{name} {value}" for name, value in json.loads(setting).items())

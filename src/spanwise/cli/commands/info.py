"""`spanwise info`: what a knowledge base holds and how it was made."""

from __future__ import annotations

import json
import sys

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import STATUSES, Page, size
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import knowledge_base_path, setting

_LABELS = {
    "chunks": "chunk options",
    "embedder_version": "embedder version",
    "reference_terms": "reference terms",
    "sections": "section options",
}


@click.command(
    cls=TeachingCommand,
    short_help="Say what a knowledge base holds.",
    examples=[
        ("the knowledge base of this folder", "spanwise info"),
        ("another one, for a program", "spanwise info --kb legal.kb --json"),
    ],
)
@knowledge_base_option
@json_option
def info(*, kb: str | None, as_json: bool) -> ExitCode:
    """Say what a knowledge base holds, how it was made, and which fields filters can name."""
    from spanwise.knowledge_base import KnowledgeBase

    tuning = str(setting("search.tuning")) or None
    with KnowledgeBase(knowledge_base_path(kb), create=False, tuning=tuning) as knowledge_base:
        said = knowledge_base.info()
    if as_json:
        write_json(said, sys.stdout)
        return ExitCode.OK
    Page().facts(
        [
            ("knowledge base", said.path),
            ("documents", f"{said.documents:,}"),
            *([(STATUSES["partial"], f"{said.partial:,}")] if said.partial else []),
            *([(STATUSES["needs_ocr"], f"{said.needs_ocr:,}")] if said.needs_ocr else []),
            ("chunks", f"{said.chunks:,}"),
            ("characters", f"{said.chars:,}"),
            ("tokens", f"{said.tokens:,}"),
            ("on disk", size(said.bytes_on_disk)),
            *([("conversations", f"{said.threads:,}")] if said.threads else []),
            *(
                [("kept outputs", f"{said.outputs:,}, {size(said.output_bytes)}")]
                * bool(said.outputs)
            ),
            *((f"field {name}", ", ".join(kinds)) for name, kinds in sorted(said.fields.items())),
            *sorted(
                (_LABELS.get(name, name), _plain(value)) for name, value in said.settings.items()
            ),
        ]
    )
    return ExitCode.OK


def _plain(setting: str) -> str:
    """Return a recorded setting for people: options as names and values."""
    if not setting.startswith("{"):
        return setting
    return ", ".join(f"{name} {value}" for name, value in json.loads(setting).items())

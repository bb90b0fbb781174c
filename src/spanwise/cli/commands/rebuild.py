"""`spanwise rebuild`: rebuild a knowledge base with other settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, max_cost_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode, Interrupted, Terminated
from spanwise.cli.layout import Page, count, duration, size, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar
from spanwise.config import knowledge_base_path, model_options
from spanwise.options import ChunkOptions, SectionOptions

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import RebuildReport

_Options = TypeVar("_Options", ChunkOptions, SectionOptions)


class _Arguments(TypedDict):
    embedder: str
    tokenizer: str | None
    chunks: str
    sections: str
    tuning: str | None
    max_cost: float | None
    dry_run: bool
    discard: bool
    kb: str | None
    as_json: bool


@click.command(
    cls=ExampleCommand,
    short_help="Change the embedder, chunks or sections.",
    examples=[
        (
            "embed all documents with another model",
            "spanwise rebuild --embedder minilm",
        ),
        (
            "estimate the cost of a remote embedder",
            "spanwise rebuild --embedder openai:text-embedding-3-small --dry-run",
        ),
        (
            "change the lengths of chunks and sections",
            "spanwise rebuild --chunks target=600,max=700 --sections max_chars=6000",
        ),
    ],
    exit_codes=(ExitCode.INTERRUPTED, ExitCode.TERMINATED),
)
@click.option(
    "--embedder",
    metavar="NAME",
    default="auto",
    help='Embedder; "none" for keyword search only. Default: the current one.',
)
@click.option("--tokenizer", metavar="NAME", help="Tokenizer. Default: the current one.")
@click.option(
    "--chunks",
    metavar="OPTIONS",
    default="",
    help="Chunk options, such as target=600,max=700; or only a target length, to which the other "
    "lengths are scaled. Options that are not named stay.",
)
@click.option(
    "--sections",
    metavar="OPTIONS",
    default="",
    help="Section options, such as min_chars=300,max_chars=6000. Options that are not named stay.",
)
@click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Tuning file written by `spanwise tune`; its chunk options are used.",
)
@max_cost_option(
    "Maximum total cost of embedder calls in US dollars. Run the command again to continue after "
    "it was reached. Default: the setting llm.max_cost."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Count the chunks and estimate the calls and cost of a remote embedder; change nothing.",
)
@click.option("--discard", is_flag=True, help="Delete the state of an interrupted rebuild.")
@knowledge_base_option
@json_option
def rebuild(**arguments: Unpack[_Arguments]) -> ExitCode:
    """Rebuild a knowledge base from its stored documents, with another embedder or other options.

    No file is read again. Metadata, titles, packs, conversations and parts made by a language model
    are kept. Searches continue with the current state until the new one is complete; then all
    processes use the new state at once. An interrupted command can be run again and continues.
    """
    from spanwise.knowledge_base import KnowledgeBase

    path = knowledge_base_path(arguments["kb"])
    models = model_options(max_cost=arguments["max_cost"])
    with KnowledgeBase(path, create=False, models=models) as knowledge_base:
        if arguments["discard"]:
            return _discard(knowledge_base, as_json=arguments["as_json"])
        chunks, sections = _new_options(knowledge_base, arguments)
        with (
            _interruptible(path),
            step_bar(quiet=arguments["as_json"]) as draw,
        ):
            report = knowledge_base.rebuild(
                embedder=None if arguments["embedder"] == "none" else arguments["embedder"],
                tokenizer=arguments["tokenizer"],
                chunks=chunks,
                sections=sections,
                dry_run=arguments["dry_run"],
                on_progress=lambda done, total: draw("characters", done, total),
            )
    if arguments["as_json"]:
        write_json(report, sys.stdout)
    else:
        _draw(report, is_dry_run=arguments["dry_run"])
    return ExitCode.OK


def _discard(knowledge_base: KnowledgeBase, *, as_json: bool) -> ExitCode:
    is_discarded = knowledge_base.discard_rebuild()
    if as_json:
        write_json({"discarded": is_discarded}, sys.stdout)
    else:
        Page().line("discarded" if is_discarded else "there is no unfinished rebuild")
    return ExitCode.OK


@contextmanager
def _interruptible(path: Location) -> Iterator[None]:
    """Run the block; after Ctrl-C or SIGTERM, raise an error that explains how to continue.

    Raises:
        Interrupted: After Ctrl-C, with a message.
        Terminated: After SIGTERM, with a message.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated) as ending:
        kind: type[Interrupted | Terminated] = (
            Terminated if isinstance(ending, Terminated) else Interrupted
        )
        raise kind(
            f"the rebuild of {path} is not complete, and searches use the current state; run the "
            "same command again to continue, or `spanwise rebuild --discard`"
        ) from ending


def _new_options(
    knowledge_base: KnowledgeBase, arguments: _Arguments
) -> tuple[ChunkOptions | None, SectionOptions | None]:
    """Return the changed chunk and section options; None for unchanged ones."""
    from spanwise.knowledge_base.internals import settings_of

    present = settings_of(knowledge_base)
    chunks = None
    if arguments["tuning"]:
        from spanwise.search.tuned_options import read_tuning

        chunks = read_tuning(arguments["tuning"]).chunks
    if arguments["chunks"].isdecimal():
        chunks = _scaled(chunks or present.chunks, int(arguments["chunks"]))
    elif arguments["chunks"]:
        chunks = _changed(chunks or present.chunks, arguments["chunks"], name="--chunks")
    sections = None
    if arguments["sections"]:
        sections = _changed(present.sections, arguments["sections"], name="--sections")
    return chunks, sections


def _scaled(options: ChunkOptions, target: int) -> ChunkOptions:
    """Return chunk options with another target, and the other lengths in proportion."""

    def length(value: int) -> int:
        return max(1, round(value * target / options.target))

    return replace(
        options,
        target=target,
        max=length(options.max),
        paragraph_min=min(target, length(options.paragraph_min)),
        block_max=length(options.block_max),
    )


def _changed(options: _Options, text: str, *, name: str) -> _Options:
    """Return options with the fields of a text such as "target=600,max=700".

    Raises:
        BadParameter: If a field is unknown or its value is not a whole number.
    """
    known = asdict(options)
    changes: dict[str, Any] = {}
    for pair in text.split(","):
        field, separator, value = (part.strip() for part in pair.partition("="))
        is_number = isinstance(known.get(field), int)
        if not separator or field not in known or (is_number and not value.isdecimal()):
            raise click.BadParameter(
                f"{pair.strip()!r} is not an option; write NAME=NUMBER with one of "
                f"{', '.join(known)}",
                param_hint=name,
            )
        changes[field] = int(value) if is_number else value
    return replace(options, **changes)


def _draw(report: RebuildReport, *, is_dry_run: bool) -> None:
    """Write the summary of a rebuild, or of its dry run."""
    page = Page()
    amounts = f"{count(report.documents, 'document')}, {count(report.chunks, 'chunk')}"
    if is_dry_run:
        page.line(f"{report.path} (dry run): {amounts}")
    else:
        page.wrapped(f"rebuilt {report.path}: {amounts} in {duration(report.seconds)}")
        if report.bytes_after:  # of a folder
            page.line(f"{size(report.bytes_after)} on disk, {size(report.bytes_before)} before")
    if report.continued:
        page.line(f"{count(report.continued, 'document')} prepared by an interrupted run")
    if report.kept_sections:
        kept = count(len(report.kept_sections), "document")
        page.wrapped(f"sections of {kept} kept: a language model or the caller made them")
    used = page.joined(usage_words(report.usage, at_most=is_dry_run))
    if used:
        page.wrapped(used)
    if is_dry_run and not used:
        page.line("no remote model is called")

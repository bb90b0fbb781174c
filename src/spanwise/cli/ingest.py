"""Options, progress bar and report shared by `add` and `sync`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, get_args

import click

from spanwise.cli.failures import Interrupted, Terminated
from spanwise.cli.layout import STATUSES, Page, count, duration
from spanwise.cli.progress import IngestBar
from spanwise.cli.usage import usage_words
from spanwise.types import Durability

if TYPE_CHECKING:
    from spanwise.types import IngestReport


_Command = TypeVar("_Command", bound=Callable[..., Any])
_ENDED = frozenset({"cost_limit", "not_begun"})  # codes of documents left out by an early end
_MAX_SIMILAR = 3  # warnings with the same reason that are shown in full
_IN_MEMORY = ":memory:"


def ingest_options(command: _Command) -> _Command:
    """Add the options of every ingest: file patterns, metadata, parsing and durability."""
    options = (
        click.option(
            "--include",
            multiple=True,
            metavar="PATTERN",
            help="Glob pattern of the files to read from folders and archives. Repeatable. "
            "Default: "
            "all files.",
        ),
        click.option(
            "--exclude",
            multiple=True,
            metavar="PATTERN",
            help="Glob pattern of the files to skip in folders and archives. Repeatable.",
        ),
        click.option(
            "--replace",
            is_flag=True,
            help="Replace documents that have the same id but came from another folder, "
            "file or URL.",
        ),
        click.option(
            "--metadata",
            multiple=True,
            metavar="NAME=VALUE",
            help="Metadata field of every document, for filters. Repeatable. Replaces all earlier "
            "metadata; without this option, earlier metadata is kept. Numbers, true and false "
            "are stored as such.",
        ),
        click.option(
            "--timeout",
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            default=3600,
            show_default=True,
            help="Time limit for reading one file, in seconds. A file that takes longer fails; the "
            "others are added.",
        ),
        click.option(
            "--parser",
            metavar="NAME",
            default="spanwise",
            show_default=True,
            help="Document parser: spanwise, or another installed parser such as docling.",
        ),
        click.option(
            "--ocr",
            metavar="ENGINE",
            default="auto",
            show_default=True,
            help="OCR engine for scanned pages: rapidocr, tesseract (with languages: "
            "tesseract:deu+eng), auto (the first one installed) or off.",
        ),
        click.option(
            "--durability",
            type=click.Choice(get_args(Durability)),
            default="full",
            show_default=True,
            help="full: a document survives a power failure once it is reported. fast: the "
            "operating system writes it to disk within seconds.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def ingest_target(
    path: Path,
    *,
    sources: Sequence[str | BinaryIO],
    include: Sequence[str],
    exclude: Sequence[str],
    document_id: str | None = None,
) -> str | Path:
    """Return the knowledge base folder, or ":memory:" where nothing would be stored.

    A mistyped path therefore creates no knowledge base, and missing sources are still reported.

    Args:
        path: Knowledge base folder.
        sources: Files, folders, URLs and streams from the command line; empty for a dry run.
        include: Glob patterns of the files to read from folders.
        exclude: Glob patterns of the files to skip.
        document_id: Document id of the stream.
    """
    if path.exists():
        return path
    from spanwise.ingest import find_sources
    from spanwise.ingest.sources import Source

    results = find_sources(sources, include=include, exclude=exclude, document_id=document_id)
    return path if any(isinstance(source, Source) for source in results) else _IN_MEMORY


@contextmanager
def interruptible_bar(path: Path, *, quiet: bool) -> Iterator[IngestBar]:
    """Open a progress bar; after Ctrl-C or SIGTERM, report how many documents are stored.

    Raises:
        Interrupted: In place of KeyboardInterrupt, with a message.
        Terminated: In place of a Terminated without a message.
    """
    with IngestBar(quiet=quiet) as bar:
        try:
            yield bar
        except (KeyboardInterrupt, Terminated) as ending:
            kind: type[Interrupted | Terminated] = Interrupted
            reason = "interrupted"
            if isinstance(ending, Terminated):
                kind = Terminated
                reason = "ended by SIGTERM"
            raise kind(
                f"{reason}: {count(bar.stored, 'document')} of this run "
                f"{'is' if bar.stored == 1 else 'are'} stored in {path}; run the same command "
                "again to "
                "continue"
            ) from ending


def draw_failures(report: IngestReport) -> None:
    """Write failures and warnings to standard error; documents left out share one line."""
    errors = Page(sys.stderr)
    ended = [failure for failure in report.failed if failure.code in _ENDED]
    for failure in report.failed:
        if failure in ended[1:]:
            continue
        errors.message(f"failed ({failure.code}): ", failure.message, "red")
    if len(ended) > 1:
        summary = f"{count(len(ended) - 1, 'more document')} not added for the same reason"
        errors.message(f"failed ({ended[0].code}): ", summary, "red")
    for warning in _grouped(report.warnings):
        errors.message("warning: ", warning, "yellow")


def _grouped(warnings: Sequence[str]) -> Iterator[str]:
    """Yield the warnings; of many with the same reason a few, then the sources of the others.

    The warning of a failed model call has the form "source: consequence: reason".
    """
    groups: dict[str, list[str]] = {}
    for position, warning in enumerate(warnings):
        reason = warning.partition(": ")[2].partition(": ")[2]
        groups.setdefault(reason or str(position), []).append(warning)
    for group in groups.values():
        shown = len(group) if len(group) <= _MAX_SIMILAR + 1 else _MAX_SIMILAR
        yield from group[:shown]
        if shown < len(group):
            sources = dict.fromkeys(warning.partition(": ")[0] for warning in group[shown:])
            yield f"{len(group) - shown:,} more for the same reason: {', '.join(sources)}"


def draw_report(
    report: IngestReport, *, path: Path, empty_message: str, is_dry_run: bool = False
) -> None:
    """Write the summary to standard output.

    Args:
        report: Report of the ingest.
        path: Knowledge base folder.
        empty_message: Text shown if there was no document.
        is_dry_run: Whether the report is an estimate and nothing was changed.
    """
    page = Page()
    label = f"{path} (dry run)" if is_dry_run else str(path)
    outcomes = [
        f"{len(documents):,} {outcome}"
        for outcome, documents in (
            ("added", report.added),
            ("replaced", report.replaced),
            ("removed", report.removed),
            ("unchanged", report.unchanged),
            ("failed", report.failed),
        )
        if documents
    ]
    page.line(f"{label}: {', '.join(outcomes) or empty_message}")
    if report.chunks:
        # Below one second, process start dominates and a rate would mislead. Below one chunk per
        # second, the seconds alone are clearer.
        has_rate = 1 <= report.seconds <= report.chunks
        rate = f" ({report.chunks / report.seconds:,.0f} chunks/s)" if has_rate else ""
        page.line(
            f"{count(report.chunks, 'chunk')} of {count(report.chars, 'character')} "
            f"in {duration(report.seconds)}{rate}"
        )
    if report.kept_vectors:
        page.line(
            f"{count(report.embedded_chunks, 'chunk')} embedded, {report.kept_vectors:,} "
            "reused from "
            "chunks with the same text"
        )
    used = page.joined(usage_words(report.usage, at_most=is_dry_run))
    if used:
        page.wrapped(used)
    for status, documents in (("partial", report.partial), ("needs_ocr", report.needs_ocr)):
        if documents:
            page.wrapped(
                f"{STATUSES[status]}: {', '.join(documents)}; see `spanwise show ID`",
                "yellow",
            )

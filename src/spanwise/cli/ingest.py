"""What `add` and `sync` share: options, the knowledge base they fill, and the report drawn."""

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
_ENDED = frozenset({"cost_limit", "not_begun"})  # codes of what a run that ended left out
_ALIKE = 3  # warnings with the same reason that are told in full
_IN_MEMORY = ":memory:"


def ingest_options(command: _Command) -> _Command:
    """Add the options of every ingest: patterns, `--replace`, `--metadata`, limits and OCR."""
    options = (
        click.option(
            "--include",
            multiple=True,
            metavar="PATTERN",
            help="Only files of folders and archives that match; repeat for more.",
        ),
        click.option(
            "--exclude",
            multiple=True,
            metavar="PATTERN",
            help="No files of folders and archives that match; repeat for more.",
        ),
        click.option(
            "--replace",
            is_flag=True,
            help="Replace documents that came from another folder, file or URL.",
        ),
        click.option(
            "--metadata",
            multiple=True,
            metavar="NAME=VALUE",
            help="Field of every document, for filters, in place of those given before; without "
            "it these stay. Numbers, true and false are read as such.",
        ),
        click.option(
            "--timeout",
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            default=3600,
            show_default=True,
            help="Most time to read one file; one that takes longer fails, and the others go in.",
        ),
        click.option(
            "--parser",
            metavar="NAME",
            default="spanwise",
            show_default=True,
            help="Who reads documents: spanwise, or another installed parser, such as docling.",
        ),
        click.option(
            "--ocr",
            metavar="ENGINE",
            default="auto",
            show_default=True,
            help="Who reads pages that are pictures of text: rapidocr, tesseract (with languages: "
            "tesseract:deu+eng), auto for the first of them that is installed, or off.",
        ),
        click.option(
            "--durability",
            type=click.Choice(get_args(Durability)),
            default="full",
            show_default=True,
            help="full: a document that is reported survives a power failure; fast: the operating "
            "system writes it within seconds.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def target(
    path: Path,
    *,
    sources: Sequence[str | BinaryIO],
    include: Sequence[str],
    exclude: Sequence[str],
    document_id: str | None = None,
) -> str | Path:
    """Return where an ingest goes: to memory where it would leave nothing but an empty folder.

    So a slip in a path makes no knowledge base, and what is missing is reported all the same.

    Args:
        path: The knowledge base.
        sources: Files, folders, URLs and streams as they were named; none where nothing is to be
            changed.
        include: Patterns of what is taken from folders.
        exclude: Patterns of what is left out.
        document_id: Id of the stream.
    """
    if path.exists():
        return path
    from spanwise.ingest import find_sources
    from spanwise.ingest.sources import Source

    found = find_sources(sources, include=include, exclude=exclude, document_id=document_id)
    return path if any(isinstance(source, Source) for source in found) else _IN_MEMORY


@contextmanager
def interruptible_bar(path: Path, *, quiet: bool) -> Iterator[IngestBar]:
    """Open a progress bar; after Ctrl-C or SIGTERM, say what stays.

    Raises:
        Interrupted: In place of KeyboardInterrupt.
        Terminated: The same one with a message.
    """
    with IngestBar(quiet=quiet) as bar:
        try:
            yield bar
        except (KeyboardInterrupt, Terminated) as ending:
            kind: type[Interrupted | Terminated] = Interrupted
            said = "interrupted"
            if isinstance(ending, Terminated):
                kind = Terminated
                said = "ended by SIGTERM"
            raise kind(
                f"{said}: {count(bar.acknowledged, 'document')} of this run "
                f"{'is' if bar.acknowledged == 1 else 'are'} in {path} and stay there; "
                "run the same command again to go on"
            ) from ending


def draw_failures(report: IngestReport) -> None:
    """Write failures and warnings on standard error; what was not begun is told in one line."""
    errors = Page(sys.stderr)
    ended = [failure for failure in report.failed if failure.code in _ENDED]
    for failure in report.failed:
        if failure in ended[1:]:
            continue
        errors.message(f"failed ({failure.code}): ", failure.message, "red")
    if len(ended) > 1:
        said = f"{count(len(ended) - 1, 'more document')} not taken in for the same reason"
        errors.message(f"failed ({ended[0].code}): ", said, "red")
    for warning in _folded(report.warnings):
        errors.message("warning: ", warning, "yellow")


def _folded(warnings: Sequence[str]) -> Iterator[str]:
    """Yield warnings; of many with the same reason a few, then whose the others are.

    A warning of a call that failed is "source: what was done without it: reason".
    """
    alike: dict[str, list[str]] = {}
    for position, warning in enumerate(warnings):
        reason = warning.partition(": ")[2].partition(": ")[2]
        alike.setdefault(reason or str(position), []).append(warning)
    for group in alike.values():
        shown = len(group) if len(group) <= _ALIKE + 1 else _ALIKE
        yield from group[:shown]
        if shown < len(group):
            sources = dict.fromkeys(one.partition(": ")[0] for one in group[shown:])
            yield f"{len(group) - shown:,} more for the same reason, of {', '.join(sources)}"


def draw_report(report: IngestReport, *, path: Path, nothing: str, foreseen: bool = False) -> None:
    """Write the summary on standard output.

    Args:
        report: What was done.
        path: The knowledge base.
        nothing: What is said where there was no document at all.
        foreseen: Whether it was not done, but would be.
    """
    page = Page()
    label = f"{path}, if it were done" if foreseen else str(path)
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
    page.line(f"{label}: {', '.join(outcomes) or nothing}")
    if report.chunks:
        # In the first second the start of the processes is most of it: a rate would mislead.
        # Less than one a second is said by the seconds.
        tells = 1 <= report.seconds <= report.chunks
        rate = f" ({report.chunks / report.seconds:,.0f} chunks/s)" if tells else ""
        page.line(
            f"{count(report.chunks, 'chunk')} of {count(report.chars, 'character')} "
            f"in {duration(report.seconds)}{rate}"
        )
    if report.kept_vectors:
        page.line(
            f"{count(report.embedded_chunks, 'chunk')} embedded, {report.kept_vectors:,} with the "
            "text of an earlier one"
        )
    used = page.joined(usage_words(report.usage, at_most=foreseen))
    if used:
        page.wrapped(used)
    for status, documents in (("partial", report.partial), ("needs_ocr", report.needs_ocr)):
        if documents:
            page.wrapped(
                f"{STATUSES[status]}: {', '.join(documents)}; `spanwise show ID` says what is "
                "missing",
                "yellow",
            )

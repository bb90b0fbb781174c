"""Options, progress bar and report shared by `add` and `sync`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict, TypeVar, get_args

import click
from click.core import ParameterSource

from spanwise.cli.arguments import llm_option, max_cost_option
from spanwise.cli.failures import Interrupted, Terminated
from spanwise.cli.layout import STATUSES, Page, count, duration, one_line, usage_words
from spanwise.cli.progress import IngestBar
from spanwise.config import context_options, model_options
from spanwise.types import Durability

if TYPE_CHECKING:
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ContextOptions, ModelOptions
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


_PARTS = "--sections, --headers, --chunk-contexts or --read-pages"


class GenerationArguments(TypedDict):
    """Values of the options for generated text."""

    llm: str
    sections: bool
    headers: bool
    chunk_contexts: bool
    read_pages: bool
    fallback: str | None
    max_cost: float | None
    batch: bool
    dry_run: bool


class GenerationKeywords(TypedDict):
    """Arguments of `KnowledgeBase.add` and `sync` for generated text."""

    llm: LanguageModel | None
    context: ContextOptions | None
    dry_run: bool


def generation_options(command: _Command) -> _Command:
    """Add the options for generated text, and `--dry-run`."""
    options: tuple[Callable[[Any], Any], ...] = (
        llm_option(purpose=f"for {_PARTS}"),
        click.option(
            "--sections",
            is_flag=True,
            help="Let the language model divide documents into sections by topic.",
        ),
        click.option(
            "--headers",
            is_flag=True,
            help="Let the language model write document titles and summaries of documents and "
            "sections.",
        ),
        click.option(
            "--chunk-contexts",
            is_flag=True,
            help="Let the language model write for each chunk a short context that places "
            "it in its "
            "document.",
        ),
        click.option(
            "--read-pages",
            is_flag=True,
            help="Let the language model transcribe PDF pages that are scanned or have tables with "
            "merged cells. Needs a model that accepts images.",
        ),
        click.option(
            "--fallback",
            metavar="MODEL",
            help="Language model to call if the first one fails. Default: the setting "
            "llm.fallback.",
        ),
        max_cost_option(
            "Maximum total cost of model calls in US dollars. Documents beyond it are reported as "
            "failed; run the command again to continue. Default: the setting llm.max_cost."
        ),
        click.option(
            "--batch",
            is_flag=True,
            help="Use the batch API of the provider: about half the price, results within hours.",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="List the changes without making them; with a language model, estimate its calls, "
            "tokens and cost without calling it.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def generation_models(arguments: GenerationArguments) -> ModelOptions:
    """Return the options of model calls."""
    return model_options(
        fallback=arguments["fallback"],
        max_cost=arguments["max_cost"],
        batch=arguments["batch"],
    )


def generation_keywords(
    arguments: GenerationArguments, *, models: ModelOptions
) -> GenerationKeywords:
    """Return the arguments of `KnowledgeBase.add` and `sync` for generated text.

    The model is checked here, before a knowledge base is created.

    Raises:
        UsageError: If a model is named without a part to generate, or a part without a model.
        OptionError: If no installed package provides the model, or it does not support an option.
        ModelKeyError: If the API key of the model is missing.
    """
    parts = {
        "sections": arguments["sections"],
        "headers": arguments["headers"],
        "chunk_contexts": arguments["chunk_contexts"],
        "read_pages": arguments["read_pages"],
    }
    if not any(parts.values()):
        for name in ("llm", "fallback", "batch"):
            source = click.get_current_context().get_parameter_source(name)
            if source is ParameterSource.COMMANDLINE:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} is of no use without {_PARTS}")
        return GenerationKeywords(llm=None, context=None, dry_run=arguments["dry_run"])
    if not arguments["llm"]:
        flags = [f"--{name.replace('_', '-')}" for name, is_on in parts.items() if is_on]
        raise click.UsageError(
            f"{', '.join(flags)} {'needs' if len(flags) == 1 else 'need'} a language model; name "
            "one with --llm vendor:model, or set llm.model"
        )
    from spanwise.knowledge_base.enriching import called_model
    from spanwise.models.caller import MemoryOutputs
    from spanwise.models.ledger import Ledger
    from spanwise.models.registry import make_language_model

    model = make_language_model(arguments["llm"], options=models)
    ledger = Ledger(max_cost=None if arguments["dry_run"] else models.max_cost)
    called_model(model, models=models, kept=MemoryOutputs(), ledger=ledger)
    return GenerationKeywords(
        llm=model,
        context=context_options(**parts),
        dry_run=arguments["dry_run"],
    )


def draw_dry_run(report: IngestReport) -> None:
    """Write one line per document that would change and per task of a model."""
    page = Page()
    for verb, documents in (
        ("add", report.added),
        ("replace", report.replaced),
        ("remove", report.removed),
    ):
        for document_id in documents:
            page.line(f"would {verb} {one_line(document_id)}")
    for task, usage in report.usage_by_task.items():
        page.line(f"{task}: {page.joined(usage_words(usage, at_most=True))}")

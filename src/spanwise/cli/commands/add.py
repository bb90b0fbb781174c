"""`spanwise add` and `spanwise sync`: read documents into a knowledge base."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict, TypeVar, Unpack, get_args

import click
from click.core import ParameterSource

from spanwise.cli.arguments import (
    creation_keywords,
    json_option,
    knowledge_base_option,
    llm_option,
    max_cost_option,
    parse_metadata,
    with_options,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.crawl_arguments import CrawlArguments, crawl_options, read_crawl
from spanwise.cli.failures import ExitCode, Interrupted, Terminated
from spanwise.cli.layout import STATUSES, Page, count, duration, one_line, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import IngestBar
from spanwise.config import (
    context_options,
    fetch_options,
    knowledge_base_path,
    model_options,
    parse_options,
)
from spanwise.types import Durability

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ContextOptions, FetchOptions, ModelOptions
    from spanwise.types import IngestProgress, IngestReport, MetadataValue


_Command = TypeVar("_Command", bound=Callable[..., Any])
_MAX_SIMILAR = 3  # warnings with the same reason that are shown in full
_IN_MEMORY = ":memory:"


def _number_or_text(value: int | str) -> int | str:
    """Return a number as an integer, and another text as it is, such as an address."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


ingest_options = with_options(
    click.option(
        "--include",
        multiple=True,
        metavar="PATTERN",
        help="Glob pattern of the files to read from folders and archives. Repeatable. "
        "Default: all files.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Glob pattern of the files to skip in folders and archives. Repeatable.",
    ),
    click.option(
        "--prefix",
        metavar="NAME",
        help="Prefix of the ids of files from folders, such as 2023 for 2023/report.md. "
        "Default: the prefix of the stored documents. New folders have none; each of several new "
        "folders has its path below their common parent.",
    ),
    click.option(
        "--follow-links",
        is_flag=True,
        help="Follow symbolic links that lead out of a folder. Without this option, they are left "
        "out with a warning.",
    ),
    click.option(
        "--replace",
        is_flag=True,
        help="Replace documents that have the same id but came from another folder, file or URL.",
    ),
    click.option(
        "--metadata",
        multiple=True,
        metavar="NAME=VALUE",
        help="Metadata field of every document, for filters. Repeatable. Replaces the metadata of "
        "earlier commands; without this option, it is kept. Numbers, true and false are stored "
        "with their type, not as text. A repeated name, or a JSON list such as "
        'tags=["nda", "draft"], is a list.',
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
        "--workers",
        type=_number_or_text,
        metavar="N",
        default=0,
        help="Number of processes that read and prepare documents, or the address of a Ray cluster "
        "(ray://HOST:PORT). The results are the same. Default: 0, the number of processor cores.",
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
"""Options shared by `add` and `sync`: file patterns, metadata, parsing and durability."""


def ingest_target(
    path: Location,
    *,
    sources: Sequence[str | BinaryIO],
    include: Sequence[str],
    exclude: Sequence[str],
    document_id: str | None = None,
) -> str | Location:
    """Return the place of the knowledge base, or ":memory:" if there is no document to store.

    A mistyped source therefore creates no empty knowledge base.

    Args:
        path: Place of the knowledge base.
        sources: Files, folders, URLs and streams from the command line; empty for a dry run.
        include: Glob patterns of the files to read from folders.
        exclude: Glob patterns of the files to skip.
        document_id: Document id of the stream.
    """
    from spanwise.ingest import find_sources
    from spanwise.ingest.sources import Source
    from spanwise.knowledge_base.components import is_vacant

    if not is_vacant(path):
        return path
    results = find_sources(sources, include=include, exclude=exclude, document_id=document_id)
    return path if any(isinstance(source, Source) for source in results) else _IN_MEMORY


@contextmanager
def interruptible_bar(path: Location, *, quiet: bool) -> Iterator[IngestBar]:
    """Show a progress bar; after Ctrl-C or SIGTERM, report the number of stored documents.

    Raises:
        Interrupted: After Ctrl-C, with a message.
        Terminated: After SIGTERM, with a message.
    """
    with IngestBar(quiet=quiet) as bar:
        try:
            yield bar
        except (KeyboardInterrupt, Terminated) as ending:
            is_terminated = isinstance(ending, Terminated)
            kind: type[Interrupted | Terminated] = Terminated if is_terminated else Interrupted
            raise kind(
                f"{'ended by SIGTERM' if is_terminated else 'interrupted'}: "
                f"{count(bar.stored, 'document')} of this run "
                f"{'is' if bar.stored == 1 else 'are'} stored in {path}; run the same command "
                "again to continue"
            ) from ending


def draw_failures(report: IngestReport) -> None:
    """Write failures and warnings to standard error.

    Documents that were not added because the run ended early share one line.
    """
    errors = Page(sys.stderr)
    ended = [failure for failure in report.failed if failure.is_left_out]
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
    """Yield the warnings. Of many with the same reason, only the first few are shown in full.

    One line then names the sources of the others.

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
    report: IngestReport, *, path: Location, empty_message: str, is_dry_run: bool = False
) -> None:
    """Write the summary to standard output.

    Args:
        report: Report of the ingest.
        path: Place of the knowledge base.
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
            ("updated", report.updated),
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


_PARTS = "--sections, --headers, --chunk-contexts, --read-pages or --describe-figures"


class GenerationArguments(TypedDict):
    """Values of the options for generated text."""

    llm: str
    sections: bool
    headers: bool
    chunk_contexts: bool
    read_pages: bool
    describe_figures: bool
    fallback: str | None
    max_cost: float | None
    batch: bool
    dry_run: bool


class GenerationKeywords(TypedDict):
    """Arguments of `KnowledgeBase.add` and `sync` for generated text."""

    llm: LanguageModel | None
    context: ContextOptions | None
    dry_run: bool


class IngestKeywords(GenerationKeywords):
    """Arguments that `KnowledgeBase.add` and `sync` share."""

    include: Sequence[str]
    exclude: Sequence[str]
    prefix: str | None
    follow_links: bool
    replace: bool
    metadata: dict[str, MetadataValue] | None
    on_document: Callable[[IngestProgress], None]


generation_options = with_options(
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
        help="Let the language model write a short context for each chunk: a description of its "
        "place in the document.",
    ),
    click.option(
        "--read-pages",
        is_flag=True,
        help="Let the language model transcribe image files, and PDF pages that are scanned or "
        "have tables with merged cells. Needs a model that accepts images.",
    ),
    click.option(
        "--describe-figures",
        is_flag=True,
        help="Let the language model describe image files, and charts and pictures of PDF, DOCX "
        "and PPTX files. The descriptions are searched. Needs a model that accepts images.",
    ),
    click.option(
        "--fallback",
        metavar="MODEL",
        help="Language model to call if the first one fails. Default: the setting llm.fallback.",
    ),
    max_cost_option(
        "Maximum total cost of model calls in US dollars. Documents that would exceed it "
        "are reported as failed; run the command again to continue. Default: the setting "
        "llm.max_cost."
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
"""Options for text generated by a language model, and `--dry-run`."""


def generation_keywords(
    arguments: GenerationArguments, *, models: ModelOptions
) -> GenerationKeywords:
    """Return the arguments of `KnowledgeBase.add` and `sync` for generated text.

    The model is checked before a knowledge base is created.

    Raises:
        UsageError: If a model is named and nothing is to be generated, or the reverse.
        OptionError: If no installed package provides the model, or the model lacks an option.
        ModelKeyError: If the API key of the model is missing.
    """
    parts = {
        "sections": arguments["sections"],
        "headers": arguments["headers"],
        "chunk_contexts": arguments["chunk_contexts"],
        "read_pages": arguments["read_pages"],
        "describe_figures": arguments["describe_figures"],
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
    from spanwise.models.caller import MemoryOutputs
    from spanwise.models.ledger import Ledger
    from spanwise.models.registry import make_checked_model, make_language_model

    needs_key = not arguments["dry_run"]
    model = make_language_model(arguments["llm"], options=models, needs_key=needs_key)
    ledger = Ledger(max_cost=None if arguments["dry_run"] else models.max_cost)
    make_checked_model(model, options=models, cache=MemoryOutputs(), ledger=ledger)
    return GenerationKeywords(
        llm=model,
        context=context_options(**parts),
        dry_run=arguments["dry_run"],
    )


def draw_dry_run(report: IngestReport) -> None:
    """Write one line for each document that would change, and one for each model task."""
    page = Page()
    for verb, documents in (
        ("add", report.added),
        ("replace", report.replaced),
        ("update", report.updated),
        ("remove", report.removed),
    ):
        for document_id in documents:
            page.line(f"would {verb} {one_line(document_id)}")
    for task, usage in report.usage_by_task.items():
        page.line(f"{task}: {page.joined(usage_words(usage, at_most=True))}")


class _IngestArguments(GenerationArguments):
    kb: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    prefix: str | None
    follow_links: bool
    replace: bool
    metadata: tuple[str, ...]
    timeout: float
    parser: str
    ocr: str
    workers: int | str
    durability: Durability
    quiet: bool
    as_json: bool


def _ingested(  # noqa: PLR0913 - options are keywords, each with a default
    arguments: _IngestArguments,
    ingest: Callable[[KnowledgeBase, IngestKeywords], IngestReport],
    *,
    sources: Sequence[str | BinaryIO],
    empty_message: str,
    fetch: FetchOptions | None = None,
    document_id: str | None = None,
    tuning: str | None = None,
) -> IngestReport:
    """Open the knowledge base, add or synchronise documents, and write the report.

    Args:
        arguments: Arguments of the command line.
        ingest: Function that calls `KnowledgeBase.add` or `sync` with the shared arguments.
        sources: Files, folders, URLs and streams to read.
        empty_message: Text shown if there was no document.
        fetch: Options of downloads; None for the defaults.
        document_id: Document id of a stream.
        tuning: Tuning file for a new knowledge base; None if there is none.
    """
    path = knowledge_base_path(arguments["kb"])
    quiet = arguments["quiet"] or arguments["as_json"]
    with (
        interruptible_bar(path, quiet=quiet) as bar,
        _opened(
            arguments,
            bar,
            sources=sources,
            fetch=fetch,
            document_id=document_id,
            tuning=tuning,
        ) as (knowledge_base, keywords),
    ):
        report = ingest(knowledge_base, keywords)
    if arguments["as_json"]:
        write_json(report, sys.stdout)
        return report
    draw_failures(report)
    is_dry_run = arguments["dry_run"]
    if is_dry_run:
        draw_dry_run(report)
    if not quiet:
        draw_report(report, path=path, empty_message=empty_message, is_dry_run=is_dry_run)
    return report


@contextmanager
def _opened(
    arguments: _IngestArguments,
    bar: IngestBar,
    *,
    sources: Sequence[str | BinaryIO],
    fetch: FetchOptions | None = None,
    document_id: str | None = None,
    tuning: str | None = None,
) -> Iterator[tuple[KnowledgeBase, IngestKeywords]]:
    """Yield the open knowledge base, and the arguments of its methods; see `_ingested`."""
    from spanwise.ingest.drafts import connected_workers
    from spanwise.knowledge_base import KnowledgeBase

    fields = parse_metadata(arguments["metadata"])
    path = knowledge_base_path(arguments["kb"])
    include, exclude, is_dry_run = arguments["include"], arguments["exclude"], arguments["dry_run"]
    models = model_options(
        fallback=arguments["fallback"],
        max_cost=arguments["max_cost"],
        batch=arguments["batch"],
    )
    parse = parse_options(
        timeout_seconds=arguments["timeout"],
        parser=arguments["parser"],
        ocr=arguments["ocr"],
        workers=arguments["workers"],
    )
    generation = generation_keywords(arguments, models=models)
    target = ingest_target(
        path,
        sources=() if is_dry_run else sources,
        include=include,
        exclude=exclude,
        document_id=None if is_dry_run else document_id,
    )
    with (
        connected_workers(0 if is_dry_run else parse.workers),  # a failure creates nothing
        KnowledgeBase(
            target,
            fetch=fetch,
            parse=parse,
            models=models,
            tuning=tuning,
            durability=arguments["durability"],
            listener=bar,
            **creation_keywords(path),
        ) as knowledge_base,
    ):
        yield (
            knowledge_base,
            IngestKeywords(
                include=include,
                exclude=exclude,
                prefix=arguments["prefix"],
                follow_links=arguments["follow_links"],
                replace=arguments["replace"],
                metadata=fields or None,
                on_document=bar.on_document,
                **generation,
            ),
        )


_quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="Show only failures: no progress bar, no summary."
)


class _AddArguments(_IngestArguments, CrawlArguments):
    allow_private: bool
    ignore_robots: bool
    id: str | None
    tuning: str | None


@click.command(
    cls=ExampleCommand,
    short_help="Add files, folders and URLs.",
    examples=[
        ("add a folder and its subfolders", "spanwise add reports/"),
        (
            "add only PDF files, with a metadata field",
            "spanwise add reports/ --include '*.pdf' --metadata year=2018",
        ),
        (
            "add a web page to another knowledge base",
            "spanwise add https://example.com/terms --kb legal.kb",
        ),
        (
            "add a web page and the pages it links to, up to two links away",
            "spanwise add https://example.com/docs/ --crawl --depth 2 --include 'docs/**'",
        ),
        (
            "estimate the cost of sections, titles and summaries",
            "spanwise add reports/ --llm openai:gpt-5-mini --sections --headers --dry-run",
        ),
        (
            "add standard input, with an id",
            "pandoc a.tex -t markdown | spanwise add - --id a.md",
        ),
    ],
    exit_codes=(
        ExitCode.SOME_FAILED,
        ExitCode.NOTHING_FOUND,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument("sources", nargs=-1, type=click.Path(readable=False))
@knowledge_base_option
@ingest_options
@generation_options
@crawl_options
@click.option(
    "--allow-private",
    is_flag=True,
    help="Also fetch URLs on private networks and on this machine.",
)
@click.option("--ignore-robots", is_flag=True, help="Also fetch URLs that robots.txt disallows.")
@click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Tuning file written by `spanwise tune`; sets the chunk options of a new knowledge base.",
)
@click.option("--id", metavar="ID", help="Document id for text read from standard input (-).")
@_quiet_option
@json_option
def add(**arguments: Unpack[_AddArguments]) -> ExitCode:
    """Add files, folders and URLs to a knowledge base. Create the knowledge base if needed.

    Unchanged documents are skipped, so an interrupted command can be run again. A document id is
    the path below the added folder, the file name, or the URL. Archives, mailboxes and e-mails are
    unpacked; the id of a document inside is the id of the container, "!/" and the path inside.
    Object storage (s3://bucket/prefix) is read through fsspec.

    With --crawl, pages that a URL links to are added too. Run the same command again to continue
    an interrupted crawl, and to add changed and new pages later. A URL that is named like a sitemap
    (sitemap.xml) adds its pages.
    """
    crawl = read_crawl(arguments)
    if not arguments["sources"] and not arguments["sitemap"]:
        raise click.UsageError("no sources are named; name files, folders or URLs")
    document_id = arguments["id"]
    sources = [
        _standard_input(document_id) if source == "-" else source for source in arguments["sources"]
    ]
    report = _ingested(
        arguments,
        lambda base, keywords: base.add(*sources, document_id=document_id, crawl=crawl, **keywords),
        sources=[*sources, *arguments["sitemap"]],
        empty_message="no document found",
        fetch=fetch_options(
            allow_private=arguments["allow_private"], robots=not arguments["ignore_robots"]
        ),
        document_id=document_id,
        tuning=arguments["tuning"],
    )
    if report.failed:
        return ExitCode.SOME_FAILED
    documents = report.added or report.replaced or report.updated or report.unchanged
    return ExitCode.OK if documents else ExitCode.NOTHING_FOUND


def _standard_input(document_id: str | None) -> BinaryIO:
    if document_id is None:
        raise click.UsageError("standard input has no name; give it an id: add - --id NAME")
    if sys.stdin.isatty():
        raise click.UsageError("standard input is a terminal; pipe a document: add - --id NAME < F")
    # Unbuffered: a daemon thread blocked on a buffer lock would abort the process at exit.
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)


class _SyncArguments(_IngestArguments):
    folder: str
    allow_empty: bool
    watch: bool
    settle: float


@click.command(
    cls=ExampleCommand,
    short_help="Make a knowledge base match a folder.",
    examples=[
        ("add new, replace changed and remove deleted files", "spanwise sync reports/"),
        ("list the changes without making them", "spanwise sync reports/ --dry-run"),
        ("skip a subfolder, and remove its documents", "spanwise sync docs --exclude tmp/"),
        ("keep the knowledge base up to date until Ctrl-C", "spanwise sync reports/ --watch"),
    ],
    exit_codes=(ExitCode.SOME_FAILED, ExitCode.INTERRUPTED, ExitCode.TERMINATED),
)
@click.argument("folder", type=click.Path(readable=False))
@knowledge_base_option
@ingest_options
@click.option(
    "--allow-empty",
    is_flag=True,
    help="Remove all documents of the folder if it holds no matching file. Without this option, "
    "that is an error.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Synchronise again whenever files change, until Ctrl-C (exit code 130). Needs the extra "
    "watch.",
)
@click.option(
    "--settle",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="With --watch: time that a changed file must stay unchanged before it is read.",
)
@generation_options
@_quiet_option
@json_option
def sync(**arguments: Unpack[_SyncArguments]) -> ExitCode:
    """Add new, replace changed and remove deleted documents of a folder.

    Documents from other sources are not changed. Unchanged files are only hashed, so an
    interrupted command can be run again. A file that cannot be read, or a subfolder that cannot be
    listed, is reported as failed; its stored documents are kept. If FOLDER is missing, nothing is
    removed. FOLDER can be an object storage prefix (s3://bucket/reports). Files in archives and
    e-mails are synchronised too.
    """
    folder, allow_empty = arguments["folder"], arguments["allow_empty"]
    if arguments["watch"]:
        return _watch(arguments)
    report = _ingested(
        arguments,
        lambda base, keywords: base.sync(folder, allow_empty=allow_empty, **keywords),
        sources=[folder],
        empty_message="nothing to do",
    )
    return ExitCode.SOME_FAILED if report.failed else ExitCode.OK


def _watch(arguments: _SyncArguments) -> ExitCode:
    """Synchronise a folder until Ctrl-C or SIGTERM, and write each report.

    Raises:
        UsageError: If the command is a dry run.
        Interrupted: After Ctrl-C, with a message.
        Terminated: After SIGTERM, with a message.
    """
    if arguments["dry_run"]:
        raise click.UsageError("--dry-run and --watch exclude each other; give one of them")
    folder, quiet = arguments["folder"], arguments["quiet"] or arguments["as_json"]
    path = knowledge_base_path(arguments["kb"])
    bar = IngestBar(quiet=quiet)
    reports = 0
    try:
        with _opened(arguments, bar, sources=[folder]) as (knowledge_base, keywords):
            watched = _watched(knowledge_base, keywords, arguments)
            while True:
                with bar:
                    report = next(watched, None)
                if report is None:
                    return ExitCode.OK
                reports += 1
                if arguments["as_json"]:
                    write_json(report, sys.stdout, indent=None)
                else:
                    draw_failures(report)
                    if not quiet:
                        draw_report(report, path=path, empty_message="nothing to do")
                sys.stdout.flush()
                bar.wait(f"watching {folder} (Ctrl-C ends)")
    except (KeyboardInterrupt, Terminated) as ending:
        is_terminated = isinstance(ending, Terminated)
        kind: type[Interrupted | Terminated] = Terminated if is_terminated else Interrupted
        raise kind(
            f"{'ended by SIGTERM' if is_terminated else 'interrupted'}: {folder} is no longer "
            f"watched; {path} was updated {count(reports, 'time')}"
        ) from ending


def _watched(
    knowledge_base: KnowledgeBase, keywords: IngestKeywords, arguments: _SyncArguments
) -> Iterator[IngestReport]:
    return knowledge_base.watch(
        arguments["folder"],
        include=keywords["include"],
        exclude=keywords["exclude"],
        prefix=keywords["prefix"],
        follow_links=keywords["follow_links"],
        metadata=keywords["metadata"],
        replace=keywords["replace"],
        llm=keywords["llm"],
        context=keywords["context"],
        allow_empty=arguments["allow_empty"],
        settle_seconds=arguments["settle"],
        on_document=keywords["on_document"],
    )

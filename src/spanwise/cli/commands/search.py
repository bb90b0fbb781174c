"""`spanwise search`: find the segments that answer a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, columns, count, duration, one_line, ordinal, shortened
from spanwise.cli.output import check_output_options, output_options, write_result
from spanwise.cli.query_arguments import SearchQueries, draw_queries, search_queries
from spanwise.cli.search_arguments import (
    QuestionArguments,
    SearchArguments,
    question_options,
    question_text,
    rerank_keywords,
    search_keywords,
    search_options,
)
from spanwise.config import fetch_options, knowledge_base_path, model_options, parse_options
from spanwise.errors import DocumentError
from spanwise.options import METHOD_PRESETS

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Excerpt, ExcerptResult, SearchResult, Segment
    from spanwise.types.plain import Plain


_Command = TypeVar("_Command", bound=Callable[..., Any])


class PageImageArguments(TypedDict):
    """Value of `--page-images`."""

    page_images: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImages:
    """Page images written to files."""

    paths: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Paths of the image files by segment rank, in page order."""
    warnings: tuple[str, ...] = ()
    """One warning per segment whose pages could not be drawn."""


def page_images_option(command: _Command) -> _Command:
    """Add `--page-images`."""
    return click.option(
        "--page-images",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        help="Folder for PNG images of the PDF pages that contain the segments.",
    )(command)


def write_page_images(
    knowledge_base: KnowledgeBase, segments: Sequence[Segment], *, folder: str | None
) -> PageImages:
    """Write images of the pages that contain the segments.

    Args:
        knowledge_base: Knowledge base of the segments.
        segments: Segments to draw. The files of the best one are named "segment-1-page-12.png".
        folder: Folder of the images, created if missing; None to write nothing.

    Returns:
        Paths of the files, and warnings for pages that could not be drawn.

    Raises:
        FileError: If a file cannot be written.
    """
    paths: dict[int, Sequence[str]] = {}
    warnings = []
    for segment in segments if folder is not None else ():
        pages = segment.citation.pages
        if pages is None:
            continue
        try:
            images = knowledge_base.segment_images(segment)
        except DocumentError as error:
            warnings.append(f"no image of {segment.citation.page_range}: {error}")
            continue
        names = [
            f"segment-{segment.rank + 1}-page-{pages[0] + at}.png" for at in range(len(images))
        ]
        files = [Path(folder or "", name) for name in names]
        for file, image in zip(files, images, strict=True):
            _write(file, image)
        paths[segment.rank] = [str(file) for file in files]
    return PageImages(paths=paths, warnings=tuple(warnings))


def _write(file: Path, image: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image)
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror) from error


class _SearchArguments(SearchArguments, PageImageArguments):
    context: bool


@click.command(
    cls=ExampleCommand,
    short_help="Find the segments that answer a question.",
    examples=[
        (
            "find the segments that answer a question",
            'spanwise search "Why did the margin fall in 2018?"',
        ),
        (
            "search one document with a smaller budget",
            'spanwise search "termination for convenience" -d msa.pdf --budget 1000',
        ),
        (
            "write context for a language model, from filtered documents",
            'spanwise search "main risks" --where "year >= 2018" --context',
        ),
        (
            "also write images of the pages",
            'spanwise search "capital spending" --page-images pages/',
        ),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@search_options
@page_images_option
@output_options
def search(**arguments: Unpack[_SearchArguments]) -> ExitCode:
    """Find the segments that answer a question, within a token budget.

    Segments are shown in reading order: documents by their best segment, then by position in the
    document. Each shows its rank (1st is best) and its relevance, the probability that it contains
    evidence.
    """
    context, as_json = arguments["context"], arguments["as_json"]
    check_output_options(context=context, as_json=as_json)
    result, images = _search(arguments)
    extra: dict[str, Plain] = {}
    if arguments["page_images"] is not None:
        extra["page_images"] = [
            list(images.paths.get(segment.rank, ())) for segment in result.segments
        ]
    return write_result(
        result,
        context=context,
        as_json=as_json,
        draw=partial(draw_result, images=images.paths),
        extra_fields=extra,
    )


def _search(arguments: _SearchArguments) -> tuple[SearchResult, PageImages]:
    from spanwise.knowledge_base import KnowledgeBase

    keywords = search_keywords(arguments)
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    with KnowledgeBase(
        path,
        create=False,
        models=models,
        tuning=arguments["tuning"] or None,
        parse=parse_options(),
        fetch=fetch_options(),
    ) as knowledge_base:
        queries = search_queries(
            knowledge_base,
            keywords["question"],
            queries=keywords["queries"],
            documents=keywords["documents"],
            where=keywords["where"],
            arguments=arguments,
        )
        keywords["queries"], keywords["where"] = queries.queries, queries.where
        result = knowledge_base.search(**keywords)
        if queries.needs_wider_filter(result):
            queries = queries.with_wider_filter(result)
            keywords["where"] = queries.where
            result = knowledge_base.search(**keywords)
        result = queries.completed(result)
        images = write_page_images(knowledge_base, result.segments, folder=arguments["page_images"])
    return replace(result, warnings=(*result.warnings, *images.warnings)), images


def draw_result(
    result: SearchResult, page: Page, *, images: Mapping[int, Sequence[str]] = MappingProxyType({})
) -> None:
    """Write the segments of a result and a summary line.

    Args:
        result: Result of a search.
        page: Output page.
        images: Paths of page images by segment rank.
    """
    if result.weak_evidence and result.segments:
        page.message(
            "weak evidence: ",
            f"{result.evidence:.0%} probability that these segments contain an answer",
            "yellow",
        )
        page.line()
    for segment in result.segments:
        _draw_segment(segment, page, place=ordinal(segment.rank))
        _draw_notes(segment, result, page, images=images.get(segment.rank, ()))
    if result.not_found:
        page.wrapped("Nothing in the knowledge base answers this question.", "yellow")
        if result.best_guess is not None:
            page.wrapped("Best guess, probably not an answer:")
            page.line()
            _draw_segment(result.best_guess, page, place="guess")
    for warning in result.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(result, page)
    seconds = sum(result.seconds.values())
    page.wrapped(
        page.joined(
            [
                count(len(result.segments), "segment"),
                f"{result.tokens:,} of {count(result.budget_tokens, 'token')}",
                f"{count(result.candidates, 'candidate')} scored",
                duration(seconds),
            ]
        ),
        "dim",
    )


def _draw_segment(segment: Segment, page: Page, *, place: str) -> None:
    citation = segment.citation
    right = f"{page.bar(segment.relevance)} {segment.relevance:.2f}"
    room = page.width - len(right) - len(place) - 4
    title = shortened(one_line(citation.title or segment.document_id), room)
    left = page.paint(place, "bold", "cyan") + "  " + page.paint(title, "bold")
    gap = page.width - len(place) - 2 - columns(title) - len(right)
    page.line(left + " " * gap + page.paint(right, "green"))
    path = citation.section_path
    if path[:1] == (citation.title,):
        path = path[1:]
    if path:
        page.wrapped(" > ".join(path))
    page.wrapped(
        page.joined(
            [
                segment.document_id,
                one_line(citation.page_range),
                f"characters {segment.start}-{segment.end}",
                count(segment.tokens, "token"),
            ]
        ),
        "dim",
    )
    page.line()
    page.body(segment.text)
    page.line()


def _draw_notes(
    segment: Segment, result: SearchResult, page: Page, *, images: Sequence[str]
) -> None:
    """Write the queries that a segment answers, its near duplicates and its page images."""
    notes = []
    if len(result.queries) > 1:
        queries = " · ".join(result.queries[number] for number in segment.queries)
        notes.append(f"answers: {queries}")
    if segment.also_in:
        others = count(len(segment.also_in), "other document")
        notes.append(f"nearly the same text in {others}: {', '.join(segment.also_in)}")
    if images:
        notes.append(f"page images: {', '.join(images)}")
    for note in notes:
        page.wrapped(note, "dim")
    if notes:
        page.line()


class _ExcerptArguments(QuestionArguments):
    excerpts: int
    excerpt_tokens: int
    context: bool


@click.command(
    cls=ExampleCommand,
    short_help="Find excerpts of a fixed size around the answer.",
    examples=[
        ("find three excerpts of 1,000 tokens", 'spanwise excerpts "How is revenue recognised?"'),
        (
            "find one long excerpt of one document",
            'spanwise excerpts "fees" -d msa.pdf --excerpts 1 --excerpt-tokens 8000',
        ),
        (
            "write context for a language model",
            'spanwise excerpts "main risks" --where "year >= 2018" --context',
        ),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@question_options(
    click.option(
        "--excerpts",
        metavar="NUMBER",
        type=click.IntRange(min=1, max=32),
        default=3,
        show_default=True,
        help="Maximum number of excerpts.",
    ),
    click.option(
        "--excerpt-tokens",
        metavar="TOKENS",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        help="Maximum tokens per excerpt, including its header.",
    ),
    click.option(
        "--preset",
        type=click.Choice(METHOD_PRESETS["exact"]),
        default="balanced",
        show_default=True,
        help="Length of the evidence segments inside an excerpt.",
    ),
)
@output_options
def excerpts(**arguments: Unpack[_ExcerptArguments]) -> ExitCode:
    """Find excerpts of a fixed size around the answer to a question.

    Each excerpt is text of one document: the segments that `search` finds, and the text between
    and around them up to the token limit. A document within the limit is returned whole. Excerpts
    are sorted by mean relevance, highest first.
    """
    context, as_json = arguments["context"], arguments["as_json"]
    check_output_options(context=context, as_json=as_json)
    result = _excerpts(arguments)
    return write_result(result, context=context, as_json=as_json, draw=draw_excerpts)


def _excerpts(arguments: _ExcerptArguments) -> ExcerptResult:
    from spanwise.knowledge_base import KnowledgeBase

    question = question_text(arguments["question"])
    documents = arguments["document"] or None
    reranking = rerank_keywords(arguments)
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:

        def find(queries: SearchQueries) -> ExcerptResult:
            return knowledge_base.excerpts(
                question,
                excerpts=arguments["excerpts"],
                excerpt_tokens=arguments["excerpt_tokens"],
                queries=queries.queries,
                preset=arguments["preset"],
                documents=documents,
                where=queries.where,
                tokenizer=arguments["tokenizer"],
                abstain=not arguments["no_abstain"],
                **reranking,
            )

        queries = search_queries(
            knowledge_base,
            question,
            queries=arguments["query"],
            documents=documents,
            where=arguments["where"],
            arguments=arguments,
        )
        result = find(queries)
        if queries.needs_wider_filter(result):
            queries = queries.with_wider_filter(result)
            result = find(queries)
    return queries.completed(result)


def draw_excerpts(result: ExcerptResult, page: Page) -> None:
    """Write the excerpts of a result and a summary line."""
    if result.weak_evidence and result.excerpts:
        page.message(
            "weak evidence: ",
            f"{result.evidence:.0%} probability that these excerpts contain an answer",
            "yellow",
        )
        page.line()
    for number, excerpt in enumerate(result.excerpts):
        _draw_excerpt(excerpt, result, page, place=ordinal(number))
    if result.not_found:
        page.wrapped("Nothing in the knowledge base answers this question.", "yellow")
        if result.best_guess is not None:
            page.wrapped("Best guess, probably not an answer:")
            page.line()
            _draw_excerpt(result.best_guess, result, page, place="guess")
    for warning in result.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(result, page)
    page.wrapped(
        page.joined(
            [
                count(len(result.excerpts), "excerpt"),
                count(result.tokens, "token"),
                f"{count(result.candidates, 'candidate')} scored",
                duration(sum(result.seconds.values())),
            ]
        ),
        "dim",
    )


def _draw_excerpt(excerpt: Excerpt, result: ExcerptResult, page: Page, *, place: str) -> None:
    right = f"{page.bar(excerpt.relevance)} {excerpt.relevance:.2f}"
    room = page.width - len(right) - len(place) - 4
    title = shortened(one_line(excerpt.title or excerpt.document_id), room)
    left = page.paint(place, "bold", "cyan") + "  " + page.paint(title, "bold")
    gap = page.width - len(place) - 2 - columns(title) - len(right)
    page.line(left + " " * gap + page.paint(right, "green"))
    citation = excerpt.citation
    whole = "the whole document" if excerpt.is_whole else ""
    page.wrapped(
        page.joined(
            [
                excerpt.document_id,
                citation.page_range,
                whole or f"characters {citation.start}-{citation.end}",
                count(excerpt.tokens, "token"),
            ]
        ),
        "dim",
    )
    page.line()
    page.body(excerpt.text)
    page.line()
    notes = []
    if len(result.queries) > 1:
        queries = " · ".join(result.queries[number] for number in excerpt.queries)
        notes.append(f"answers: {queries}")
    if excerpt.also_in:
        others = count(len(excerpt.also_in), "other document")
        notes.append(f"nearly the same text in {others}: {', '.join(excerpt.also_in)}")
    for note in notes:
        page.wrapped(note, "dim")
    if notes:
        page.line()

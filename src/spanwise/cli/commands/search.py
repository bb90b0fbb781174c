"""The pages of segments as pictures: `search --page-images FOLDER`.

`spanwise search`: the segments that answer a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from spanwise.cli.answers import answer_options, check_answer_options, write_answer
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, columns, count, duration, one_line, ordinal, shortened
from spanwise.cli.query_arguments import draw_searched, searched_by
from spanwise.cli.search_arguments import AskingArguments, search_keywords, search_options
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import fetch_options, knowledge_base_path, model_options, parse_options
from spanwise.errors import DocumentError

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import SearchResult, Segment
    from spanwise.types.plain import Plain

_Command = TypeVar("_Command", bound=Callable[..., Any])


class PageImageArguments(TypedDict):
    """What a command line says of pictures of pages."""

    page_images: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenImages:
    """The pictures that were written, and what could not be drawn."""

    paths: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Of each segment, by its rank, in the order of pages."""
    warnings: tuple[str, ...] = ()


def page_images_option(command: _Command) -> _Command:
    """Add `--page-images`."""
    return click.option(
        "--page-images",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        help="Write the pages of PDFs that the segments stand on into this folder, as PNG files.",
    )(command)


def write_page_images(
    knowledge_base: KnowledgeBase, segments: Sequence[Segment], *, folder: str | None
) -> WrittenImages:
    """Write the pages that segments stand on, and return what was written.

    Args:
        knowledge_base: Holds the segments.
        segments: Each is written as "segment-1-page-12.png", 1 being worth most.
        folder: Is made where it is missing; None to write nothing.

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
            warnings.append(f"no picture of {segment.citation.page_range}: {error}")
            continue
        names = [
            f"segment-{segment.rank + 1}-page-{pages[0] + at}.png" for at in range(len(images))
        ]
        files = [Path(folder or "", name) for name in names]
        for file, image in zip(files, images, strict=True):
            _write(file, image)
        paths[segment.rank] = [str(file) for file in files]
    return WrittenImages(paths=paths, warnings=tuple(warnings))


def _write(file: Path, image: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image)
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror) from error


class _SearchArguments(AskingArguments, PageImageArguments):
    context: bool


@click.command(
    cls=TeachingCommand,
    short_help="Find the segments that answer a question.",
    examples=[
        (
            "the segments that answer a question",
            'spanwise search "Why did the margin fall in 2018?"',
        ),
        (
            "in some documents only, inside a smaller budget",
            'spanwise search "termination for convenience" -d msa.pdf --budget 1000',
        ),
        (
            "as context for a language model, from documents that pass a filter",
            'spanwise search "main risks" --where "year >= 2018" --context',
        ),
        (
            "with pictures of the pages on which the segments stand",
            'spanwise search "capital spending" --page-images pages/',
        ),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.NOTHING_FOUND,
    ),
)
@search_options
@page_images_option
@answer_options
def search(**arguments: Unpack[_SearchArguments]) -> ExitCode:
    """Find the segments that answer a question, inside a token budget.

    Segments stand in reading order: documents by their best segment, inside a document by
    position. Each says its place by worth (1st is worth most) and its relevance, the chance that
    it holds evidence.
    """
    context, as_json = arguments["context"], arguments["as_json"]
    check_answer_options(context=context, as_json=as_json)
    result, images = _search(arguments)
    beside: dict[str, Plain] = {}
    if arguments["page_images"] is not None:
        beside["page_images"] = [
            list(images.paths.get(segment.rank, ())) for segment in result.segments
        ]
    return write_answer(
        result,
        context=context,
        as_json=as_json,
        draw=partial(draw_result, images=images.paths),
        beside=beside,
    )


def _search(arguments: _SearchArguments) -> tuple[SearchResult, WrittenImages]:
    from spanwise.knowledge_base import KnowledgeBase

    asked = search_keywords(arguments)
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
        searched = searched_by(
            knowledge_base,
            asked["question"],
            queries=asked["queries"],
            documents=asked["documents"],
            where=asked["where"],
            writing=arguments,
        )
        asked["queries"], asked["where"] = searched.queries, searched.where
        result = knowledge_base.search(**asked)
        if searched.wants_more(result):
            searched = searched.widened(result)
            asked["where"] = searched.where
            result = knowledge_base.search(**asked)
        result = searched.completed(result)
        images = write_page_images(knowledge_base, result.segments, folder=arguments["page_images"])
    return replace(result, warnings=(*result.warnings, *images.warnings)), images


def draw_result(
    result: SearchResult, page: Page, *, images: Mapping[int, Sequence[str]] = MappingProxyType({})
) -> None:
    """Write the segments of a result for people, then what it cost.

    Args:
        result: The result.
        page: Where it is written.
        images: Files of the pages of segments, by their rank.
    """
    if result.weak_evidence and result.segments:
        page.message(
            "weak evidence: ",
            f"{result.evidence:.0%} sure that an answer is among these segments",
            "yellow",
        )
        page.line()
    for segment in result.segments:
        _draw_segment(segment, page, place=ordinal(segment.rank))
        _draw_notes(segment, result, page, images=images.get(segment.rank, ()))
    if result.not_found:
        page.wrapped("Nothing in the knowledge base answers this question.", "yellow")
        if result.best_guess is not None:
            page.wrapped("The best guess, which is probably no answer:")
            page.line()
            _draw_segment(result.best_guess, page, place="guess")
    for warning in result.warnings:
        page.message("warning: ", warning, "yellow")
    draw_searched(result, page)
    seconds = sum(result.seconds.values())
    page.wrapped(
        page.joined(
            [
                count(len(result.segments), "segment"),
                f"{result.tokens:,} of {count(result.budget_tokens, 'token')}",
                f"{count(result.candidates, 'candidate')} weighed",
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
    """Write which queries a segment serves, where its text recurs, and the files of its pages."""
    notes = []
    if len(result.queries) > 1:
        served = " · ".join(result.queries[number] for number in segment.queries)
        notes.append(f"answers: {served}")
    if segment.also_in:
        others = count(len(segment.also_in), "other document")
        notes.append(f"nearly the same text in {others}: {', '.join(segment.also_in)}")
    if images:
        notes.append(f"its pages: {', '.join(images)}")
    for note in notes:
        page.wrapped(note, "dim")
    if notes:
        page.line()

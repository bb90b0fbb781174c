"""`spanwise search`: the segments that answer a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import click

from spanwise.cli.answers import answer_options, check_answer_options, write_answer
from spanwise.cli.asking import AskingArguments, search_keywords, search_options
from spanwise.cli.exits import ExitCode
from spanwise.cli.layout import Page, columns, count, duration, one_line, ordinal, shortened
from spanwise.cli.page_images import (
    PageImageArguments,
    WrittenImages,
    page_images_option,
    write_page_images,
)
from spanwise.cli.query_writing import draw_searched, searched_by
from spanwise.cli.teaching import TeachingCommand
from spanwise.config import (
    fetch_options,
    knowledge_base_path,
    model_options,
    parse_options,
)

if TYPE_CHECKING:
    from spanwise.plain import Plain
    from spanwise.types import SearchResult, Segment

__all__ = ["draw_result", "search"]


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

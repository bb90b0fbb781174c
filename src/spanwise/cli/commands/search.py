"""`spanwise search` and `spanwise excerpts`: find the text that answers a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.knowledge_bases import open_knowledge_bases
from spanwise.cli.layout import Page, columns, count, duration, one_line, ordinal, shortened
from spanwise.cli.output import check_output_options, output_options, write_result
from spanwise.cli.query_arguments import draw_queries, with_written
from spanwise.cli.search_arguments import (
    QuestionArguments,
    SearchArguments,
    question_keywords,
    question_options,
    question_text,
    read_search_options,
    search_options,
)
from spanwise.config import disable_blas_threads, fetch_options, model_options, parse_options
from spanwise.errors import DocumentError, as_sentence
from spanwise.options import METHOD_PRESETS, ExcerptOptions, SegmentOptions
from spanwise.types import Segment
from spanwise.types.plain import Plain
from spanwise.types.results import similar_words_notes

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Excerpt, ExcerptResult, SearchResult


def open_knowledge_base(arguments: QuestionArguments) -> KnowledgeBase:
    """Return the open knowledge base, or several as one, with the options of the command line."""
    disable_blas_threads()
    return open_knowledge_bases(
        arguments["kb"],
        models=model_options(max_cost=arguments["max_cost"]),
        tuning=arguments["tuning"] or None,
        parse=parse_options(),
        fetch=fetch_options(),
    )


page_images_option = click.option(
    "--page-images",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Folder for PNG images of the PDF pages that contain the segments, highlighted.",
)


def write_page_images(
    knowledge_base: KnowledgeBase, segments: Sequence[Segment], *, folder: str
) -> tuple[dict[int, list[str]], list[str]]:
    """Write images of the pages that contain the segments.

    Args:
        knowledge_base: Knowledge base of the segments.
        segments: Segments to draw. The files of the best one are named "segment-1-page-12.png".
        folder: Folder of the images, created if missing.

    Returns:
        Paths of the files in page order, by rank of the segment; and one warning for each segment
        whose pages could not be drawn.

    Raises:
        FileError: If a file cannot be written.
    """
    paths: dict[int, list[str]] = {}
    warnings = []
    for segment in segments:
        pages = segment.citation.pages
        if pages is None:
            continue
        try:
            images = knowledge_base.segment_images(segment, highlight=True)
        except DocumentError as error:
            warnings.append(f"no image of {segment.citation.page_range}: {error}")
            continue
        for number, image in enumerate(images, start=pages[0]):
            file = Path(folder, f"segment-{segment.rank + 1}-page-{number}.png")
            _write(file, image)
            paths.setdefault(segment.rank, []).append(str(file))
    return paths, warnings


def _write(file: Path, image: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image)
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror) from error


class _SearchArguments(SearchArguments):
    page_images: str | None
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
            "find the documents that contain something",
            'spanwise search "Which contracts allow termination for convenience?"',
        ),
        (
            "write context for a language model, from filtered documents",
            'spanwise search "main risks" --where "year >= 2018" --context',
        ),
        (
            "require a phrase",
            "spanwise search 'Who may give \"written notice\"?'",
        ),
        (
            "search several knowledge bases as one",
            'spanwise search "termination" --kb contracts.kb --kb archive.kb',
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
    evidence. A phrase in double quotes must occur in the text or title. A misspelt word is searched
    in the spelling of the documents.
    """
    context, as_json = arguments["context"], arguments["as_json"]
    folder = arguments["page_images"]
    check_output_options(context=context, as_json=as_json)
    question, options = question_text(arguments["question"]), read_search_options(arguments)
    images: dict[int, list[str]] = {}
    with open_knowledge_base(arguments) as knowledge_base:
        keywords = question_keywords(knowledge_base, question, arguments)
        result = knowledge_base.search(question, options=options, **keywords)
        result = with_written(result, keywords["more_queries"])
        if folder is not None:
            images, warnings = write_page_images(knowledge_base, result.segments, folder=folder)
            result = replace(result, warnings=(*result.warnings, *warnings))
    extra: dict[str, Plain] = {}
    if folder is not None:
        extra["page_images"] = [
            list[Plain](images.get(segment.rank, ())) for segment in result.segments
        ]
    return write_result(
        result,
        context=context,
        as_json=as_json,
        draw=partial(draw_result, images=images),
        extra_fields=extra,
    )


def draw_result(
    result: SearchResult, page: Page, *, images: Mapping[int, Sequence[str]] = MappingProxyType({})
) -> None:
    """Write the segments of a result and a summary line.

    Args:
        result: Result of a search.
        page: Output page.
        images: Paths of page images by segment rank.
    """
    _draw_weak_evidence(result, page)
    for segment in result.segments:
        _draw_hit(segment, page, place=ordinal(segment.rank))
        _draw_notes(segment, result, page, images=images.get(segment.rank, ()))
    if _draw_not_found(result, page) and result.best_guess is not None:
        _draw_hit(result.best_guess, page, place="guess")
    facts = [
        count(len(result.segments), "segment"),
        f"{result.tokens:,} of {count(result.budget_tokens, 'token')}",
    ]
    if result.documents is not None:
        facts.insert(0, str(result.documents))
    _draw_summary(result, page, facts)


def draw_excerpts(result: ExcerptResult, page: Page) -> None:
    """Write the excerpts of a result and a summary line."""
    _draw_weak_evidence(result, page)
    for number, excerpt in enumerate(result.excerpts):
        _draw_hit(excerpt, page, place=ordinal(number))
        _draw_notes(excerpt, result, page)
    if _draw_not_found(result, page) and result.best_guess is not None:
        _draw_hit(result.best_guess, page, place="guess")
        _draw_notes(result.best_guess, result, page)
    facts = [count(len(result.excerpts), "excerpt"), count(result.tokens, "token")]
    if result.documents is not None:
        facts.insert(0, str(result.documents))
    _draw_summary(result, page, facts)


def _draw_weak_evidence(result: SearchResult | ExcerptResult, page: Page) -> None:
    if result.weak_evidence and not result.not_found:
        probability = f"{result.evidence:.0%} probability that the documents contain an answer"
        page.message("weak evidence: ", probability, "yellow")
        page.line()


def _draw_not_found(result: SearchResult | ExcerptResult, page: Page) -> bool:
    """Write a notice if the result has no answer, and return whether it was written."""
    if result.no_document_passes:
        page.wrapped(as_sentence(result.warnings[0]), "yellow")
    elif result.not_found:
        page.wrapped("Nothing in the knowledge base answers this question.", "yellow")
        if result.best_guess is not None:
            page.wrapped("Best guess, probably not an answer:")
            page.line()
    return result.not_found


def _draw_summary(result: SearchResult | ExcerptResult, page: Page, facts: Iterable[str]) -> None:
    for warning in result.warnings[1:] if result.no_document_passes else result.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(result, page)
    seconds = duration(sum(result.seconds.values()))
    scored = [f"{count(result.candidates, 'candidate')} scored"]
    if result.deep_chunks:
        scored.append(f"{result.deep_chunks} compared by MiniLM")
    page.wrapped(page.joined([*facts, *scored, seconds]), "dim")


def _draw_hit(hit: Segment | Excerpt, page: Page, *, place: str) -> None:
    """Write the title, relevance, place and text of a segment or an excerpt."""
    citation = hit.citation
    right = f"{page.bar(hit.relevance)} {hit.relevance:.2f}"
    room = page.width - len(right) - len(place) - 4
    name = (citation.title if isinstance(hit, Segment) else hit.title) or hit.document_id
    title = shortened(one_line(name), room)
    left = page.paint(place, "bold", "cyan") + "  " + page.paint(title, "bold")
    gap = page.width - len(place) - 2 - columns(title) - len(right)
    page.line(left + " " * gap + page.paint(right, "green"))
    if isinstance(hit, Segment):
        path = citation.spanned_path
        if path[:1] == (citation.title,):
            path = path[1:]
        if path:
            page.wrapped(" > ".join(path))
    is_whole = not isinstance(hit, Segment) and hit.is_whole
    characters = f"characters {citation.start}-{citation.end}"
    facts = [
        one_line(hit.knowledge_base),
        hit.document_id,
        one_line(citation.page_range),
        "the whole document" if is_whole else characters,
        count(hit.tokens, "token"),
    ]
    page.wrapped(page.joined(facts), "dim")
    page.line()
    if isinstance(hit, Segment) and hit.table_head:
        for line in [*hit.table_head.split("\n"), "..."]:
            page.wrapped(line, "dim")
    page.body(hit.text)
    page.line()


def _draw_notes(
    hit: Segment | Excerpt,
    result: SearchResult | ExcerptResult,
    page: Page,
    *,
    images: Sequence[str] = (),
) -> None:
    """Write the queries of a hit, its near duplicates, similar words and page images."""
    notes = []
    if len(result.queries) > 1:
        queries = " · ".join(result.queries[number] for number in hit.queries)
        notes.append(f"found for: {queries}")
    if hit.also_in:
        others = count(len(hit.also_in), "other document")
        notes.append(f"nearly the same text in {others}: {', '.join(hit.also_in)}")
    notes += similar_words_notes(hit.similar_words)
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
        help="Length of the evidence inside an excerpt: precise is the shortest, comprehensive the "
        "longest.",
    ),
)
@output_options
def excerpts(**arguments: Unpack[_ExcerptArguments]) -> ExitCode:
    """Find excerpts of a fixed size around the answer to a question.

    Each excerpt is text of one document: the segments that `search` finds, and the text between
    and around them up to the token limit. A document within the limit is returned whole. Excerpts
    are sorted by relevance, highest first.
    """
    context, as_json = arguments["context"], arguments["as_json"]
    check_output_options(context=context, as_json=as_json)
    question = question_text(arguments["question"])
    options = ExcerptOptions(
        excerpts=arguments["excerpts"],
        excerpt_tokens=arguments["excerpt_tokens"],
        segments=SegmentOptions.preset(arguments["preset"]),
        tokenizer=arguments["tokenizer"],
        abstain=arguments["abstain"],
        deep=not arguments["no_deep"],
        spread=arguments["spread"],
    )
    with open_knowledge_base(arguments) as knowledge_base:
        keywords = question_keywords(knowledge_base, question, arguments)
        result = knowledge_base.excerpts(question, options=options, **keywords)
    result = with_written(result, keywords["more_queries"])
    return write_result(result, context=context, as_json=as_json, draw=draw_excerpts)

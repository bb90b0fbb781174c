"""`spanwise excerpts`: find long excerpts around the answer to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, columns, count, duration, one_line, ordinal, shortened
from spanwise.cli.query_arguments import draw_queries, with_written
from spanwise.cli.result_output import check_output_options, output_options, write_result
from spanwise.cli.search_arguments import (
    QuestionArguments,
    question_keywords,
    question_options,
    question_text,
)
from spanwise.config import knowledge_base_path, model_options
from spanwise.options import METHOD_PRESETS, ExcerptOptions, SegmentOptions

if TYPE_CHECKING:
    from spanwise.types import Excerpt, ExcerptResult


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
    options = ExcerptOptions(
        excerpts=arguments["excerpts"],
        excerpt_tokens=arguments["excerpt_tokens"],
        segments=SegmentOptions.preset(arguments["preset"]),
        tokenizer=arguments["tokenizer"],
        abstain=arguments["abstain"],
    )
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:
        keywords = question_keywords(knowledge_base, question, arguments)
        result = knowledge_base.excerpts(question, options=options, **keywords)
    return with_written(result, keywords["more_queries"])


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

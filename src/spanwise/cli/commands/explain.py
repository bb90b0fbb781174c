"""`spanwise explain`: explain the result of a search, with relevance plots in text."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from spanwise.cli.arguments import json_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.commands.search import open_knowledge_base
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, columns, count, one_line, shortened
from spanwise.cli.output import write_json
from spanwise.cli.pager import pager_option
from spanwise.cli.query_arguments import draw_queries, with_written
from spanwise.cli.search_arguments import (
    SearchArguments,
    question_keywords,
    question_text,
    read_search_options,
    search_options,
)
from spanwise.errors import as_sentence
from spanwise.types.results import similar_words_notes

if TYPE_CHECKING:
    from spanwise.search.explanation import CandidateExplanation, DocumentExplanation, Explanation
    from spanwise.types import Segment

_BLOCKS = " ▁▂▃▄▅▆▇█"
_SIGNS = " .:-=+*#@"
_MAX_CHUNK_COLUMNS = 2  # keeps the plot of a short document narrow
_LEVELS = 8  # bar heights within one line of text


def relevance_lines(
    document: DocumentExplanation, *, least: float, columns: int, lines: int, is_unicode: bool
) -> list[str]:
    """Return a bar plot of relevance by chunk, with bar heights on a square-root scale.

    A column that covers several chunks shows the highest relevance of them. Chunks up to the
    relevance `least` have the lowest bar. Chunks that were not scored have none.

    Args:
        document: Document to plot.
        least: Relevance at which a chunk of 100 tokens has the value 0.
        columns: Maximum width in characters.
        lines: Height in lines of text, >= 1.
        is_unicode: Whether to draw with block characters; otherwise with ASCII.

    Returns:
        Lines from top to bottom.
    """
    levels = [0] * _width(document, columns)
    for run in document.runs:
        for number, relevance in enumerate(run.relevances, start=run.start):
            height = math.ceil(math.sqrt(max(relevance, 0.0)) * lines * _LEVELS)
            level = max(2, height) if relevance > least else 1
            first, last = _columns_of(number, document, columns)
            for column in range(first, last + 1):
                levels[column] = max(levels[column], level)
    signs = _BLOCKS if is_unicode else _SIGNS
    drawn = []
    for line in reversed(range(lines)):
        inside = (min(max(level - line * _LEVELS, 0), _LEVELS) for level in levels)
        drawn.append("".join(signs[level] for level in inside).rstrip())
    return drawn


def mark_line(
    document: DocumentExplanation, segments: Sequence[Segment], *, columns: int, is_unicode: bool
) -> str:
    """Return a line that marks each segment of a document with its rank, from 1 for the best."""
    cells = [" "] * _width(document, columns)
    for segment in segments:
        first, _ = _columns_of(segment.first_chunk, document, columns)
        _, last = _columns_of(segment.last_chunk - 1, document, columns)
        cells[first : last + 1] = ("━" if is_unicode else "=") * (last + 1 - first)
    # The best segment is written last, so that no other one covers it.
    for segment in sorted(segments, key=lambda segment: -segment.rank):
        place = str(segment.rank + 1)
        first, _ = _columns_of(segment.first_chunk, document, columns)
        first = max(0, min(first, len(cells) - len(place)))
        cells[first : first + len(place)] = place
    return "".join(cells).rstrip()


def _width(document: DocumentExplanation, columns: int) -> int:
    return min(columns, document.chunks * _MAX_CHUNK_COLUMNS)


def _columns_of(chunk: int, document: DocumentExplanation, columns: int) -> tuple[int, int]:
    """Return the first and last column of a chunk."""
    width = _width(document, columns)
    first = chunk * width // document.chunks
    return first, max(first, (chunk + 1) * width // document.chunks - 1)


_TALL_LINES = 3
_OTHER_DOCUMENTS = 3
_BAR_CELLS = 20
_AMOUNT_COLUMNS = 9  # width of a contribution with its padding
_MIN_CONTRIBUTION = 0.15
"""Smallest absolute contribution that is shown."""


def _check_folder(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """Refuse a file whose folder is missing, before the search runs."""
    if name is not None and not Path(name).parent.is_dir():
        raise click.BadParameter(f"there is no folder {Path(name).parent}; create it first")
    return name


class _ExplainArguments(SearchArguments):
    html: str | None
    open_page: bool
    top: int


@click.command(
    cls=ExampleCommand,
    short_help="Explain why a search returns its segments.",
    examples=[
        ("explain the segments of a search", 'spanwise explain "Why did the margin fall in 2018?"'),
        (
            "open an interactive page in the browser",
            'spanwise explain "Why did the margin fall in 2018?" --open',
        ),
        (
            "write the page to a file and the data as JSON",
            'spanwise explain "main risks" --html why.html --json',
        ),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@search_options
@click.option(
    "--top",
    metavar="NUMBER",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Number of candidates to explain, best first.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=_check_folder,
    help="File for the interactive HTML page. The page contains document text.",
)
@click.option(
    "--open",
    "open_page",
    is_flag=True,
    help="Open the page in the browser. Without --html, the page is a temporary file.",
)
@pager_option
@json_option
def explain(**arguments: Unpack[_ExplainArguments]) -> ExitCode:
    """Explain why a search returns its segments.

    For each document, show a plot of relevance by position, with the segments marked by rank (1 is
    best). The lowest bar marks a relevance that is too low to return 100 tokens at their price.
    Then show the best candidates: the contributions that raise or lower the score of each, and why
    it was selected or not. The HTML page shows the same, with sliders for the price of tokens, the
    charge per segment and the budget.
    """
    explanation = _explanation(arguments)
    # Before the output: an error while writing must be the only JSON document.
    if arguments["html"] is not None or arguments["open_page"]:
        _write_page(explanation, arguments["html"], is_opened=arguments["open_page"])
    if arguments["as_json"]:
        plain = explanation.to_dict()
        # Wall times are left out, so that equal searches give equal bytes.
        result = {**explanation.result.to_dict()}
        del result["seconds"]
        tuned = {"tuning": arguments["tuning"]} if arguments["tuning"] else {}
        write_json({**plain, "result": result, **tuned}, sys.stdout)
    else:
        page = Page()
        draw_explanation(explanation, page, top=arguments["top"])
        if arguments["tuning"]:
            page.wrapped(f"tuning file: {one_line(arguments['tuning'])}", "dim")
    return ExitCode.NOTHING_FOUND if explanation.result.not_found else ExitCode.OK


def _explanation(arguments: _ExplainArguments) -> Explanation:
    question, options = question_text(arguments["question"]), read_search_options(arguments)
    with open_knowledge_base(arguments) as knowledge_base:
        keywords = question_keywords(knowledge_base, question, arguments)
        explanation = knowledge_base.explain(question, options=options, **keywords)
    result = with_written(explanation.result, keywords["more_queries"])
    return replace(explanation, result=result)


def _write_page(explanation: Explanation, name: str | None, *, is_opened: bool) -> None:
    """Write the HTML page, report its path, and open it if requested."""
    import tempfile
    import webbrowser

    html = explanation.to_html().encode("utf-8")
    if name is None:
        with tempfile.NamedTemporaryFile(
            prefix="spanwise-explain-", suffix=".html", delete=False
        ) as file:
            file.write(html)
        path = Path(file.name)
    else:
        path = Path(name)
        path.write_bytes(html)
    page = Page(sys.stderr)
    page.message("page: ", str(path), "green")
    if is_opened and not webbrowser.open(path.absolute().as_uri()):
        page.message("warning: ", "no browser could be opened; open the file by hand", "yellow")


def draw_explanation(explanation: Explanation, page: Page, *, top: int) -> None:
    """Write the documents, the best candidates and the parameters of the selection."""
    result, rest = explanation.result, 0
    if result.no_document_passes:
        page.wrapped(as_sentence(result.warnings[0]), "yellow")
    for number, document in enumerate(explanation.documents):
        has_segment = any(document.contains(segment) for segment in result.segments)
        if has_segment or number < len(result.segments) + _OTHER_DOCUMENTS:
            _draw_document(document, explanation, page)
        else:
            rest += 1
    if rest:
        page.line(page.paint(f"and {count(rest, 'document')} with lower relevance", "dim"))
        page.line()
    for candidate in explanation.candidates[:top]:
        _draw_candidate(candidate, explanation, page)
    if result.not_found and not result.no_document_passes:
        page.wrapped("Nothing in the knowledge base answers this question.", "yellow")
    elif result.weak_evidence and not result.no_document_passes:
        page.wrapped("The evidence is weak: there may be no answer.", "yellow")
    for warning in result.warnings[1:] if result.no_document_passes else result.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(result, page)
    terms = explanation.terms
    is_exact = terms.choice == "exact"
    page.wrapped(
        page.joined(
            [
                count(len(result.segments), "segment"),
                f"{result.tokens:,} of {count(terms.budget_tokens, 'token')}",
                f"price {terms.token_price:.3g} per 1,000 tokens" if is_exact else "",
                f"charge {terms.segment_charge:.3g} per segment" if is_exact else "",
                f"{count(result.candidates, 'candidate')} scored",
            ]
        ),
        "dim",
    )


def _draw_document(document: DocumentExplanation, explanation: Explanation, page: Page) -> None:
    segments = [segment for segment in explanation.result.segments if document.contains(segment)]
    facts = f"  {count(document.chunks, 'chunk')}"
    name = one_line(document.title or document.document_name)
    if columns(name) + len(facts) <= page.width:
        page.line(page.paint(name, "bold") + page.paint(facts, "dim"))
    else:
        page.wrapped(name, "bold")
        page.line(page.paint(facts, "dim"))
    for line in relevance_lines(
        document,
        least=explanation.terms.price_relevance,
        columns=page.width,
        lines=_TALL_LINES if segments else 1,
        is_unicode=page.is_unicode,
    ):
        page.line(line)
    if segments:
        marks = mark_line(document, segments, columns=page.width, is_unicode=page.is_unicode)
        page.line(page.paint(marks, "cyan"))
    for segment in sorted(segments, key=lambda segment: segment.rank):
        for note in similar_words_notes(segment.similar_words):
            page.wrapped(f"{segment.rank + 1}: {note}", "dim")
    page.line()


def _draw_candidate(candidate: CandidateExplanation, explanation: Explanation, page: Page) -> None:
    is_selected = candidate.segment is not None
    numbers = f"{page.bar(candidate.relevance)} {candidate.relevance:.2f}"
    name = one_line(f"{candidate.document_name}, chunk {candidate.chunk}")
    gap = page.width - len(numbers) - columns(name)
    if gap >= 2:
        page.line(page.paint(name + " " * gap, "bold") + page.paint(numbers, "green"))
    else:
        page.wrapped(name, "bold")
        page.line(page.paint(numbers, "green"))
    page.wrapped(candidate.reason, *(["cyan"] if is_selected else []))
    page.wrapped(shortened(one_line(candidate.text), 2 * page.width - 8), "dim")
    parts = [part for part in explanation.why(candidate) if abs(part[1]) >= _MIN_CONTRIBUTION]
    longest = max((abs(amount) for _, amount in parts), default=1.0)
    column = max((len(words) for words, _ in parts), default=0)
    cells = min(_BAR_CELLS, page.width - column - _AMOUNT_COLUMNS)
    for words, amount in parts:
        bar = ("█" if page.is_unicode else "#") * max(1, round(abs(amount) / longest * cells))
        shown = page.paint(bar, "green" if amount > 0 else "dim")
        page.line(f"  {words.ljust(column)} {amount:+5.1f}" + (f" {shown}" if cells > 0 else ""))
    facts = [f"share {candidate.share:.3g}", f"value {candidate.value:.3g}"]
    facts.append(count(candidate.tokens, "token"))
    if candidate.scores:
        best = max(candidate.scores, key=lambda scores: scores.share)
        facts += [f"keywords {best.keyword:.1f}", f"cosine {best.cosine:.2f}"]
    page.wrapped("  " + page.joined(facts), "dim", indent="  ")
    page.line()

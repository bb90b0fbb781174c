"""Terminal output of an evaluation: a table for each budget, then comparisons as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.cli.layout import Page, columns, count, duration, one_line, shortened

if TYPE_CHECKING:
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.report import Figures, Summary


_GAP = 2
_MIN_NAME_COLUMNS = 12
_COUNTERPARTS = {"recall": "precision", "page_recall": "page_precision"}
"""Metric that is shown next to another one, because a gain in one usually lowers the other."""


def draw_evaluation(summary: Summary, page: Page, *, judged: Judged | None = None) -> None:
    """Write the figures of all questions, the comparisons, and the warnings of the run.

    Args:
        summary: Figures and measurements.
        page: Output page.
        judged: Graded answers; None to leave them out.
    """
    from spanwise.evaluation.report.summary import evidence_sentence, notices

    evaluation = summary.evaluation
    questions = count(len(summary.groups[0].questions), "question")
    page.wrapped(f"{', '.join(evaluation.datasets)}: {questions}", "bold")
    if sentence := evidence_sentence(summary):
        page.wrapped(sentence)
    page.wrapped(
        f"tokenizer {evaluation.tokenizer}, headers not counted; shares in percent; wrong: texts "
        "from documents without evidence",
        "dim",
    )
    page.line()
    for budget in evaluation.budgets:
        heads, rows = _cells(summary, budget)
        _draw_table(f"{budget:,} tokens", heads, rows, page)
        page.line()
    _draw_datasets(summary, page)
    _draw_sentences(summary, page)
    if judged is not None:
        _draw_answers(judged, page)
    for notice in notices(summary):
        page.message("warning: ", notice, "yellow")


def _cells(summary: Summary, budget: int) -> tuple[list[str], dict[str, list[str]]]:
    """Return the column heads, and the cells of each method."""
    from spanwise.evaluation.metrics import METRICS

    candidates = (_COUNTERPARTS.get(summary.metric, "precision"), "wrong_doc")
    shown = [name for name in candidates if name in summary.metrics and name != summary.metric]
    costs = any(figures.cost != 0 for figures in summary.figures.values())
    heads = [METRICS[summary.metric].words, "95 % interval", *map(_short, shown)]
    heads += ["texts", "tokens", "search", *(["cost"] if costs else [])]
    rows = {}
    for name in summary.evaluation.retrievers:
        figures = summary.figures.get((0, name, budget))
        if figures is None:
            continue
        rows[name] = [
            _mean(figures, summary.metric),
            _interval(figures, summary.metric),
            *(_mean(figures, metric) for metric in shown),
            f"{figures.texts:.1f}",
            f"{figures.tokens:,.0f}",
            duration(figures.seconds),
        ]
        if costs:
            rows[name].append("?" if figures.cost is None else f"${figures.cost:.4f}")
    return heads, rows


def _short(metric: str) -> str:
    from spanwise.evaluation.metrics import METRICS

    return "wrong" if metric == "wrong_doc" else METRICS[metric].words


def _mean(figures: Figures, metric: str) -> str:
    from spanwise.evaluation.report.summary import figure

    interval = figures.intervals.get(metric)
    return "-" if interval is None else figure(interval.mean, metric)


def _interval(figures: Figures, metric: str) -> str:
    from spanwise.evaluation.report.summary import figure

    interval = figures.intervals.get(metric)
    if interval is None or not interval.has_range:
        return "-"
    return f"{figure(interval.low, metric)} to {figure(interval.high, metric)}"


def _draw_table(title: str, heads: Sequence[str], rows: dict[str, list[str]], page: Page) -> None:
    """Write a table; if it is too wide, the name of each row is on a line above its figures."""
    names = {name: one_line(name) for name in rows}
    widths = [
        max(map(columns, column)) + _GAP for column in zip(heads, *rows.values(), strict=True)
    ]
    longest = max(map(columns, (title, *names.values())))
    room = max(page.width - sum(widths), 0)
    label = min(longest, room)
    head = "".join(cell.rjust(width) for cell, width in zip(heads, widths, strict=True))
    if columns(title) <= label:
        head = page.paint(title.ljust(label), "bold") + page.paint(head, "dim")
    else:
        page.line(page.paint(title, "bold"))
        head = page.paint(" " * label + head, "dim")
    page.line(head)
    for name, row in rows.items():
        figures = "".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        if longest <= room:
            page.line(names[name] + " " * (label - columns(names[name])) + figures)
        else:
            page.line(shortened(names[name], page.width))
            page.line(" " * label + figures)


def _draw_datasets(summary: Summary, page: Page) -> None:
    """Write the metric of each dataset, if there are several and the table fits."""
    from spanwise.evaluation.metrics import METRICS
    from spanwise.evaluation.report.summary import question_count

    evaluation = summary.evaluation
    if len(evaluation.datasets) < 2:
        return
    for budget in evaluation.budgets:
        rows: dict[str, list[str]] = {}
        for number, group in enumerate(summary.groups):
            if group.kind == "dataset":
                figures = [
                    summary.figures.get((number, name, budget)) for name in evaluation.retrievers
                ]
                rows[group.name] = [
                    question_count(summary, number),
                    *("-" if cell is None else _mean(cell, summary.metric) for cell in figures),
                ]
        heads = ["questions", *(shortened(one_line(name), 18) for name in evaluation.retrievers)]
        if sum(map(columns, heads)) + _GAP * len(heads) + _MIN_NAME_COLUMNS > page.width:
            page.wrapped("The report shows the figures of each dataset.", "dim")
            page.line()
            return
        _draw_table(f"{METRICS[summary.metric].words} at {budget:,}", heads, rows, page)
        page.line()


def _draw_sentences(summary: Summary, page: Page) -> None:
    from spanwise.evaluation.report.summary import sentences_of

    sentences = sentences_of(summary)
    for budget in summary.evaluation.budgets:
        comparisons = [
            comparison for comparison in sentences.comparisons if comparison.budget_tokens == budget
        ]
        if comparisons:
            page.line(page.paint(f"At {budget:,} tokens", "bold"))
        for sentence in comparisons:
            styles = ["green"] if sentence.holds else []
            page.wrapped(sentence.whole, *styles, indent="  ", hang="  ")
    for limitation in sentences.common:
        page.wrapped(f"All comparisons: {limitation}.", "dim", hang="  ")
    if sentences.comparisons:
        page.line()


def _draw_answers(judged: Judged, page: Page) -> None:
    from spanwise.evaluation.report.answer_tables import answer_table

    table = answer_table(judged)
    for row in table.rows:
        page.facts(zip(table.columns, row, strict=True))
        page.line()
    for sentence in table.sentences:
        page.wrapped(sentence, hang="  ")
    page.line()

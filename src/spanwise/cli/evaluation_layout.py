"""Evaluation on a terminal: a table for each budget, then the comparisons in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.cli.layout import Page, columns, count, duration, one_line, shortened

if TYPE_CHECKING:
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.report import Figures, Summary


_GAP = 2
_LEAST_NAME = 12
_BESIDE = {"recall": "precision", "page_recall": "page_precision"}
"""Metric that is shown next to another one, because a higher value of one lowers the other."""


def draw_evaluation(summary: Summary, page: Page, *, judged: Judged | None = None) -> None:
    """Print the figures of all questions, the comparisons, and warnings of the run.

    Args:
        summary: The figures.
        page: Output.
        judged: Graded answers.
    """
    from spanwise.evaluation.report.summary import notices

    evaluation = summary.evaluation
    asked = count(len(summary.groups[0].questions), "question")
    page.wrapped(f"{', '.join(evaluation.datasets)}: {asked}", "bold")
    page.wrapped(
        f"tokens of {evaluation.tokenizer}, text alone; shares in percent; wrong: texts of "
        "documents without evidence",
        "dim",
    )
    page.line()
    for budget in evaluation.budgets:
        _draw_budget(summary, budget, page)
    _draw_datasets(summary, page)
    _draw_sentences(summary, page)
    if judged is not None:
        _draw_answers(judged, page)
    for notice in notices(summary):
        page.message("warning: ", notice, "yellow")


def _draw_budget(summary: Summary, budget: int, page: Page) -> None:
    heads, rows = _cells(summary, budget)
    _draw_table(f"{budget:,} tokens", heads, rows, page)
    page.line()


def _cells(summary: Summary, budget: int) -> tuple[list[str], dict[str, list[str]]]:
    """Return the heads of the columns, and the cells of each method."""
    from spanwise.evaluation.metrics import METRICS

    beside = (_BESIDE.get(summary.metric, "precision"), "wrong_doc")
    shown = [name for name in beside if name in summary.metrics and name != summary.metric]
    figures = {
        name: found
        for name in summary.evaluation.retrievers
        if (found := summary.figures.get((0, name, budget))) is not None
    }
    costs = any(one.cost != 0 for one in summary.figures.values())
    heads = [METRICS[summary.metric].words, "95 % interval", *map(_short, shown)]
    heads += ["texts", "tokens", "search", *(["cost"] if costs else [])]
    rows = {}
    for name, one in figures.items():
        rows[name] = [
            _mean(one, summary.metric),
            _interval(one, summary.metric),
            *(_mean(one, metric) for metric in shown),
            f"{one.texts:.1f}",
            f"{one.tokens:,.0f}",
            duration(one.seconds),
        ]
        if costs:
            rows[name].append("?" if one.cost is None else f"${one.cost:.4f}")
    return heads, rows


def _short(metric: str) -> str:
    from spanwise.evaluation.metrics import METRICS

    return "wrong" if metric == "wrong_doc" else METRICS[metric].words


def _mean(figures: Figures, metric: str) -> str:
    from spanwise.evaluation.report.summary import figure

    found = figures.intervals.get(metric)
    return "-" if found is None else figure(found.mean, metric)


def _interval(figures: Figures, metric: str) -> str:
    from spanwise.evaluation.report.summary import figure

    found = figures.intervals.get(metric)
    if found is None:
        return ""
    return f"{figure(found.low, metric)} to {figure(found.high, metric)}"


def _draw_table(title: str, heads: Sequence[str], rows: dict[str, list[str]], page: Page) -> None:
    """Print a table; if lines would be too long, each name is printed above its figures."""
    names = {name: one_line(name) for name in rows}
    widths = [
        max(map(columns, column)) + _GAP for column in zip(heads, *rows.values(), strict=True)
    ]
    longest = max(map(columns, (title, *names.values())))
    room = max(page.width - sum(widths), 0)
    label = min(longest, room)
    head = "".join(one.rjust(width) for one, width in zip(heads, widths, strict=True))
    if columns(title) <= label:
        head = page.paint(title.ljust(label), "bold") + page.paint(head, "dim")
    else:
        page.line(page.paint(title, "bold"))
        head = page.paint(" " * label + head, "dim")
    page.line(head)
    for name, row in rows.items():
        figures = "".join(one.rjust(width) for one, width in zip(row, widths, strict=True))
        if longest <= room:
            page.line(names[name] + " " * (label - columns(names[name])) + figures)
        else:
            page.line(shortened(names[name], page.width))
            page.line(" " * label + figures)


def _draw_datasets(summary: Summary, page: Page) -> None:
    """Print the metric of each dataset, if there are several and the table fits."""
    from spanwise.evaluation.metrics import METRICS

    evaluation = summary.evaluation
    if len(evaluation.datasets) < 2:
        return
    for budget in evaluation.budgets:
        rows: dict[str, list[str]] = {}
        for place, group in enumerate(summary.groups):
            if group.kind == "dataset":
                found = [
                    summary.figures.get((place, name, budget)) for name in evaluation.retrievers
                ]
                rows[group.name] = [
                    f"{len(group.questions):,}",
                    *("-" if one is None else _mean(one, summary.metric) for one in found),
                ]
        heads = ["questions", *(shortened(one_line(name), 18) for name in evaluation.retrievers)]
        if sum(map(columns, heads)) + _GAP * len(heads) + _LEAST_NAME > page.width:
            page.wrapped("The report tells the datasets apart.", "dim")
            page.line()
            return
        _draw_table(f"{METRICS[summary.metric].words} at {budget:,}", heads, rows, page)
        page.line()


def _draw_sentences(summary: Summary, page: Page) -> None:
    from spanwise.evaluation.report.summary import sentences_of

    sentences = sentences_of(summary)
    for budget in summary.evaluation.budgets:
        told = [one for one in sentences.said if one.budget_tokens == budget]
        if told:
            page.line(page.paint(f"At {budget:,} tokens", "bold"))
        for one in told:
            page.wrapped(one.whole, *(["green"] if one.holds else []), indent="  ", hang="  ")
    for reservation in sentences.common:
        page.wrapped(f"Of all of these: {reservation}.", "dim", hang="  ")
    if sentences.said:
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

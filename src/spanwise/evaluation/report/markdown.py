"""Markdown file of a report: sentences, tables, and the settings of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.report.summary import (
    ALL,
    evidence_sentence,
    figure,
    notices,
    question_count,
    sentences_of,
)

if TYPE_CHECKING:
    from spanwise.evaluation.report.answer_tables import AnswerTable
    from spanwise.evaluation.report.summary import Figures, Summary
    from spanwise.evaluation.results import Evaluation
    from spanwise.types.plain import Plain


def command_of(evaluation: Evaluation) -> str:
    """Return the command line of a run; empty if it was started from Python."""
    command = evaluation.settings.get("command")
    return command if isinstance(command, str) else ""


def settings_of(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return the settings without the command line, as names and values in text form."""
    found = [("tokens of", evaluation.tokenizer)]
    for name, value in evaluation.settings.items():
        if name not in ("command", "tokenizer"):
            found.append((name.replace("_", " "), "\n".join(_lines(value))))
    return tuple(found)


def _lines(value: Plain) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield f"{name.replace('_', ' ')}: {', '.join(_lines(part))}"
    elif isinstance(value, list):
        for part in value:
            yield ", ".join(_lines(part))
    else:
        yield "none" if value is None else str(value)


_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~])")


def render_markdown(summary: Summary, *, answers: AnswerTable | None = None) -> str:
    """Return a report as Markdown. Names and texts are escaped."""
    lines = [
        f"# Evaluation: {_escaped(', '.join(summary.evaluation.datasets))}",
        "",
        *_sentences(summary),
        *(f"- Note: {_escaped(notice)}" for notice in notices(summary)),
        "",
        *_figures(summary),
        *_groups(summary),
        *_answers(answers),
        *_repeat(summary),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _escaped(text: str) -> str:
    """Return a text on one line, with special characters of Markdown and HTML escaped."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _sentences(summary: Summary) -> Iterator[str]:
    sentences = sentences_of(summary)
    for one in sentences.comparisons:
        yield f"- At {one.budget_tokens:,} tokens, {_escaped(one.whole)}"
    for reservation in sentences.common:
        yield f"- All comparisons: {_escaped(reservation)}."


def _figures(summary: Summary) -> Iterator[str]:
    words = [METRICS[name].words for name in summary.metrics]
    heads = ["method", "budget", *words, "tokens", "texts", "ms"]
    rows = [
        [_escaped(name), f"{budget:,}", *_cells(summary, figures)]
        for (place, name, budget), figures in sorted(
            summary.figures.items(), key=lambda item: item[0][2]
        )
        if place == ALL
    ]
    yield "Shares are in percent, 95 % intervals in brackets."
    yield ""
    if sentence := evidence_sentence(summary):
        yield f"{_escaped(sentence[0].upper() + sentence[1:])}."
        yield ""
    yield from _table(heads, rows)


def _cells(summary: Summary, figures: Figures) -> Iterator[str]:
    for metric in summary.metrics:
        yield _interval(figures, metric)
    yield f"{figures.tokens:,.0f}"
    yield f"{figures.texts:.1f}"
    yield f"{1_000 * figures.seconds:.0f}"


def _interval(figures: Figures | None, metric: str) -> str:
    found = None if figures is None else figures.intervals.get(metric)
    if found is None:
        return "–"
    if not found.has_range:
        return figure(found.mean, metric)
    low, high = figure(found.low, metric), figure(found.high, metric)
    return f"{figure(found.mean, metric)} ({low} to {high})"


def _groups(summary: Summary) -> Iterator[str]:
    if len(summary.groups) < 2:
        return
    names = summary.evaluation.retrievers
    for budget in summary.evaluation.budgets:
        yield f"## By dataset and kind: {METRICS[summary.metric].words} at {budget:,} tokens"
        yield ""
        yield from _table(
            ["questions", "how many", *map(_escaped, names)],
            [
                [
                    _escaped(group.name),
                    question_count(summary, place),
                    *(
                        _interval(summary.figures.get((place, name, budget)), summary.metric)
                        for name in names
                    ),
                ]
                for place, group in enumerate(summary.groups)
            ],
        )


def _answers(answers: AnswerTable | None) -> Iterator[str]:
    if answers is None:
        return
    yield "## Answers, graded"
    yield ""
    yield from _table(answers.columns, [[_escaped(cell) for cell in row] for row in answers.rows])
    yield from (f"- {_escaped(sentence)}" for sentence in answers.sentences)
    yield ""


def _repeat(summary: Summary) -> Iterator[str]:
    yield "## How to repeat it"
    yield ""
    command = command_of(summary.evaluation)
    if command:
        yield from (f"    {line}" for line in command.splitlines())
        yield ""
    for name, value in settings_of(summary.evaluation):
        yield f"- {_escaped(name)}: {_escaped('; '.join(value.splitlines()))}"
    yield ""
    yield "## Metrics"
    yield ""
    for name in summary.metrics:
        yield f"- {METRICS[name].words}: {_escaped(METRICS[name].meaning)} ({METRICS[name].source})"

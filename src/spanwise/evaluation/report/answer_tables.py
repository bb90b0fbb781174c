"""Figures of graded answers as a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.evaluation.answers.figures import ACCURACY, POINTS, answer_figures, compare_answers

if TYPE_CHECKING:
    from spanwise.evaluation.answers.figures import AnswerFigures
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.statistics import Interval
    from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """Table of graded answers, with all cells as text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """One row of cells per answerer."""
    sentences: tuple[str, ...]
    """Comparisons of the answerers, and limitations of the figures, as sentences."""

    def plain(self) -> dict[str, Plain]:
        """Return the table as dicts and lists for the HTML page."""
        return {
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "sentences": list(self.sentences),
        }


def answer_table(judged: Judged) -> AnswerTable:
    """Return the table of graded answers."""
    figures = answer_figures(judged)
    return AnswerTable(
        columns=(
            "answers from",
            "questions",
            ACCURACY.words,
            "correct",
            "incorrect",
            "refused",
            "failed",
            "ungraded",
            POINTS.words,
        ),
        rows=tuple(_row(figure) for figure in figures),
        sentences=(
            *_compared(judged, figures),
            *(
                f"Confidence intervals: {note}."
                for note in dict.fromkeys(figure.note for figure in figures)
                if note
            ),
            *(sentence for figure in figures for sentence in _quotes_and_costs(figure)),
            *(sentence for figure in figures for sentence in _reservations(figure)),
            _models(judged),
        ),
    )


def _row(one: AnswerFigures) -> tuple[str, ...]:
    counts = (one.correct, one.incorrect, one.refused, one.failed, one.ungraded)
    return (
        one.answerer,
        f"{one.questions:,}",
        _percent(one.accuracy),
        *(f"{number:,}" for number in counts),
        _percent(one.points),
    )


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    if not interval.has_range:
        return f"{100 * interval.mean:.1f}"
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.mean:.1f} ({low:.1f} to {high:.1f})"


def _compared(judged: Judged, figures: tuple[AnswerFigures, ...]) -> Iterator[str]:
    """Yield the comparison of each answerer with the first one."""
    first, *others = figures
    for one in others:
        for metric, mine, its in (
            (ACCURACY, one.accuracy, first.accuracy),
            (POINTS, one.points, first.points),
        ):
            if mine is not None and its is not None:
                found = compare_answers(judged, one.answerer, first.answerer, metric=metric)
                yield f"{found.sentence}."


def _quotes_and_costs(one: AnswerFigures) -> Iterator[str]:
    """Yield the figures of one answerer about refusals, quotes and costs."""
    if one.refusals is not None:
        yield (
            f"{one.answerer}: {_percent(one.refusals)} % of the questions that have an answer were "
            "refused."
        )
    if one.quotes_verified is not None:
        yield (
            f"{one.answerer}: {_percent(one.quotes_verified)} % of the quotes of an answer were "
            f"found in the documents ({one.quotes:,} quotes)."
        )
    if one.other_documents is not None:
        yield (
            f"{one.answerer}: {_percent(one.other_documents)} % of the answers quote a document "
            "without labelled evidence."
        )
    cost = "an unknown price" if one.cost is None else f"${one.cost:.4f}"
    yield f"{one.answerer}: {one.calls:.1f} calls and {cost} per question."


def _reservations(one: AnswerFigures) -> Iterator[str]:
    """Yield the limitations of the figures of one answerer."""
    agreement = one.agreement
    if agreement.equal is not None:
        kappa = "" if agreement.kappa is None else f", Fleiss' kappa {agreement.kappa:.2f}"
        yield (
            f"{one.answerer}: when an answer was graded again, the judge gave the same verdict "
            f"{100 * agreement.equal:.0f} % of the time{kappa} ({agreement.answers:,} answers)."
        )
    if agreement.deviation is not None:
        yield (
            f"{one.answerer}: scores of the same answer deviate by {agreement.deviation:.2f} of "
            f"10 ({agreement.scored:,} answers)."
        )
    if one.unanswerable:
        yield (
            f"{one.answerer}: {one.rightly_refused:,} of {one.unanswerable:,} questions that the "
            "documents do not answer were refused, as they should be."
        )
    if one.swayed:
        yield (
            f"{one.answerer}: {one.swayed:,} answers that the judge passed against the right "
            "answer of another question too count as wrong."
        )
    if one.uncontrolled:
        yield f"{one.answerer}: {one.uncontrolled:,} answers passed without a control."


def _models(judged: Judged) -> str:
    answers, grades = (
        "at a price that is not known" if usage.cost is None else f"for ${usage.cost:.4f}"
        for usage in (judged.usage, judged.judge_usage)
    )
    readings = f"{judged.repeats} reading{'s' * (judged.repeats != 1)} of each"
    return f"Answered by {judged.llm} {answers}; graded by {judged.judge}, {readings}, {grades}."

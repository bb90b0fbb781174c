"""The HTML page of a report: one self-contained file that its script draws from embedded data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.report.markdown import command_of, settings_of
from spanwise.evaluation.report.question_rows import Detail, question_rows
from spanwise.evaluation.report.summary import ALL, notices, sentences_of
from spanwise.search.explanation.page import SingleFile, asset

if TYPE_CHECKING:
    from spanwise.evaluation.report.answer_tables import AnswerTable
    from spanwise.evaluation.report.question_rows import Beside
    from spanwise.evaluation.report.summary import Figures, Summary
    from spanwise.evaluation.statistics import Comparison
    from spanwise.types.plain import Plain


_SHARED, _OWN = "spanwise.search.explanation", "spanwise.evaluation.report"
_SCRIPTS = ("figures.js", "curves.js", "evidence.js", "questions.js", "report.js")
"""Scripts that form one module in this order, after the shared script of all pages."""
_MOST_BYTES = 4_000_000
_DETAILS = (
    Detail(evidence_chars=2_000, places=60, text_chars=400),
    Detail(evidence_chars=1_200, places=60, text_chars=160),
    Detail(evidence_chars=1_200, places=60, text_chars=0),
    Detail(evidence_chars=600, places=25, text_chars=0),
    Detail(evidence_chars=240, places=10, text_chars=0),
    Detail(evidence_chars=0, places=3, text_chars=0),
    Detail(evidence_chars=0, places=0, text_chars=0),
)
"""Limits of the data of each question, from the most detailed to the least."""


def render_page(summary: Summary, beside: Beside, *, answers: AnswerTable | None = None) -> str:
    """Return the page.

    The detail of each question is reduced until the page fits into four million bytes.

    Args:
        summary: The figures.
        beside: Data besides the figures: texts of documents and explain views.
        answers: Figures of graded answers.
    """
    page = SingleFile.of(
        asset(_OWN, "page.html"),
        styles=[asset(_SHARED, "ground.css"), asset(_OWN, "page.css")],
        scripts=[asset(_SHARED, "elements.js"), *(asset(_OWN, name) for name in _SCRIPTS)],
    )
    figures = _Data(summary).plain()
    figures["grades"] = None if answers is None else answers.plain()
    written = ""
    for detail in _DETAILS:
        rows = question_rows(summary.evaluation, summary.metrics, beside=beside, detail=detail)
        written = page.with_data({**figures, **rows})
        if len(written.encode("utf-8")) <= _MOST_BYTES:
            break
    return written


@dataclass(frozen=True, slots=True)
class _Data:
    """Figures for the script of the page; positions in lists replace names."""

    summary: Summary

    def plain(self) -> dict[str, Plain]:
        """Return all data except the questions."""
        summary, evaluation = self.summary, self.summary.evaluation
        return {
            "title": ", ".join(evaluation.datasets),
            "summary": self._summary(),
            "sentences": sentences_of(summary).plain(),
            "notices": list(notices(summary)),
            "datasets": list(evaluation.datasets),
            "budgets": list(evaluation.budgets),
            "retrievers": list(evaluation.retrievers),
            "metrics": [self._metric(name) for name in summary.metrics],
            "main": summary.metrics.index(summary.metric),
            "best": self._best(),
            "groups": self._groups(),
            "figures": [
                [
                    [self._figures(place, name, budget) for budget in evaluation.budgets]
                    for name in evaluation.retrievers
                ]
                for place in range(len(summary.groups))
            ],
            "hasCost": any(figures.cost != 0 for figures in summary.figures.values()),
            "comparisons": [
                self._comparison(*key, comparison)
                for key, comparison in summary.comparisons.items()
            ],
            "command": command_of(evaluation),
            "settings": [[name, value] for name, value in settings_of(evaluation)],
        }

    def _summary(self) -> str:
        evaluation = self.summary.evaluation
        questions = len(self.summary.groups[ALL].questions)
        sets = len(evaluation.datasets)
        return (
            f"{questions:,} question{'s' * (questions != 1)}"
            f"{f' of {sets} datasets, each counted alike,' * (sets > 1)} at equal tokens "
            f"({evaluation.tokenizer}, text alone)"
        )

    def _metric(self, name: str) -> dict[str, Plain]:
        metric = METRICS[name]
        return {
            "name": name,
            "words": metric.words,
            "meaning": f"{metric.meaning} {metric.source}.",
            "isShare": metric.unit == "share",
            "isHigherBetter": metric.higher_is_better is not False,
        }

    def _best(self) -> int:
        """Return the position of the best method over all questions at the smallest budget."""
        summary = self.summary
        sign = -1 if METRICS[summary.metric].higher_is_better is False else 1
        budget = summary.evaluation.budgets[0]

        def reached(name: str) -> float:
            figures = summary.figures.get((ALL, name, budget))
            interval = figures.intervals.get(summary.metric) if figures else None
            return float("-inf") if interval is None else sign * interval.mean

        names = list(summary.evaluation.retrievers)
        return names.index(max(names, key=reached))

    def _groups(self) -> list[Plain]:
        places = {key: at for at, key in enumerate(self.summary.groups[ALL].questions)}
        return [
            {
                "name": group.name,
                "kind": group.kind,
                "questions": len(group.questions),
                "members": [places[key] for key in group.questions] if at != ALL else [],
            }
            for at, group in enumerate(self.summary.groups)
        ]

    def _figures(self, place: int, name: str, budget: int) -> Plain:
        figures: Figures | None = self.summary.figures.get((place, name, budget))
        if figures is None:
            return None
        return {
            "values": [_interval(figures.intervals, metric) for metric in self.summary.metrics],
            "tokens": round(figures.tokens, 1),
            "texts": round(figures.texts, 2),
            "milliseconds": round(1_000 * figures.seconds, 1),
            "slowest": round(1_000 * figures.slowest_seconds, 1),
            "cost": None if figures.cost is None else round(figures.cost, 6),
        }

    def _comparison(self, place: int, name: str, budget: int, found: Comparison) -> Plain:
        evaluation = self.summary.evaluation
        difference = found.difference
        return {
            "group": place,
            "retriever": evaluation.retrievers.index(name),
            "budget": evaluation.budgets.index(budget),
            "metric": self.summary.metrics.index(self.summary.metric),
            "difference": round(difference.mean, 5),
            "low": round(difference.low, 5),
            "high": round(difference.high, 5),
            "isSeen": found.holds_among_all,
            "sentence": found.sentence,
        }


def _interval(intervals: Mapping[str, object], metric: str) -> Plain:
    from spanwise.evaluation.statistics import Interval

    found = intervals.get(metric)
    if not isinstance(found, Interval):
        return None
    return [round(found.mean, 7), round(found.low, 7), round(found.high, 7)]

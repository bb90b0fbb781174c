"""HTML page of a report: one self-contained file; its script draws the embedded data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.report.markdown import command_of, settings_of
from spanwise.evaluation.report.summary import ALL, evidence_sentence, notices, sentences_of
from spanwise.evaluation.retrievers.text_location import UNPLACED
from spanwise.loading import package_text
from spanwise.search.explanation.page import SingleFile

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
    from spanwise.evaluation.report.answer_tables import AnswerTable
    from spanwise.evaluation.report.summary import Figures, Summary
    from spanwise.evaluation.results import Evaluation, Scored
    from spanwise.evaluation.retrieval import Retrieved
    from spanwise.evaluation.statistics import Comparison
    from spanwise.types.plain import Plain


_MAX_EVIDENCE = 12
_QUESTION_CHARS, _ANSWER_CHARS, _NAME_CHARS = 1_000, 600, 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportExtras:
    """Texts and explain pages that a report shows in addition to the figures."""

    texts: Mapping[str, Mapping[str, DocumentText]] = field(default_factory=dict)
    """Document texts by dataset name and document id; excerpts of other documents are not shown."""
    explained: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """Address of each explain page, by dataset, question id and method."""
    drawing: Mapping[str, str] | None = None
    """First part of the command that writes an explain page, by method.

    Empty if no command can write the page. Methods that cannot be explained have no entry. None if
    the report does not mention explain pages.
    """
    words: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Last part of the command that writes an explain page, by dataset and question id."""

    def text(self, dataset: str, document_id: str, start: int, end: int) -> str:
        """Return a character range of a document; empty if the document is unknown."""
        known = self.texts.get(dataset, {}).get(document_id)
        return "" if known is None else known.text[start:end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Limits on the data shown for one question."""

    evidence_chars: int
    """Maximum number of characters of each piece of evidence."""
    places: int
    """Maximum number of results of each method."""
    text_chars: int
    """Maximum number of characters of each result."""


@dataclass(frozen=True, slots=True)
class _Writer:
    """Converter of questions and results to page data, which names documents by list index."""

    metrics: Sequence[str]
    retrievers: Sequence[str]
    extras: ReportExtras
    detail: Detail
    documents: dict[str, int] = field(default_factory=dict)

    def document(self, document_id: str) -> int:
        """Return the index of a document in the name list; -1 for an unknown document."""
        if document_id == UNPLACED:
            return -1
        return self.documents.setdefault(document_id, len(self.documents))

    def question(self, dataset: str, question: LabelledQuestion, *, place: int) -> Plain:
        """Return the question data that are equal for all methods."""
        key = (dataset, question.id)
        about = (f"{name}: {value}" for name, value in question.metadata.items())
        shown = question.evidence[:_MAX_EVIDENCE]
        return {
            "id": question.id,
            "text": _cut(question.text, _QUESTION_CHARS),
            "dataset": place,
            "answer": _cut(question.answer, _ANSWER_CHARS),
            "rubric": _cut(question.rubric, _ANSWER_CHARS),
            "about": _cut(", ".join(about), _ANSWER_CHARS),
            "evidence": [self._evidence(dataset, text) for text in shown],
            "moreEvidence": len(question.evidence) - len(shown),
            "explained": [self.extras.explained.get((*key, name), "") for name in self.retrievers],
            "words": self.extras.words.get(key, ""),
        }

    def _evidence(self, dataset: str, evidence: Evidence) -> Plain:
        start, end = evidence.start, evidence.end
        text = evidence.text
        if start is not None and end is not None:
            text = self.extras.text(dataset, evidence.document_id, start, end) or text
        most = self.detail.evidence_chars
        return {
            "document": self.document(evidence.document_id),
            "start": start,
            "end": end,
            "page": evidence.page,
            "text": text[:most],
            "isCut": len(text) > most > 0,
        }

    def row(self, scored: Scored) -> Plain:
        """Return the figures and results of one method for one question."""
        shown = scored.found[: self.detail.places]
        row: dict[str, Plain] = {
            "values": [_rounded(scored.metrics.get(metric)) for metric in self.metrics],
            "tokens": round(scored.tokens),
            "places": [self._place(text) for text in shown],
        }
        if len(scored.found) > len(shown):
            row["more"] = len(scored.found) - len(shown)
        if self.detail.text_chars and shown:
            row["texts"] = [self._text(scored.dataset, text) for text in shown]
        if scored.warnings:
            row["warnings"] = [_cut(warning, _ANSWER_CHARS) for warning in scored.warnings[:3]]
        return row

    def _place(self, found: Retrieved) -> Plain:
        place: list[Plain] = [self.document(found.document_id)]
        if found.start is not None and found.end is not None:
            return [*place, found.start, found.end]
        return place if found.pages is None else [*place, *found.pages, 1]

    def _text(self, dataset: str, found: Retrieved) -> str:
        text = found.text or ""
        if not text and found.start is not None and found.end is not None:
            text = self.extras.text(dataset, found.document_id, found.start, found.end)
        return _cut(" ".join(text.split()), self.detail.text_chars)


def question_rows(
    evaluation: Evaluation, metrics: Sequence[str], *, extras: ReportExtras, detail: Detail
) -> dict[str, Plain]:
    """Return the questions, the document names, and a row for each question, method and budget.

    Rows are sorted by question, then method, then budget. A row is None if the method was not
    measured on the question.
    """
    writer = _Writer(metrics, evaluation.retrievers, extras, detail)
    datasets = {name: at for at, name in enumerate(evaluation.datasets)}
    questions = {(score.dataset, score.question.id): score.question for score in evaluation.scores}
    rows = {
        (score.dataset, score.question.id, score.retriever, score.budget_tokens): score
        for score in evaluation.scores
    }
    runs = [(name, budget) for name in evaluation.retrievers for budget in evaluation.budgets]
    written: list[Plain] = []
    for dataset, identity in questions:
        for name, budget in runs:
            one = rows.get((dataset, identity, name, budget))
            written.append(None if one is None else writer.row(one))
    return {
        "questions": [
            writer.question(key[0], question, place=datasets[key[0]])
            for key, question in questions.items()
        ],
        "rows": written,
        "documents": [_cut(name, _NAME_CHARS) for name in writer.documents],
        "evidenceChars": detail.evidence_chars,
        "drawing": None
        if extras.drawing is None
        else [extras.drawing.get(name) for name in evaluation.retrievers],
    }


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[:chars].rstrip() + " …"


def _rounded(value: float | None) -> float | None:
    """Return a figure rounded to four decimals; a whole number is returned as an integer."""
    if value is None:
        return None
    return int(value) if value == int(value) else round(value, 4)


_SHARED, _OWN = "spanwise.search.explanation", "spanwise.evaluation.report"
_SCRIPTS = ("figures.js", "curves.js", "evidence.js", "questions.js", "report.js")
"""Scripts of the report in dependency order; the script shared by all pages comes first."""
_MAX_BYTES = 4_000_000
_DETAILS = (
    Detail(evidence_chars=2_000, places=60, text_chars=400),
    Detail(evidence_chars=1_200, places=60, text_chars=160),
    Detail(evidence_chars=1_200, places=60, text_chars=0),
    Detail(evidence_chars=600, places=25, text_chars=0),
    Detail(evidence_chars=240, places=10, text_chars=0),
    Detail(evidence_chars=0, places=3, text_chars=0),
    Detail(evidence_chars=0, places=0, text_chars=0),
)
"""Limits on the data of each question, from the most to the least detailed."""


def render_page(
    summary: Summary, extras: ReportExtras, *, answers: AnswerTable | None = None
) -> str:
    """Return the HTML page of a report.

    The details of the questions are shortened until the page has at most four million bytes.

    Args:
        summary: Figures and measurements.
        extras: Texts and explain pages of the questions.
        answers: Figures of graded answers; None to leave them out.
    """
    page = SingleFile.of(
        package_text(_OWN, "page.html"),
        styles=[package_text(_SHARED, "ground.css"), package_text(_OWN, "page.css")],
        scripts=[
            package_text(_SHARED, "elements.js"),
            *(package_text(_OWN, name) for name in _SCRIPTS),
        ],
    )
    figures = _Data(summary).plain()
    figures["grades"] = None if answers is None else answers.plain()
    written = ""
    for detail in _DETAILS:
        rows = question_rows(summary.evaluation, summary.metrics, extras=extras, detail=detail)
        written = page.with_data({**figures, **rows})
        if len(written.encode("utf-8")) <= _MAX_BYTES:
            break
    return written


@dataclass(frozen=True, slots=True)
class _Data:
    """Converter of figures to page data, which names methods, metrics and budgets by list index."""

    summary: Summary

    def plain(self) -> dict[str, Plain]:
        """Return the page data without the questions."""
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
        sentence = evidence_sentence(self.summary)
        return (
            f"{questions:,} question{'s' * (questions != 1)}"
            f"{f' of {sets} datasets, each counted alike,' * (sets > 1)} at equal tokens "
            f"({evaluation.tokenizer}, text alone){f'; {sentence}' * bool(sentence)}"
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
        """Return the index of the best method over all questions at the smallest budget."""
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
                "measured": [self.summary.measured(at, name) for name in self.summary.metrics],
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
            "low": round(difference.low, 5) if difference.has_range else None,
            "high": round(difference.high, 5) if difference.has_range else None,
            "isSeen": found.holds_among_all,
            "sentence": found.sentence,
        }


def _interval(intervals: Mapping[str, object], metric: str) -> Plain:
    from spanwise.evaluation.statistics import Interval

    found = intervals.get(metric)
    if not isinstance(found, Interval):
        return None
    ends: list[Plain] = [None, None]
    if found.has_range:
        ends = [round(found.low, 7), round(found.high, 7)]
    return [round(found.mean, 7), *ends]

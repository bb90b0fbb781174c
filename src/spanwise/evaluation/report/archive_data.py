"""Data of a report for the archive of the knowledge base."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spanwise.errors import OptionError
from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.report.answer_tables import answer_table
from spanwise.evaluation.report.report_files import figures_data
from spanwise.evaluation.report.summary import ALL, notices
from spanwise.knowledge_base.report_archive import ReportArchive

if TYPE_CHECKING:
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.report.summary import Summary
    from spanwise.evaluation.results import Scored
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.knowledge_base.report_archive import ArchivedReport
    from spanwise.types.plain import Plain


def archive_report(
    base: KnowledgeBase, summary: Summary, *, judged: Judged | None = None
) -> ArchivedReport:
    """Add a report to the archive of a knowledge base; the server shows it on its web page.

    Args:
        base: Knowledge base on disk.
        summary: Figures and measurements.
        judged: Graded answers; None to leave them out.

    Raises:
        OptionError: If the knowledge base is not a folder on disk.
        OSError: If the file cannot be written.
    """
    archive = ReportArchive.of(base)
    if archive is None:
        raise OptionError(
            "the knowledge base is not a folder on disk, so it has no archive of reports; write "
            "the report to files with `write_reports`"
        )
    return archive.add(_archive_data(summary, judged), created_at=datetime.now(UTC))


def _archive_data(summary: Summary, judged: Judged | None) -> dict[str, Any]:
    evaluation, metric = summary.evaluation, METRICS[summary.metric]
    return {
        "datasets": list(evaluation.datasets),
        "tokenizer": evaluation.tokenizer,
        "retrievers": list(evaluation.retrievers),
        "budgets": list(evaluation.budgets),
        "metric": {
            "name": metric.name,
            "words": metric.words,
            "meaning": metric.meaning,
            "unit": metric.unit,
            "higher_is_better": metric.higher_is_better is not False,
        },
        "metrics": {
            name: {"words": METRICS[name].words, "unit": METRICS[name].unit}
            for name in summary.metrics
        },
        **figures_data(summary),
        "notices": list(notices(summary)),
        "questions": _question_rows(summary),
        "answers": None if judged is None else answer_table(judged).plain(),
    }


def _question_rows(summary: Summary) -> list[Plain]:
    """Return each question with the value of the main metric by method and budget."""
    evaluation = summary.evaluation
    scores: dict[tuple[str, str], list[Scored]] = {key: [] for key in summary.groups[ALL].questions}
    for score in evaluation.scores:
        scores[score.dataset, score.question.id].append(score)
    rows: list[Plain] = []
    for (dataset, _), measured in scores.items():
        question = measured[0].question
        values: dict[str, dict[str, float | None]] = {}
        for score in measured:
            value = score.metrics.get(summary.metric)
            values.setdefault(score.retriever, {})[str(score.budget_tokens)] = value
        rows.append(
            {
                "dataset": dataset,
                "id": question.id,
                "text": question.text,
                "evidence": [
                    {"document_id": one.document_id, "start": one.start, "end": one.end}
                    for one in question.evidence[:5]
                ],
                "values": {name: dict(by_budget) for name, by_budget in values.items()},
            }
        )
    return rows

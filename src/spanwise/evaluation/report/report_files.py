"""Files of a report: HTML page, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.report.answer_tables import answer_table
from spanwise.evaluation.report.markdown import render_markdown
from spanwise.evaluation.report.report_page import ReportExtras, render_page
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.report.summary import Figures, Group, Summary
    from spanwise.evaluation.statistics import Comparison, Interval
    from spanwise.types.plain import Plain


def report_data(summary: Summary, *, judged: Judged | None = None) -> dict[str, Plain]:
    """Return a report as dicts, lists and scalars.

    `Evaluation.from_plain` converts it back, and `Judged.from_plain` converts its entry "judged".

    Args:
        summary: Figures and measurements.
        judged: Graded answers; None to leave them out.
    """
    measured = summary.evaluation.to_plain()
    data: dict[str, Plain] = {
        "format": measured.pop("format"),
        "metric": summary.metric,
        **figures_data(summary),
        **measured,
    }
    if judged is not None:
        data["judged"] = to_plain(judged)
    return data


def figures_data(summary: Summary) -> dict[str, Plain]:
    """Return the figures and comparisons of a report as dicts, lists and scalars."""
    return {
        "figures": [
            {
                **_of(summary.groups[place]),
                "retriever": name,
                "budget_tokens": budget,
                **_figures(figures),
            }
            for (place, name, budget), figures in summary.figures.items()
        ],
        "comparisons": [
            {
                **_of(summary.groups[place]),
                "retriever": name,
                "against": summary.reference,
                "budget_tokens": budget,
                **_comparison(found),
            }
            for (place, name, budget), found in summary.comparisons.items()
        ],
    }


def _of(group: Group) -> dict[str, Plain]:
    return {"questions": group.name, "kind": group.kind, "count": len(group.questions)}


def _figures(figures: Figures) -> dict[str, Plain]:
    return {
        "metrics": {name: _interval(one) for name, one in figures.intervals.items()},
        "tokens": figures.tokens,
        "texts": figures.texts,
        "seconds": figures.seconds,
        "slowest_seconds": figures.slowest_seconds,
        "cost": figures.cost,
    }


def _comparison(found: Comparison) -> dict[str, Plain]:
    adjusted = found.adjusted_p_value
    return {
        "difference": _interval(found.difference),
        "p_value": found.p_value if adjusted is None else adjusted,
        "holds": found.holds_among_all,
        "sentence": found.sentence,
    }


def _interval(interval: Interval) -> dict[str, Plain]:
    return {
        "mean": interval.mean,
        "low": interval.low if interval.has_range else None,
        "high": interval.high if interval.has_range else None,
        "questions": interval.questions,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Paths of the HTML, Markdown and JSON files of a report."""

    page: Path
    markdown: Path
    data: Path


def report_paths(path: Path) -> Reports:
    """Return the paths of a report: three files in one folder that differ only in the suffix.

    Files of an earlier report may be replaced.

    Raises:
        OptionError: If the name does not end in .html, or would replace a file that is not part
            of an earlier report.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"the report is {path.name!r}; give it a name that ends in .html")
    reports = Reports(page=path, markdown=path.with_suffix(".md"), data=path.with_suffix(".json"))
    for other in (reports.markdown, reports.data):
        # The page is written first, so a file without a page (README.md) is not part of a report.
        if other.exists() and not path.exists():
            raise OptionError(
                f"{other} exists and is not part of an earlier report; give the report another name"
            )
    return reports


def write_reports(
    summary: Summary,
    path: Path,
    *,
    extras: ReportExtras | None = None,
    judged: Judged | None = None,
) -> Reports:
    """Write a report: an HTML page, and a Markdown and a JSON file next to it.

    Args:
        summary: Figures and measurements.
        path: Path of the page, ending in .html. Its folder is created if it is missing.
        extras: Texts and explain pages of the questions; None to leave them out.
        judged: Graded answers; None to leave them out.

    Raises:
        OptionError: If the name does not end in .html, or would replace a file that is not part
            of an earlier report.
        OSError: If a file cannot be written.
    """
    reports = report_paths(path)
    answers = None if judged is None else answer_table(judged)
    data = report_data(summary, judged=judged)
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_page(summary, extras or ReportExtras(), answers=answers)
    reports.page.write_bytes(page.encode("utf-8"))
    reports.markdown.write_text(
        render_markdown(summary, answers=answers), encoding="utf-8", newline="\n"
    )
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    reports.data.write_bytes((written + "\n").encode("utf-8", "replace"))
    return reports

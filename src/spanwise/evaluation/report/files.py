"""The three files of a report: a page, the same as Markdown, and all that was measured as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.report.answers import answer_table
from spanwise.evaluation.report.data import report_data
from spanwise.evaluation.report.markdown import render_markdown
from spanwise.evaluation.report.page import render_page
from spanwise.evaluation.report.questions import Beside

if TYPE_CHECKING:
    from spanwise.evaluation.judging.graded import Judged
    from spanwise.evaluation.report.summary import Summary

__all__ = ["Reports", "report_paths", "write_reports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Where the files lie."""

    page: Path
    markdown: Path
    data: Path


def report_paths(path: Path) -> Reports:
    """Return where the files of a report go: beside the page, with its stem.

    They replace those of an earlier report, and nothing else.

    Raises:
        OptionError: If the name does not end in .html, or a file stands in the way.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"the report is {path.name!r}; give it a name that ends in .html")
    reports = Reports(page=path, markdown=path.with_suffix(".md"), data=path.with_suffix(".json"))
    for beside in (reports.markdown, reports.data):
        # The page is written first: a file without one, such as README.md, is somebody's own.
        if beside.exists() and not path.exists():
            raise OptionError(
                f"{beside} is there, and not of a report that was written before; give the report "
                "another name"
            )
    return reports


def write_reports(
    summary: Summary, path: Path, *, beside: Beside | None = None, judged: Judged | None = None
) -> Reports:
    """Write the page, and Markdown and JSON beside it.

    Args:
        summary: The figures, and what was measured.
        path: Of the page, a name that ends in .html; its folder is made where it is missing.
        beside: What is shown of questions besides the figures.
        judged: Answers that were graded.

    Raises:
        OptionError: If the name does not end in .html, or a file stands in the way.
        OSError: If a file cannot be written.
    """
    reports = report_paths(path)
    answers = None if judged is None else answer_table(judged)
    data = report_data(summary, judged=judged)
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_page(summary, beside or Beside(), answers=answers)
    reports.page.write_bytes(page.encode("utf-8"))
    reports.markdown.write_text(
        render_markdown(summary, answers=answers), encoding="utf-8", newline="\n"
    )
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    reports.data.write_bytes((written + "\n").encode("utf-8", "replace"))
    return reports

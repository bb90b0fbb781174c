"""Report of an evaluation: an HTML page, Markdown and JSON."""

from spanwise.evaluation.report.archive_data import archive_report
from spanwise.evaluation.report.report_files import (
    Reports,
    report_data,
    report_paths,
    write_reports,
)
from spanwise.evaluation.report.report_page import ReportExtras
from spanwise.evaluation.report.summary import ALL, Figures, Group, Summary, summarise
from spanwise.evaluation.report.views import drawing_commands, question_words, write_views

__all__ = [
    "ALL",
    "Figures",
    "Group",
    "ReportExtras",
    "Reports",
    "Summary",
    "archive_report",
    "drawing_commands",
    "question_words",
    "report_data",
    "report_paths",
    "summarise",
    "write_reports",
    "write_views",
]

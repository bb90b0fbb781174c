"""The files of a report, and what stands in the Markdown and the JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluations import made_evaluation, with_unanswerable

from spanwise.errors import OptionError
from spanwise.evaluation.report import report_paths, summarise, write_reports
from spanwise.evaluation.report.markdown import render_markdown
from spanwise.evaluation.results import Evaluation


def test_markdown_and_json_lie_beside_the_page(tmp_path: Path) -> None:
    evaluation = made_evaluation(8)
    reports = write_reports(summarise(evaluation), tmp_path / "new" / "report.html")
    assert {one.name for one in (tmp_path / "new").iterdir()} == {
        "report.html",
        "report.md",
        "report.json",
    }
    assert reports.page.read_text("utf-8").startswith("<!doctype html>")
    assert Evaluation.from_plain(json.loads(reports.data.read_text("utf-8"))) == evaluation


def test_the_same_evaluation_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        write_reports(summarise(made_evaluation(8)), tmp_path / name / "report.html")
        for name in ("a", "b")
    )
    assert first.page.read_bytes() == second.page.read_bytes()
    assert first.markdown.read_bytes() == second.markdown.read_bytes()
    assert first.data.read_bytes() == second.data.read_bytes()


@pytest.mark.parametrize("name", ["report", "report.md", "report.json"])
def test_a_report_is_called_html(name: str) -> None:
    with pytest.raises(OptionError, match=r"give it a name that ends in \.html"):
        report_paths(Path(name))


@pytest.mark.parametrize("name", ["README.md", "README.json"])
def test_what_is_no_report_is_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(OptionError, match=rf"{name} exists and is not part of an earlier report"):
        write_reports(summarise(made_evaluation(8)), tmp_path / "README.html")
    assert [one.read_text("utf-8") for one in tmp_path.iterdir()] == ["mine"]


def test_a_report_replaces_a_report(tmp_path: Path) -> None:
    for questions in (8, 9):
        reports = write_reports(summarise(made_evaluation(questions)), tmp_path / "report.html")
        data = json.loads(reports.data.read_text("utf-8"))
        assert data["figures"][0]["count"] == questions


def test_the_data_begin_with_the_figures_of_the_tables(tmp_path: Path) -> None:
    evaluation = made_evaluation(24)
    summary = summarise(evaluation, metric="precision")
    data = json.loads(write_reports(summary, tmp_path / "report.html").data.read_text("utf-8"))
    assert list(data)[:4] == ["format", "metric", "figures", "comparisons"]
    found = {
        (one["questions"], one["retriever"], one["budget_tokens"]): one for one in data["figures"]
    }
    assert len(found) == len(data["figures"]) == len(summary.figures)
    interval = evaluation.interval("precision", "bm25", 4_000, dataset="contracts")
    assert interval is not None
    assert found["contracts", "bm25", 4_000]["metrics"]["precision"] == {
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "questions": 12,
    }
    first = data["comparisons"][0]
    compared = summary.comparisons[0, "top-k+headers", 1_000]
    assert (first["retriever"], first["against"]) == ("top-k+headers", "exact+headers")
    assert (first["holds"], first["sentence"]) == (compared.holds_among_all, compared.sentence)


def test_each_setting_is_told_once() -> None:
    evaluation = made_evaluation(8)
    settings = {**evaluation.settings, "tokenizer": evaluation.tokenizer}
    written = render_markdown(summarise(replace(evaluation, settings=settings)))
    assert written.count("chars:4") == 1


def test_tables_of_markdown_have_a_cell_a_column() -> None:
    written = render_markdown(summarise(made_evaluation(30)))
    tables = re.findall(r"(?:^\|.*\n)+", written, re.M)
    assert len(tables) == 3  # all questions, and the groups at each budget
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "    spanwise eval questions.jsonl --kb reports.kb" in written


def test_names_cannot_draw_in_markdown() -> None:
    evaluation = made_evaluation(12, datasets=["a|b\n<img src=x>", "[c](http://d)"])
    settings = {"command": "spanwise eval", "tuning": "# head\n<script>"}
    written = render_markdown(summarise(replace(evaluation, settings=settings)))
    assert r"a\|b \<img src=x\>" in written
    assert r"\[c\](http://d)" in written
    assert r"- tuning: \# head; \<script\>" in written
    assert not re.search(r"(?<!\\)<", written)


def test_the_number_of_questions_stands_behind_each_figure(tmp_path: Path) -> None:
    evaluation = with_unanswerable(made_evaluation(24, datasets=["filings"]))
    reports = write_reports(summarise(evaluation), tmp_path / "report.html")

    markdown = reports.markdown.read_text("utf-8")
    assert "questions with evidence: 18 of 24." in markdown
    assert "| all questions | 18 of 24 |" in markdown
    row = json.loads(reports.data.read_text("utf-8"))["figures"][0]
    assert (row["count"], row["metrics"]["recall"]["questions"]) == (24, 18)
    page = reports.page.read_text("utf-8")
    assert "questions with evidence: 18 of 24" in page
    assert '"tokens":900' in page
    assert '"tokens":0' not in page


def test_a_mean_of_one_question_has_no_interval(tmp_path: Path) -> None:
    evaluation = made_evaluation(1, datasets=["filings"])
    reports = write_reports(summarise(evaluation), tmp_path / "report.html")

    rows = [one for one in reports.markdown.read_text("utf-8").splitlines() if "| 1,000 |" in one]
    assert rows
    assert not any(" to " in row for row in rows)
    data = json.loads(reports.data.read_text("utf-8"))
    for row in data["figures"]:
        assert {(one["low"], one["high"]) for one in row["metrics"].values()} == {(None, None)}
    assert {row["difference"]["low"] for row in data["comparisons"]} == {None}

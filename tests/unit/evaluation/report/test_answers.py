"""Graded answers in a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluations import made_evaluation
from tests.grades import graded as made
from tests.grades import judged as all_judged
from tests.grades import labelled

from spanwise.evaluation.answers.grader import Grade, Graded, Judged, Verdict
from spanwise.evaluation.report import summarise, write_reports
from spanwise.evaluation.report.answer_tables import answer_table
from spanwise.types import Usage

HELD = labelled(1).evidence


def graded(answerer: str, verdicts: list[Verdict], *, readings: int = 2) -> list[Graded]:
    questions = [one.question for one in made_evaluation(len(verdicts), methods={"x": 1}).scores]
    return [
        Graded(
            dataset="filings",
            question=question,
            answerer=answerer,
            answer="Freight.",
            outcome=verdict,
            grades=(Grade(prompt="grade it", verdict=verdict),) * readings,
        )
        for question, verdict in zip(
            questions[:: len(questions) // len(verdicts)], verdicts, strict=True
        )
    ]


@pytest.fixture(scope="module")
def judged() -> Judged:
    poor: list[Verdict] = ["correct", "incorrect", "refused", "incorrect"] * 5
    good: list[Verdict] = ["correct", "correct", "correct", "incorrect"] * 5
    return Judged(
        grades=(*graded("top-k", poor), *graded("exact", good)),
        llm="test:answers",
        judge="test:judge",
        repeats=2,
        usage=Usage(calls=40, cost=0.25),
        judge_usage=Usage(calls=80, cost=None),
    )


def test_a_row_says_what_became_of_the_answers(judged: Judged) -> None:
    table = answer_table(judged)
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert first["answers from"] == "top-k"
    assert (first["correct"], first["incorrect"], first["refused"]) == ("5", "10", "5")
    assert first["correct answers"].startswith("25.0 (")
    assert second["correct answers"].startswith("75.0 (")
    assert second["points by rubric"] == "–"


def test_sentences_compare_and_say_what_it_rests_on(judged: Judged) -> None:
    said = "\n".join(answer_table(judged).sentences)
    assert "exact is better than top-k by 50.0 points of correct answers" in said
    assert "gave the same verdict 100 % of the time" in said
    assert "Answered by test:answers for $0.2500" in said
    assert "graded by test:judge, 2 readings of each, at a price that is not known" in said


def test_intervals_of_few_documents_say_so_once() -> None:
    rows = [
        made(number, answerer=name, question=labelled(number, evidence=HELD))
        for name in ("a", "b")
        for number in range(12)
    ]
    said = [
        one for one in answer_table(all_judged(*rows)).sentences if "Confidence intervals" in one
    ]
    assert len(said) == 1
    assert "1 document" in said[0]


def test_every_file_of_a_report_has_the_grades(judged: Judged, tmp_path: Path) -> None:
    reports = write_reports(summarise(made_evaluation(8)), tmp_path / "r.html", judged=judged)
    assert "## Answers, graded" in reports.markdown.read_text("utf-8")
    assert '"answers from"' in reports.page.read_text("utf-8")
    data = json.loads(reports.data.read_text("utf-8"))
    assert data["judged"]["judge"] == "test:judge"
    assert len(data["judged"]["grades"]) == 40

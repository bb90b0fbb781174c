"""Graded answers as JSON, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluations import made_evaluation
from tests.grades import grade, graded, judged, labelled

from spanwise.errors import OptionError
from spanwise.evaluation.answers.grader import Judged
from spanwise.evaluation.report import summarise, write_reports
from spanwise.evaluation.results import Evaluation
from spanwise.types import Usage
from spanwise.types.plain import Plain

JUDGED = judged(
    graded(1, question=labelled(metadata={"kind": "", "hops": 2, "answerable": False})),
    graded(2, outcome="scored", score=6.5, grades=(grade(6), grade(7)), swayed=True),
    graded(3, control=grade("refused", verdict=None, error="cut"), usage=Usage(calls=2, cost=0.1)),
)


def written(folder: Path) -> dict[str, Any]:
    """Return the JSON of a report with grades."""
    evaluation = made_evaluation(8)
    data = write_reports(summarise(evaluation), folder / "report.html", judged=JUDGED).data
    read: dict[str, Any] = json.loads(data.read_text("utf-8"))
    assert Evaluation.from_plain(read) == evaluation
    return read


def test_the_grades_of_a_report_are_read_again(tmp_path: Path) -> None:
    assert Judged.from_plain(written(tmp_path)["judged"]) == JUDGED


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), None),
        (("grades",), {"a": 1}),
        (("grades",), [7]),
        (("repeats",), "1"),
        (("grades", 0, "outcome"), "fine"),
        (("grades", 0, "question", "id"), 7),
        (("grades", 0, "question", "metadata", "hops"), [2]),
        (("grades", 1, "grades", 0, "verdict"), "maybe"),
    ],
)
def test_what_are_no_grades_is_an_error(
    path: tuple[str | int, ...], value: Plain, tmp_path: Path
) -> None:
    whole = {"judged": written(tmp_path)["judged"]}
    part: Any = whole
    *outer, last = ("judged", *path)
    for key in outer:
        part = part[key]
    part[last] = value
    with pytest.raises(OptionError, match="not graded answers"):
        Judged.from_plain(whole["judged"])

"""The sheet for grading by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.grades import grade, graded, labelled

from spanwise.errors import OptionError
from spanwise.evaluation.answers.sheet import key_path, read_sheet, write_sheet


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def fill(path: Path, grades: list[str]) -> None:
    """Write grades by hand into a sheet."""
    head, *rows = rows_of(path)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(
            [head, *([*row[:-1], one] for row, one in zip(rows, grades, strict=True))]
        )


def test_the_sheet_does_not_tell_what_the_judge_said(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = [graded(number, outcome="incorrect" if number % 2 else "correct") for number in range(9)]
    assert write_sheet(rows, path, n=5) == 5
    text = path.read_text("utf-8-sig")
    assert "incorrect" not in text
    assert "q1" not in text
    assert len(rows_of(path)) == 6
    assert [row[3] in ("correct", "incorrect") for row in rows_of(key_path(path))[1:]] == [True] * 5


def test_the_same_seed_draws_the_same_answers_in_any_order(tmp_path: Path) -> None:
    rows = [graded(number) for number in range(40)]
    write_sheet(rows, tmp_path / "a.csv", n=10, seed=1)
    write_sheet(rows[::-1], tmp_path / "b.csv", n=10, seed=1)
    write_sheet(rows, tmp_path / "c.csv", n=10, seed=2)
    a, b, c = (rows_of(tmp_path / f"{name}.csv") for name in "abc")
    assert a == b
    assert a != c


def test_answers_without_a_grade_are_not_drawn(tmp_path: Path) -> None:
    rows = [
        graded(1, outcome="failed", grades=()),
        graded(2, outcome="refused", grades=()),
        graded(3, outcome="ungraded", grades=(grade("correct", verdict=None, error="x"),)),
    ]
    with pytest.raises(OptionError, match="graded no answer"):
        write_sheet(rows, tmp_path / "sheet.csv")
    assert list(tmp_path.iterdir()) == []
    assert write_sheet([*rows, graded(4)], tmp_path / "sheet.csv") == 1


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "  =", "\uff1d", "\xa0="])
def test_no_cell_is_a_formula(tmp_path: Path, begin: str) -> None:
    hostile = f'{begin}HYPERLINK("https://example.org","x")'
    question = labelled(text=hostile, answer=hostile, rubric=hostile, id=hostile)
    row = graded(question=question, answer=hostile, answerer=hostile)
    write_sheet([row], tmp_path / "sheet.csv")
    for path in (tmp_path / "sheet.csv", tmp_path / "sheet-key.csv"):
        for cell in rows_of(path)[1]:
            assert cell.isalnum() or cell in ("", "correct") or cell.startswith("'")


def test_grades_by_hand_are_compared_with_those_of_the_judge(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = [
        graded(number, outcome="incorrect" if number == 2 else "correct") for number in (1, 2, 3, 4)
    ]
    write_sheet(rows, path)
    fill(path, ["C", "pass", "", "correct"])
    found = read_sheet(path)
    assert (found.answers, found.graded) == (4, 3)
    judge = [row[3] for row in rows_of(key_path(path))[1:]]
    del judge[2]
    assert found.equal == pytest.approx(judge.count("correct") / 3)
    assert (found.difference, found.in_order) == (None, None)


def test_a_sheet_is_read_as_a_spreadsheet_saves_it(tmp_path: Path) -> None:
    """Separators of the country, and no cells behind the last one that is filled."""
    path = tmp_path / "sheet.csv"
    write_sheet([graded(number) for number in (1, 2)], path)
    head, *rows = rows_of(path)
    rows = [rows[0][:-1], [*rows[1][:-1], "c"]]
    for separator in ";\t,":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=separator).writerows([head, *rows])
        found = read_sheet(path)
        assert (found.answers, found.graded, found.equal) == (2, 1, 1.0)


def test_a_refusal_where_there_is_no_answer_is_correct_by_hand_too(tmp_path: Path) -> None:
    """The judge's own "refused" counted as correct there."""
    path = tmp_path / "sheet.csv"
    unanswerable = labelled(answer="", metadata={"answerable": False})
    write_sheet([graded(question=unanswerable, answer="They do not say.")], path)
    for given in ("refused", "r", "correct"):
        fill(path, [given])
        assert read_sheet(path).equal == 1.0
    fill(path, ["incorrect"])
    assert read_sheet(path).equal == 0.0


@pytest.mark.parametrize("there", ["sheet.csv", "sheet-key.csv"])
def test_no_sheet_stands_beside_the_key_of_another(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(OptionError, match=f"{there} already exists"):
        write_sheet([graded()], tmp_path / "sheet.csv")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_all_equal_verdicts_agree(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = [graded(number, outcome="incorrect" if number % 2 else "correct") for number in range(6)]
    write_sheet(rows, path)
    fill(path, [row[3][0] for row in rows_of(key_path(path))[1:]])
    found = read_sheet(path)
    assert (found.graded, found.equal, found.kappa) == (6, 1.0, 1.0)


def test_scores_by_hand_are_compared_by_difference_and_order(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet(
        [graded(number, outcome="scored", score=float(number), grades=(grade(number),))
         for number in (2, 5, 8)],
        path,
    )  # fmt: skip
    by_judge = [row[3] for row in rows_of(key_path(path))[1:]]
    fill(path, [str(float(one) - 1).replace(".", ",") for one in by_judge])
    found = read_sheet(path)
    assert (found.graded, found.difference, found.in_order) == (3, 1.0, 1.0)
    fill(path, [str(10 - float(one)) for one in by_judge])
    assert read_sheet(path).in_order == 0


@pytest.mark.parametrize(("outcome", "said"), [("correct", "maybe"), ("scored", "11")])
def test_a_grade_that_cannot_be_read_is_named(tmp_path: Path, outcome: str, said: str) -> None:
    path = tmp_path / "sheet.csv"
    score = 5.0 if outcome == "scored" else None
    write_sheet([graded(outcome=outcome, score=score)], path)
    fill(path, [said])
    with pytest.raises(OptionError, match=f"number 1 is '{said}'"):
        read_sheet(path)


def test_what_is_no_sheet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        read_sheet(tmp_path / "missing.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match="no column 'number'"):
        read_sheet(tmp_path / "other.csv")
    write_sheet([graded()], tmp_path / "sheet.csv")
    with pytest.raises(OptionError, match="already exists"):
        write_sheet([graded()], tmp_path / "sheet.csv")
    with pytest.raises(OptionError, match="n is 0"):
        write_sheet([graded()], tmp_path / "new.csv", n=0)
    with pytest.raises(OptionError, match="does not exist; create it"):
        write_sheet([graded()], tmp_path / "none" / "new.csv")

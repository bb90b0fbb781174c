"""CSV sheet for grading by hand, and the agreement of a person with the judge.

Rules:
    The grades of the judge are in a second file, the key, so that they do not influence the person.
    Answers are sampled by a hash of seed and question: equal seeds sample equal answers.
    A cell that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

from spanwise.errors import OptionError
from spanwise.evaluation.answers.figures import cohen_kappa
from spanwise.evaluation.answers.grader import Graded, Verdict, is_unanswerable, right_answer
from spanwise.evaluation.questions.question_file import check_new_file

_COLUMNS = ("number", "question", "right answer", "rubric", "answer", "your grade")
_KEY_COLUMNS = ("number", "question id", "answerer", "judge", "a refusal is")
_GRADE = "your grade"
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # full width ones too
_CONTROLS = ("\t", "\r", "\n")
_VERDICTS: Mapping[str, Verdict] = {
    "correct": "correct",
    "incorrect": "incorrect",
    "refused": "refused",
    "c": "correct",
    "i": "incorrect",
    "r": "refused",
    "pass": "correct",
    "fail": "incorrect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandAgreement:
    """Agreement of the grades by hand with the grades of the judge."""

    answers: int
    """Number of answers on the sheet."""
    graded: int
    """Number of answers graded by hand."""
    equal: float | None
    """Share of equal verdicts; None without verdicts."""
    kappa: float | None
    """Cohen's kappa of the verdicts; None if undefined."""
    difference: float | None
    """Mean of (judge's score - score by hand), on a scale of 0 to 10; None without scores."""
    in_order: float | None
    """Share of answer pairs that the judge ranks in the same order as the person.

    Only pairs with different scores by hand count. A tie of the judge counts half. None without
    such pairs.
    """


def key_path(path: Path) -> Path:
    """Return the path of the key file of a sheet."""
    return path.with_name(f"{path.stem}-key.csv")


def check_new_sheet(path: Path) -> None:
    """Check that a sheet and its key can be created, before answers are paid for.

    Raises:
        OptionError: If one of the files exists, or their folder does not.
    """
    for file in (path, key_path(path)):
        check_new_file(file)


def write_sheet(graded: Sequence[Graded], path: Path, *, n: int = 30, seed: int = 0) -> int:
    """Write a sheet of answers to grade by hand and its key; return the number of answers.

    Args:
        graded: Graded answers. A sample of the answers with a grade of the judge is written.
        path: CSV file to write, in UTF-8. The key is written to `NAME-key.csv`.
        n: Maximum number of answers.
        seed: Seed of the sample.

    Raises:
        OptionError: If n is below 1, no answer was graded, or a file exists or cannot be written.
    """
    rows = [row for row in graded if row.grades and row.outcome not in ("failed", "ungraded")]
    if n < 1 or not rows:
        raise OptionError(
            f"n is {n}; give at least 1" if n < 1 else "the judge graded no answer; none is drawn"
        )
    drawn = sorted(rows, key=lambda row: _draw(row, seed))[:n]
    sheet = [_COLUMNS, *(_row(number, row) for number, row in enumerate(drawn, 1))]
    key = [_KEY_COLUMNS, *(_key_row(number, row) for number, row in enumerate(drawn, 1))]
    check_new_sheet(path)
    # The key is written first: a sheet without its own key could be compared with an older key.
    _write(key_path(path), key)
    try:
        _write(path, sheet)
    except BaseException:
        key_path(path).unlink()
        raise
    return len(drawn)


def read_sheet(path: Path) -> HandAgreement:
    """Return the agreement of the grades on a sheet with the grades in its key.

    Cells may be separated by commas, semicolons or tabs. A grade by hand is "correct", "incorrect"
    or "refused" (short: c, i, r; pass, fail), or a number from 0 to 10 if there is a rubric. Rows
    without a grade are skipped. For an unanswerable question, "refused" counts as "correct".

    Raises:
        OptionError: If a file is missing or not a grading sheet, or a grade is invalid.
    """
    sheet, key = _read(path, _COLUMNS), _read(key_path(path), _KEY_COLUMNS)
    keys = {row["number"]: row for row in key}
    verdicts: list[tuple[str, str]] = []
    scores: list[tuple[float, float]] = []
    for row in sheet:
        grade, number = row[_GRADE].strip().lower(), row["number"]
        if not grade:
            continue
        if number not in keys:
            raise OptionError(f"{path}: number {number!r} is not in {key_path(path)}")
        judge = keys[number]["judge"]
        if judge in _VERDICTS.values():
            verdict = _verdict(grade, path, number)
            own = keys[number]["a refusal is"] if verdict == "refused" else verdict
            verdicts.append((own, judge))
        else:
            scores.append((_score(grade, path, number), _score(judge, key_path(path), number)))
    return HandAgreement(
        answers=len(sheet),
        graded=len(verdicts) + len(scores),
        equal=fmean(one == other for one, other in verdicts) if verdicts else None,
        kappa=cohen_kappa([one for one, _ in verdicts], [other for _, other in verdicts]),
        difference=fmean(other - one for one, other in scores) if scores else None,
        in_order=_in_order(scores),
    )


def _draw(row: Graded, seed: int) -> str:
    key = "\x1f".join((str(seed), row.dataset, row.question.id, row.answerer))
    return hashlib.sha256(key.encode()).hexdigest()


def _row(number: int, row: Graded) -> tuple[str, ...]:
    question = row.question
    rubric = question.rubric if row.by_rubric else ""
    cells = (question.text, right_answer(question), rubric, row.answer)
    return (str(number), *map(_cell, cells), "")


def _key_row(number: int, row: Graded) -> tuple[str, ...]:
    judge = row.outcome if row.score is None else f"{row.score:g}"
    refusal: Verdict = "correct" if is_unanswerable(row.question) else "refused"
    return (str(number), _cell(row.question.id), _cell(row.answerer), judge, refusal)


def _cell(text: str) -> str:
    """Return a text as a cell that spreadsheets do not interpret as a formula.

    The csv module quotes separators and line feeds, so the text cannot begin another cell.
    """
    is_formula = text.lstrip().startswith(_FORMULA) or text.lstrip(" ").startswith(_CONTROLS)
    return f"'{text}" if is_formula else text


def _write(path: Path, rows: Sequence[Sequence[str]]) -> None:
    try:
        # Spreadsheets recognise the encoding by the byte order mark.
        with path.open("x", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    except OSError as error:
        raise OptionError(f"{path} cannot be written ({error.strerror})") from error


def _read(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, restval="", delimiter=max(",;\t", key=head.count))
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(
            f"{path} cannot be read as a sheet of answers ({error}); save it as CSV in UTF-8"
        ) from error
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise OptionError(f"{path} has no column {missing[0]!r}; give a sheet that was written")
    return rows


def _verdict(grade: str, path: Path, number: str) -> Verdict:
    if grade not in _VERDICTS:
        raise OptionError(
            f"{path}: the grade of number {number} is {grade!r}; write correct, incorrect or "
            "refused, or leave it empty"
        )
    return _VERDICTS[grade]


def _score(grade: str, path: Path, number: str) -> float:
    try:
        score = float(grade.replace(",", "."))
    except ValueError:
        score = -1.0
    if not 0 <= score <= 10:
        raise OptionError(
            f"{path}: the grade of number {number} is {grade!r}; write a number from 0 to 10, or "
            "leave it empty"
        )
    return score


def _in_order(scores: Sequence[tuple[float, float]]) -> float | None:
    """Return the share of pairs that both raters rank in the same order; None without a pair."""
    pairs = [
        0.5 if one[1] == other[1] else float((one[0] < other[0]) == (one[1] < other[1]))
        for one, other in combinations(scores, 2)
        if one[0] != other[0]
    ]
    return fmean(pairs) if pairs else None

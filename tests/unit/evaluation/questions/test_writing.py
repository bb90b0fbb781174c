"""Questions as a file, read back by what reads those of users."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.datasets import read_questions
from spanwise.evaluation.questions.question_file import check_new_file, write_questions

QUESTIONS = (
    LabelledQuestion(
        id="made-0001",
        text="Wie hoch ist die Gebühr “A”?",
        answer="35 Euro",
        evidence=(Evidence(document_id="a b.md", start=3, end=9, text="35\nEu\u2028"),),
        metadata={"answerable": True, "made_by": "x:y"},
    ),
    LabelledQuestion(
        id="2", text="Who?", rubric="Names one.", scope=("a.md",),
        evidence=(Evidence(document_id="a.md", page=2), Evidence(document_id="b.md")),
    ),
    LabelledQuestion(id="3", text="None?", metadata={"answerable": False, "n": 2}),
)  # fmt: skip


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    check_new_file(path)
    write_questions(QUESTIONS, path)
    assert read_questions(path) == QUESTIONS


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text("mine")
    with pytest.raises(OptionError, match="already exists"):
        check_new_file(path)
    with pytest.raises(OptionError, match="cannot be written"):
        write_questions(QUESTIONS, path)
    assert path.read_text() == "mine"


def test_a_folder_that_is_missing_is_said_before_anything_is_paid(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"folder of .* does not exist"):
        check_new_file(tmp_path / "none" / "q.jsonl")

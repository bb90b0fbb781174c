"""Options and result of question generation, and the JSON lines file of the questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.questions.question_checks import Reason
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.types import Usage

PLACES_A_QUESTION = 3
"""Maximum number of passages used for each requested question."""
TRIED = AnswerOptions(budget_tokens=4_000)
"""Options for trying to answer a question that is meant to be unanswerable."""
_MAX_QUESTIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingOptions:
    """Number and kind of the questions, and options of the model."""

    answerable: int = 50
    """Number of questions that the documents answer, >= 0."""
    unanswerable: int = 0
    """Number of additional questions that the documents do not answer, >= 0."""
    seed: int = 0
    """Seed for the choice of passages."""
    models: ModelOptions = field(default_factory=ModelOptions)
    """Options of model calls; `max_cost` limits the total cost of the run."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            OptionError: If a number is out of range, or both are 0.
        """
        for name, value in (
            ("answerable", self.answerable),
            ("unanswerable", self.unanswerable),
        ):
            if not 0 <= value <= _MAX_QUESTIONS:
                raise OptionError(f"{name} is {value}; give 0 to {_MAX_QUESTIONS:,}")
        if not self.answerable + self.unanswerable:
            raise OptionError(
                "answerable and unanswerable are both 0; request at least one question"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestions:
    """Result of question generation."""

    questions: tuple[LabelledQuestion, ...]
    """Accepted questions."""
    wanted: int
    """Number of requested questions."""
    places: int
    """Number of passages used."""
    refused: Mapping[Reason, int]
    """Number of rejected questions, by reason."""
    usage: Usage
    """Usage of the model."""
    first_error: str = ""
    """First error of the model; empty if there was none."""


def check_new_file(path: Path) -> None:
    """Check that a file can be created, before its content is paid for.

    Raises:
        OptionError: If the file exists, or its folder does not.
    """
    if path.exists():
        raise OptionError(f"{path} already exists; name another file")
    if not path.parent.is_dir():
        raise OptionError(f"the folder of {path} does not exist; create it, or name another one")


def write_questions(questions: Sequence[LabelledQuestion], path: Path) -> None:
    """Write questions to a new file as JSON lines, in the user format.

    Raises:
        OptionError: If the file exists or cannot be written.
    """
    lines = [json.dumps(_row(question), ensure_ascii=False) + "\n" for question in questions]
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written ({error.strerror}); name another file"
        ) from error


def _row(question: LabelledQuestion) -> Mapping[str, object]:
    row = {
        "id": question.id,
        "question": question.text,
        "answer": question.answer,
        "rubric": question.rubric,
        "evidence": [_evidence_row(piece) for piece in question.evidence],
        "documents": None if question.scope is None else list(question.scope),
        "metadata": dict(question.metadata),
    }
    always = ("id", "question", "evidence")
    return {name: value for name, value in row.items() if value or name in always}


def _evidence_row(evidence: Evidence) -> Mapping[str, object]:
    row = {
        "document_id": evidence.document_id,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "text": evidence.text or None,
    }
    return {name: value for name, value in row.items() if value is not None}

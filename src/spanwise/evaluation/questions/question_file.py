"""What is asked of a run that makes questions, and what comes of it.

Questions as lines of JSON, in the format that `evaluation.reading` reads.
"""

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
"""Most places that are asked about for each question that is wanted."""
TRIED = AnswerOptions(budget_tokens=4_000)
"""How a question that should have no answer is asked."""
_MOST_QUESTIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingOptions:
    """Which questions are made, and how models are called for them."""

    n: int = 50
    """Questions that the documents answer, from 0."""
    unanswerable: int = 0
    """Questions beside them that they do not answer, from 0."""
    seed: int = 0
    """From which places: the same seed picks the same ones."""
    models: ModelOptions = field(default_factory=ModelOptions)
    """How the model is called; `max_cost` holds for all of it."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            OptionError: If one is out of range, or there is nothing to make.
        """
        for name, value in (("n", self.n), ("unanswerable", self.unanswerable)):
            if not 0 <= value <= _MOST_QUESTIONS:
                raise OptionError(f"{name} is {value}; give 0 to {_MOST_QUESTIONS:,}")
        if not self.n + self.unanswerable:
            raise OptionError("n and unanswerable are 0; ask for one question at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestions:
    """What came of a run."""

    questions: tuple[LabelledQuestion, ...]
    wanted: int
    places: int
    """That the model was asked about."""
    refused: Mapping[Reason, int]
    """How many questions were not used, by why."""
    usage: Usage
    first_error: str = ""
    """Of a model that failed; empty where it never did."""


def check_new_file(path: Path) -> None:
    """Check that a file can be made, before anything is paid for what it is to hold.

    Raises:
        OptionError: If it is there already, or its folder is not.
    """
    if path.exists():
        raise OptionError(
            f"{path} is there already, and may hold changes of yours; name another file"
        )
    if not path.parent.is_dir():
        raise OptionError(f"the folder of {path} is not there; make it, or name another one")


def write_questions(questions: Sequence[LabelledQuestion], path: Path) -> None:
    """Write questions to a new file, a line each: characters from 0, half-open.

    Raises:
        OptionError: If the file is there already or cannot be written.
    """
    lines = [json.dumps(_row(one), ensure_ascii=False) + "\n" for one in questions]
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
        "evidence": [_evidence_row(one) for one in question.evidence],
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

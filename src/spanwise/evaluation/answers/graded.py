"""Graded answers, and how they are read from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.datasets.faults import shown
from spanwise.evaluation.results import read_question
from spanwise.types import Usage
from spanwise.types.plain import Plain, from_plain

_NO_ANSWER = "The documents do not answer this question."

Verdict = Literal["correct", "incorrect", "refused"]
"""Verdict of a judge on an answer, against a known right answer."""

Outcome = Literal["correct", "incorrect", "refused", "scored", "failed", "ungraded"]
"""Outcome of a question: "scored" by a rubric, "failed" without an answer, "ungraded"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One reading of an answer by the judge: a verdict, a score, or an error.

    Where the documents hold no answer, "refused" is converted to "correct"; `raw` has the original.
    """

    prompt: str
    """Prompt of the judge. Its instructions are in `Judged.settings`."""
    raw: str = ""
    """Output of the judge."""
    verdict: Verdict | None = None
    score: float | None = None
    """Score in [0, 10]."""
    reason: str = ""
    error: str = ""
    """Reason why there is neither verdict nor score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Answer to one question by one answerer, with its grades."""

    dataset: str
    question: LabelledQuestion
    answerer: str
    """Source of the answer: "ask", or the retriever whose results the model read."""
    answer: str = ""
    refused: bool = False
    """Whether the answer is that the documents hold no answer."""
    outcome: Outcome
    score: float | None = None
    """Mean score by the rubric, in [0, 10]; None without a rubric."""
    grades: tuple[Grade, ...] = ()
    """Grade of each reading; empty if no judge was needed."""
    control: Grade | None = None
    """Reading against the right answer of another question, which should not pass."""
    swayed: bool = False
    """Whether the judge passed the control too, so that the answer counts as wrong."""
    error: str = ""
    """Reason why there is no answer or no grade."""
    seconds: float = 0.0
    """Time taken to answer, in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Usage of the answer. The usage of the judge is in `Judged.judge_usage`."""

    @property
    def by_rubric(self) -> bool:
        """Return whether it is graded by points; an unanswerable question passes or fails."""
        return bool(self.question.rubric.strip()) and not is_unanswerable(self.question)

    @property
    def passed(self) -> float | None:
        """Return 1 for a correct answer and 0 for any other; None without a verdict."""
        if self.outcome == "ungraded" or self.by_rubric:
            return None
        return float(self.outcome == "correct")

    @property
    def points(self) -> float | None:
        """Return the score in [0, 10]; 0 for a rubric without an answer."""
        if self.score is not None:
            return self.score
        return 0.0 if self.by_rubric and self.outcome in ("failed", "refused") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All graded answers of one run."""

    grades: tuple[Graded, ...]
    """Graded answers by answerer, in the order of the questions."""
    llm: str
    """Model of the answers."""
    judge: str
    """Model of the grades."""
    repeats: int
    usage: Usage
    """Usage of all answers."""
    judge_usage: Usage
    """Usage of all grades."""
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """Settings that reproduce the run, with the instructions of the judge."""

    @property
    def answerers(self) -> tuple[str, ...]:
        """Return the names of the answerers, in order."""
        return tuple(dict.fromkeys(one.answerer for one in self.grades))

    @staticmethod
    def from_plain(value: object) -> Judged:
        """Return graded answers from the output of `to_plain`, as in a report.

        Raises:
            OptionError: If the value has another form.
        """
        return read_judged(value)


def is_unanswerable(question: LabelledQuestion) -> bool:
    """Return whether metadata mark the question as unanswerable.

    A question without evidence may only lack a label.
    """
    return question.metadata.get("answerable") is False


def right_answer(question: LabelledQuestion) -> str:
    """Return the answer that an answer is compared with; empty if it is unknown.

    For an unanswerable question it is that the documents hold no answer.
    """
    if not is_unanswerable(question):
        return question.answer
    return f"{_NO_ANSWER} {question.answer}".strip()


def read_judged(value: object) -> Judged:
    """Return graded answers from the output of `to_plain`.

    Raises:
        OptionError: If the value has another form.
    """
    if not isinstance(value, Mapping):
        raise OptionError(f"these are no graded answers that can be read: {shown(value)}")
    try:
        judged = from_plain(Judged, {**value, "grades": []})
        grades = tuple(_read_graded(item) for item in value["grades"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"these are no graded answers that can be read: {error!r}") from error
    return replace(judged, grades=grades)


def _read_graded(item: Mapping[str, object]) -> Graded:
    question = read_question(item["question"])
    return replace(
        from_plain(Graded, {**item, "question": {"id": question.id, "text": question.text}}),
        question=question,
    )

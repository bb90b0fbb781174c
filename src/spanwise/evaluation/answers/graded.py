"""An answer with all that was said of it: the rows of what a judge graded.

Graded answers as JSON: what `to_plain` gives of them, read again.
"""

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
"""What a judge says of an answer where the right one is known."""

Outcome = Literal["correct", "incorrect", "refused", "scored", "failed", "ungraded"]
"""What became of a question. "scored": it has a score, by a rubric. "failed": there was no answer.
"ungraded": there is one, and no grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One reading of an answer by the judge: a verdict, a score, or why there is none.

    Where the documents hold no answer, an answer that says so is correct, whether the judge calls
    it so or refused; `raw` has what it said.
    """

    prompt: str
    """What the judge was asked; its instructions are kept once, in `Judged.settings`."""
    raw: str = ""
    """What it answered, as it came."""
    verdict: Verdict | None = None
    score: float | None = None
    """In [0, 10]."""
    reason: str = ""
    error: str = ""
    """Why there is neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The answer to one question, given in one way, and its grades."""

    dataset: str
    question: LabelledQuestion
    answerer: str
    """Where the answer comes from: "ask", or the retriever whose context the model read."""
    answer: str = ""
    refused: bool = False
    """Whether the answerer said that the documents hold no answer."""
    outcome: Outcome
    score: float | None = None
    """Mean of the scores by the rubric, in [0, 10]; None without a rubric."""
    grades: tuple[Grade, ...] = ()
    """One a reading; none where no judge was needed."""
    control: Grade | None = None
    """A reading against the right answer of another question, which no honest judge passes."""
    swayed: bool = False
    """Whether the judge passed the control too: its grades are worth nothing, and count as 0."""
    error: str = ""
    """Why there is no answer, or no grade."""
    seconds: float = 0.0
    """That the answer took."""
    usage: Usage = field(default_factory=Usage)
    """What the answer took; the judge is counted apart, in `Judged.judge_usage`."""

    @property
    def by_rubric(self) -> bool:
        """Return whether points are given for it; a question without an answer passes or not."""
        return bool(self.question.rubric.strip()) and not is_unanswerable(self.question)

    @property
    def passed(self) -> float | None:
        """Return 1 for a correct answer, 0 for any other; None without a grade or by a rubric."""
        if self.outcome == "ungraded" or self.by_rubric:
            return None
        return float(self.outcome == "correct")

    @property
    def points(self) -> float | None:
        """Return the score in [0, 10], 0 where a rubric was to be met and no answer came."""
        if self.score is not None:
            return self.score
        return 0.0 if self.by_rubric and self.outcome in ("failed", "refused") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All answers that were graded in one run."""

    grades: tuple[Graded, ...]
    """By answerer, in the order of the questions."""
    llm: str
    """Model that answered."""
    judge: str
    """Model that graded."""
    repeats: int
    usage: Usage
    """Of all answers."""
    judge_usage: Usage
    """Of all grades."""
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """What repeats it, the instructions of the judge among it."""

    @property
    def answerers(self) -> tuple[str, ...]:
        """Return the ways in which was answered, in order."""
        return tuple(dict.fromkeys(one.answerer for one in self.grades))

    @staticmethod
    def from_plain(value: object) -> Judged:
        """Return graded answers from the plain form that `to_plain` makes, as in a report.

        Raises:
            OptionError: If it is not of that form.
        """
        return read_judged(value)


def is_unanswerable(question: LabelledQuestion) -> bool:
    """Return whether the right answer is that the documents hold none: metadata say so.

    A question without evidence may only be one of which nothing is known.
    """
    return question.metadata.get("answerable") is False


def right_answer(question: LabelledQuestion) -> str:
    """Return what an answer is compared with: where the documents hold none, that they do not.

    Empty where nothing is known.
    """
    if not is_unanswerable(question):
        return question.answer
    return f"{_NO_ANSWER} {question.answer}".strip()


def read_judged(value: object) -> Judged:
    """Return graded answers of what `to_plain` gave of them.

    Raises:
        OptionError: If it is not of that form.
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

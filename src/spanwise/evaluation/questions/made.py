"""What is asked of a run that makes questions, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.questions.checks import Reason
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.types import Usage

__all__ = ["PLACES_A_QUESTION", "TRIED", "MadeQuestions", "MakingOptions"]

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

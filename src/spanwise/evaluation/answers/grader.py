"""Grading of answers by a language model, the judge.

Rules:
    If the answerer says that the documents hold no answer, the judge is not called: the answer is
    correct where they hold none, and a refusal otherwise. The judge may also find a refusal in the
    words of an answer; it counts the same.
    Of several verdicts, the one of more than half of the readings counts, "incorrect" without such
    a majority. Of several scores, the mean counts.
    A passed answer is graded once more against the right answer of another question that shares no
    word with it (`control`). An answer that passes there too has swayed the judge, for example by
    an injected instruction, and counts as wrong.
    The control does not find an instruction that applies only to the true answer, an instruction
    to grade as a refusal, or a wrong answer that is convincing.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from spanwise.core.text.terms import content_words
from spanwise.errors import ModelError, OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.datasets.json_lines import shown
from spanwise.evaluation.results import read_question
from spanwise.evaluation.run_models import call_with_breaker
from spanwise.models.caller import ModelCaller
from spanwise.models.prompts.answer_grades import Gradable, grading_request, read_mark
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
        return tuple(dict.fromkeys(grade.answerer for grade in self.grades))

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


_BEGIN = re.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si)\b", re.IGNORECASE)


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer begins with yes or no, in English, German, French or Spanish."""
    return _BEGIN.match(answer) is not None


PASSING_SCORE = 4.0
"""Score above which a control counts as passed."""


def control_golds(answers: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the right answers of a run that can serve as controls, with their words.

    "Yes" and "no" are left out, because a judge may rightly accept "It fell." for the "No" of
    another question. The caller leaves out answers that say that there is none, because any refusal
    matches.
    """
    stripped = sorted({answer.strip() for answer in answers})
    known = {gold: _words(gold) for gold in stripped if not is_yes_or_no(gold)}
    return {gold: words for gold, words in known.items() if words}


def control_of(graded: Gradable, *, golds: Mapping[str, frozenset[str]]) -> Gradable:
    """Return an answer with the right answer of another question in place of its own.

    Args:
        graded: The answer.
        golds: Right answers with their words (`control_golds`). The one chosen shares no word with
            the answer and its right answer, and depends on a hash, so that it cannot be predicted.
            Without a candidate, a made-up word is used.
    """
    own = _words(f"{graded.answer} {graded.gold} {graded.rubric} {graded.question}")
    digest = hashlib.sha256(f"{graded.question}\n{graded.answer}".encode()).hexdigest()
    others = [gold for gold, words in golds.items() if own.isdisjoint(words)]
    gold = others[int(digest, 16) % len(others)] if others else f"The code is {digest[:8].upper()}."
    rubric = f"10 points if the answer says this, else 0: {gold}" if graded.by_rubric else ""
    return replace(graded, gold=gold, rubric=rubric)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in content_words(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """Settings of the grading."""

    caller: ModelCaller
    """ModelCaller of the judge."""
    repeats: int
    """Number of readings of each answer."""
    controls: bool
    """Whether a passed answer is graded once more against another right answer."""


def grade_answers(given: Sequence[Graded], *, grading: Grading) -> list[Graded]:
    """Return answers with their grades, in their order.

    Args:
        given: The answers, failed ones included. Their outcome is ignored.
        grading: Settings of the grading.

    Raises:
        CostLimitError: If a call may cost more than is left.
        ModelError: If the judge cannot be reached for several readings in a row.
        ModelKeyError: If the provider refuses the key of the judge.
    """
    settled = [_without_judge(row) for row in given]
    places = [at for at, row in enumerate(settled) if row is None]
    asked = [(_gradable(given[at]), one) for at in places for one in range(grading.repeats)]
    grades = iter(_asked(asked, caller=grading.caller))
    graded = {
        at: _with_grades(given[at], [next(grades) for _ in range(grading.repeats)]) for at in places
    }
    if grading.controls:
        golds = control_golds(
            row.question.answer for row in given if not is_unanswerable(row.question)
        )
        passed = [at for at in places if _passed(graded[at])]
        controls = [(control_of(_gradable(given[at]), golds=golds), 0) for at in passed]
        for at, grade in zip(passed, _asked(controls, caller=grading.caller), strict=True):
            graded[at] = _controlled(graded[at], grade)
    return [row or graded[at] for at, row in enumerate(settled)]


def _without_judge(row: Graded) -> Graded | None:
    """Return an answer whose outcome is known without a judge; None for any other."""
    question = row.question
    if row.error:
        return replace(row, outcome="failed")
    if row.refused:
        return replace(row, outcome="correct" if is_unanswerable(question) else "refused")
    if not (right_answer(question).strip() or question.rubric.strip()):
        said = "nothing is known to grade it by: the question has no answer and no rubric"
        return replace(row, outcome="ungraded", error=said)
    return None


def _gradable(row: Graded) -> Gradable:
    question = row.question
    return Gradable(
        question=question.text,
        answer=row.answer,
        gold=right_answer(question),
        rubric=question.rubric if row.by_rubric else "",
    )


def _asked(asked: Sequence[tuple[Gradable, int]], *, caller: ModelCaller) -> list[Grade]:
    """Return the grades of one reading of each answer."""
    requests = [grading_request(gradable, reading=reading) for gradable, reading in asked]

    def read(at: int, answer: str) -> Grade:
        mark = read_mark(answer, by_rubric=asked[at][0].by_rubric)
        return Grade(
            prompt=requests[at].prompt,
            raw=answer,
            verdict=mark.verdict,
            score=mark.score,
            reason=mark.reason,
        )

    said = call_with_breaker(caller, requests, read=read)
    return [
        Grade(prompt=request.prompt, error=str(one)) if isinstance(one, ModelError) else one
        for request, one in zip(requests, said, strict=True)
    ]


def _with_grades(row: Graded, grades: Sequence[Grade]) -> Graded:
    if is_unanswerable(row.question):
        grades = [_refusal_is_right(grade) for grade in grades]
    row = replace(row, grades=tuple(grades))
    scores = [grade.score for grade in grades if grade.score is not None]
    verdicts = [grade.verdict for grade in grades if grade.verdict is not None]
    if scores:
        return replace(row, outcome="scored", score=fmean(scores))
    if verdicts:
        return replace(row, outcome=_majority(verdicts))
    said = grades[0].error if grades else ""
    return replace(row, outcome="ungraded", error=f"the judge gave no grade: {said}")


def _refusal_is_right(grade: Grade) -> Grade:
    return replace(grade, verdict="correct") if grade.verdict == "refused" else grade


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else "incorrect"


def _passed(row: Graded) -> bool:
    return row.outcome == "correct" or (row.score is not None and row.score > PASSING_SCORE)


def _controlled(row: Graded, control: Grade) -> Graded:
    """Return an answer with its control. An answer that passes its control loses its grade."""
    row = replace(row, control=control)
    if control.score is not None and control.score > PASSING_SCORE:
        return replace(row, swayed=True, score=0.0)
    if control.verdict == "correct":
        return replace(row, swayed=True, outcome="incorrect")
    return row

"""Grading of answers by a language model, the judge.

Rules:
    A refusal is an answer that states that the documents do not answer the question. If the
    answerer reports a refusal, the judge is not called: it is correct for an unanswerable question
    and has the outcome "refused" for any other. The judge may also recognise a refusal by its text.
    If the judge grades an answer several times, the verdict of the majority counts, or "incorrect"
    without a majority; of scores, the mean counts.
    A passed answer is graded once more with the right answer of another question (the control).
    The two right answers share no word. If the answer passes again, it has manipulated the judge,
    for example with an injected instruction, and counts as wrong.
    The control does not detect an instruction to grade as a refusal, an instruction that mentions
    the true answer, or a wrong answer that is merely convincing.
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
"""Verdict of the judge on an answer, compared with the right answer."""

Outcome = Literal["correct", "incorrect", "refused", "scored", "failed", "ungraded"]
"""Outcome of a question: a verdict, "scored" (by a rubric), "failed" (no answer) or "ungraded"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One grade of an answer: a verdict, a score, or an error.

    For an unanswerable question, the verdict "refused" is converted to "correct"; `raw` has the
    original.
    """

    prompt: str
    """Prompt of the judge. The instructions of the judge are in `Judged.settings`."""
    raw: str = ""
    """Output of the judge."""
    verdict: Verdict | None = None
    """Verdict; None for a grade by a rubric, or after an error."""
    score: float | None = None
    """Score by the rubric, in [0, 10]; None for a verdict, or after an error."""
    reason: str = ""
    """Explanation by the judge."""
    error: str = ""
    """Error that prevented the grade; empty if there is a grade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Answer to one question by one answerer, with its grades."""

    dataset: str
    question: LabelledQuestion
    answerer: str
    """Name of the answerer: "ask", or the retriever whose texts the model read."""
    answer: str = ""
    """Text of the answer."""
    refused: bool = False
    """Whether the model stated that the documents do not answer the question."""
    quotes: int = 0
    """Number of quotes in the answer; 0 if the answerer does not check quotes."""
    verified_quotes: int = 0
    """Number of quotes that were found in the documents."""
    quoted_documents: tuple[str, ...] = ()
    """Ids of the documents in which the quotes were found."""
    outcome: Outcome
    score: float | None = None
    """Mean score by the rubric, in [0, 10]; None without a rubric."""
    grades: tuple[Grade, ...] = ()
    """Grades in the order of the repeats; empty if the judge was not called."""
    control: Grade | None = None
    """Grade against the right answer of another question, which should fail; None if not made."""
    swayed: bool = False
    """Whether the answer passed its control too. If so, it counts as wrong."""
    error: str = ""
    """Error that prevented the answer or the grade; empty if there was no error."""
    seconds: float = 0.0
    """Time to answer, in seconds."""
    usage: Usage = field(default_factory=Usage)
    """Usage of the answer, without the judge (see `Judged.judge_usage`)."""

    @property
    def by_rubric(self) -> bool:
        """Return whether the answer is scored by a rubric; unanswerable questions never are."""
        return bool(self.question.rubric.strip()) and not is_unanswerable(self.question)

    @property
    def passed(self) -> float | None:
        """Return 1 for a correct answer and 0 for any other; None without a verdict."""
        if self.outcome == "ungraded" or self.by_rubric:
            return None
        return float(self.outcome == "correct")

    @property
    def quotes_verified(self) -> float | None:
        """Return the share of quotes that were found; None without quotes."""
        return self.verified_quotes / self.quotes if self.quotes else None

    @property
    def quotes_other_document(self) -> float | None:
        """Return 1 if a quote is from a document without evidence, else 0; None if unknown.

        It is unknown without verified quotes, and for a question without labelled evidence.
        """
        expected = {evidence.document_id for evidence in self.question.evidence}
        if not expected or not self.quoted_documents:
            return None
        return float(not expected.issuperset(self.quoted_documents))

    @property
    def points(self) -> float | None:
        """Return the score in [0, 10]; 0 if an answer to be scored is missing; None otherwise."""
        if self.score is not None:
            return self.score
        return 0.0 if self.by_rubric and self.outcome in ("failed", "refused") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All graded answers of one run."""

    grades: tuple[Graded, ...]
    """Graded answers, sorted by answerer, then in the order of the questions."""
    llm: str
    """Name of the model that answered."""
    judge: str
    """Name of the model that graded."""
    repeats: int
    """Number of times that each answer was graded."""
    usage: Usage
    """Usage of all answers."""
    judge_usage: Usage
    """Usage of all grades."""
    settings: Mapping[str, Plain] = field(default_factory=dict)
    """Settings of the run, including the instructions of the judge."""

    @property
    def answerers(self) -> tuple[str, ...]:
        """Return the names of the answerers, in the order of the run."""
        return tuple(dict.fromkeys(grade.answerer for grade in self.grades))

    @staticmethod
    def from_plain(value: object) -> Judged:
        """Return the graded answers from the entry "judged" in the JSON file of a report.

        Raises:
            OptionError: If the value is not such an entry.
        """
        return read_judged(value)


def is_unanswerable(question: LabelledQuestion) -> bool:
    """Return whether the metadata of a question label it as unanswerable.

    Missing evidence is not sufficient: the question may be unlabelled.
    """
    return question.metadata.get("answerable") is False


def right_answer(question: LabelledQuestion) -> str:
    """Return the right answer to a question; empty if it is unknown.

    The right answer to an unanswerable question is a statement that the documents do not answer it.
    """
    if not is_unanswerable(question):
        return question.answer
    return f"{_NO_ANSWER} {question.answer}".strip()


def read_judged(value: object) -> Judged:
    """Return the graded answers from an output of `to_plain`.

    Raises:
        OptionError: If the value is not an output of `to_plain`.
    """
    if not isinstance(value, Mapping):
        raise OptionError(f"not graded answers: {shown(value)}")
    try:
        judged = from_plain(Judged, {**value, "grades": []})
        grades = tuple(_read_graded(item) for item in value["grades"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(f"not graded answers: {error!r}") from error
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

    Answers that begin with yes or no are excluded: the answer "It fell." may be right for the "No"
    of another question too. The caller excludes unanswerable questions: any refusal would pass.
    """
    stripped = sorted({answer.strip() for answer in answers})
    known = {gold: _words(gold) for gold in stripped if not is_yes_or_no(gold)}
    return {gold: words for gold, words in known.items() if words}


def control_of(graded: Gradable, *, golds: Mapping[str, frozenset[str]]) -> Gradable:
    """Return the control of an answer: its right answer is replaced by that of another question.

    The replacement shares no word with the answer or its own right answer. It is chosen by a hash,
    so an injected instruction cannot predict it. Without a candidate, a random code is used.

    Args:
        graded: Answer to grade.
        golds: Right answers of other questions with their words (`control_golds`).
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
    """Caller of the judge model."""
    repeats: int
    """Number of times that each answer is graded."""
    controls: bool
    """Whether each passed answer is also graded against the right answer of another question."""


def grade_answers(answers: Sequence[Graded], *, grading: Grading) -> list[Graded]:
    """Return answers with their grades, in the same order.

    Args:
        answers: Answers to grade, including failed ones. Their outcome is ignored.
        grading: Settings of the grading.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelError: If the judge cannot be reached for several calls in a row.
        ModelKeyError: If the provider rejects the API key of the judge.
    """
    settled = [_without_judge(row) for row in answers]
    open_rows = [at for at, row in enumerate(settled) if row is None]
    repeats = grading.repeats
    requests = [(_gradable(answers[at]), repeat) for at in open_rows for repeat in range(repeats)]
    grades = iter(_grades(requests, caller=grading.caller))
    graded = {
        at: _with_grades(answers[at], [next(grades) for _ in range(repeats)]) for at in open_rows
    }
    if grading.controls:
        golds = control_golds(
            row.question.answer for row in answers if not is_unanswerable(row.question)
        )
        passed = [at for at in open_rows if _passed(graded[at])]
        controls = [(control_of(_gradable(answers[at]), golds=golds), 0) for at in passed]
        for at, grade in zip(passed, _grades(controls, caller=grading.caller), strict=True):
            graded[at] = _controlled(graded[at], grade)
    return [row or graded[at] for at, row in enumerate(settled)]


def _without_judge(row: Graded) -> Graded | None:
    """Return an answer with its outcome if no judge is needed for it; None otherwise."""
    question = row.question
    if row.error:
        return replace(row, outcome="failed")
    if row.refused:
        return replace(row, outcome="correct" if is_unanswerable(question) else "refused")
    if not (right_answer(question).strip() or question.rubric.strip()):
        error = "the answer cannot be graded: the question has no right answer and no rubric"
        return replace(row, outcome="ungraded", error=error)
    return None


def _gradable(row: Graded) -> Gradable:
    question = row.question
    return Gradable(
        question=question.text,
        answer=row.answer,
        gold=right_answer(question),
        rubric=question.rubric if row.by_rubric else "",
    )


def _grades(pairs: Sequence[tuple[Gradable, int]], *, caller: ModelCaller) -> list[Grade]:
    """Return one grade for each pair of an answer and the number of a repeat."""
    requests = [grading_request(gradable, reading=repeat) for gradable, repeat in pairs]

    def read(at: int, answer: str) -> Grade:
        mark = read_mark(answer, by_rubric=pairs[at][0].by_rubric)
        return Grade(
            prompt=requests[at].prompt,
            raw=answer,
            verdict=mark.verdict,
            score=mark.score,
            reason=mark.reason,
        )

    outcomes = call_with_breaker(caller, requests, read=read)
    return [
        Grade(prompt=request.prompt, error=str(outcome))
        if isinstance(outcome, ModelError)
        else outcome
        for request, outcome in zip(requests, outcomes, strict=True)
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
    error = grades[0].error if grades else ""
    return replace(row, outcome="ungraded", error=f"the judge gave no grade: {error}")


def _refusal_is_right(grade: Grade) -> Grade:
    return replace(grade, verdict="correct") if grade.verdict == "refused" else grade


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else "incorrect"


def _passed(row: Graded) -> bool:
    return row.outcome == "correct" or (row.score is not None and row.score > PASSING_SCORE)


def _controlled(row: Graded, control: Grade) -> Graded:
    """Return an answer with its control; an answer that passed its control counts as wrong."""
    row = replace(row, control=control)
    if control.score is not None and control.score > PASSING_SCORE:
        return replace(row, swayed=True, score=0.0)
    if control.verdict == "correct":
        return replace(row, swayed=True, outcome="incorrect")
    return row

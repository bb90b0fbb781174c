"""Folds of questions for cross-validation: no document has evidence in two folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """Assignment of questions to folds."""

    of: tuple[int, ...]
    """Number of the fold of each question, from 0."""
    by_document: bool
    """Whether no document has evidence for questions of two folds."""

    @property
    def numbers(self) -> range:
        """Return the numbers of all folds."""
        return range(max(self.of, default=-1) + 1)


def question_groups(questions: Sequence[LabelledQuestion]) -> list[str]:
    """Return a document for each question that is equal for questions that share a document.

    Questions with evidence in several documents join the groups of these. A group is named after
    its first document in order; a question without evidence has "".
    """
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]  # half the way for the next one: chains stay short
            name = above[name]
        return name

    for question in questions:
        names = sorted({one.document_id for one in question.evidence})
        for other in names[1:]:
            first, second = sorted((top(names[0]), top(other)))
            above[second] = first
    firsts = (min((one.document_id for one in q.evidence), default="") for q in questions)
    return [top(name) if name else "" for name in firsts]


def fold_questions(questions: Sequence[LabelledQuestion], *, folds: int) -> Folds:
    """Return questions in folds of similar size, those about one document in one fold.

    Groups go to the smallest fold, largest group first. If there are fewer documents than folds, or
    one has more than half of the questions, questions are assigned one by one: the figures then
    hold for these documents only.

    Args:
        questions: Questions with evidence.
        folds: Number of folds, at least 2.
    """
    groups = question_groups(questions)
    counts = Counter(groups)
    if len(counts) < folds or max(counts.values()) * 2 > len(groups):
        return Folds(of=tuple(at % folds for at in range(len(groups))), by_document=False)
    sizes = [0] * folds
    part: dict[str, int] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        part[name] = sizes.index(min(sizes))
        sizes[part[name]] += counts[name]
    return Folds(of=tuple(part[name] for name in groups), by_document=True)

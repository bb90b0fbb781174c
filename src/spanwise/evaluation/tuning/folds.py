"""Parts of questions such that what is measured on one was never seen by what it measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """Which part each question is in."""

    of: tuple[int, ...]
    """Number of the part of each question, from 0."""
    by_document: bool
    """Whether no document has evidence for questions of two parts."""

    @property
    def numbers(self) -> range:
        """Return the numbers of all parts."""
        return range(max(self.of, default=-1) + 1)


def question_groups(questions: Sequence[LabelledQuestion]) -> list[str]:
    """Return a document for each question, the same for questions that share one.

    Questions whose evidence lies in several documents tie these together; the name is that of the
    first one in order. A question without evidence has none: "".
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
    """Return questions in parts of about one size, those about one document in one part.

    Documents go, those with most questions first, to the smallest part. Where documents are fewer
    than parts, or one holds more than half of the questions, questions are dealt one by one: what
    is measured then says something about these documents alone.

    Args:
        questions: With evidence.
        folds: How many parts, at least 2.
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

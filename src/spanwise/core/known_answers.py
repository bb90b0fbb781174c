"""What answered questions of a kind: words to look for when such a question comes again.

The idea:
    The same is asked of many documents: the clauses of contracts, the items of reports. Questions
    and answers use other words ("which law governs" and "construed in accordance with"), and the
    answers in one document are like those in another. So questions of a kind remember the words
    that their evidence held, and a further question of that kind looks for these too.
Rules:
    Words tell which place of a document is meant, never which document: a chunk is measured against
    the best one of its own document.
    A question that is like no kind is searched as if nothing was known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.features import NARROW
from spanwise.core.scores import inverse_frequencies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.features import Rows

__all__ = [
    "KnownAnswers",
    "QuestionKind",
    "SoughtWords",
    "answer_lift",
    "term_rarities",
]

_LIKE = 0.5  # of the words of a kind, weighted, that a question has to hold more than
_SOUGHT = 30  # words that one question looks for, at most
_MOST_LACK = 6.0  # deviations; what lies further below says no more


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionKind:
    """Questions that ask about the same of several documents."""

    terms: tuple[str, ...]
    """Of at least half of the questions, ascending, at least one."""
    questions: int
    documents: int
    answers: Mapping[str, float]
    """Share of the evidence that stands in pieces with a term, in (0, 1], by term, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtWords:
    """What one question looks for beside its own words."""

    shares: Mapping[str, float]
    """Share of the evidence of such questions with each term, in (0, 1], by term, ascending."""
    likeness: float
    """How far the question is like the kind that it is most like, in (0, 1]."""

    def best(self, rarities: NDArray[np.float64]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the words that tell most, and what each is worth: share times rarity, (words,).

        Args:
            rarities: Weight of each word in the knowledge base, in their order; 0 for one that no
                chunk holds.
        """
        worth = np.fromiter(self.shares.values(), dtype=np.float64) * rarities
        order = np.argsort(-worth, kind="stable")[:_SOUGHT]
        chosen = np.sort(order[worth[order] > 0])
        words = tuple(self.shares)
        return tuple(words[at] for at in chosen.tolist()), worth[chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswers:
    """Kinds of questions and what answered them; none for nothing known."""

    kinds: tuple[QuestionKind, ...] = ()

    def sought(self, terms: Sequence[str]) -> SoughtWords | None:
        """Return what a question with these terms looks for too; None if it is like no kind.

        Kinds weigh by how far the question is like them, and by their number of questions.

        Args:
            terms: Of the question, in all their forms.
        """
        own = frozenset(terms)
        weights = term_rarities([kind.terms for kind in self.kinds])
        shares: defaultdict[str, float] = defaultdict(float)
        likeness = total = 0.0
        for kind in self.kinds:
            like = _coverage(kind.terms, own, weights)
            if like <= _LIKE:
                continue
            closeness = (like - _LIKE) / (1 - _LIKE)
            likeness = max(likeness, closeness)
            total += closeness * kind.questions
            for term, share in kind.answers.items():
                shares[term] += closeness * kind.questions * share
        found = {term: shares[term] / total for term in sorted(shares.keys() - own)}
        return SoughtWords(shares=found, likeness=likeness) if found else None


def term_rarities(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the weight of each term over some texts: what all of them hold weighs least."""
    holders = Counter(term for text in texts for term in text)
    terms = sorted(holders)
    weights = inverse_frequencies([holders[term] for term in terms], len(texts))
    return dict(zip(terms, weights.tolist(), strict=True))


def _coverage(terms: Sequence[str], held: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return the weighted part of some terms that is held, in [0, 1]."""
    found = sum(weights[term] for term in terms if term in held)
    return found / sum(weights[term] for term in terms)


def answer_lift(
    impacts: NDArray[np.float32],
    *,
    worth: NDArray[np.float64],
    rows: Rows,
    weight: float,
) -> NDArray[np.float64]:
    """Return what each chunk loses for the sought words that others of its document hold, (n,).

    At most 0: `-weight * min(6, (best - score) / deviation)`, the score the sum of worth and
    saturation of the words, with that of its neighbours; `best` that of the document, the deviation
    that of all chunks that were read.

    Args:
        impacts: Saturation of each sought word in each chunk, (words, n).
        worth: Of each word, (words,).
        rows: Where the chunks belong.
        weight: Of a deviation.
    """
    score = np.zeros(impacts.shape[1])
    for one, impact in zip(worth, impacts, strict=True):  # in this order on every machine
        score += one * impact.astype(np.float64)
    score = rows.smooth(score, NARROW)
    deviation = float(score.std())
    if deviation <= 1e-9:  # the same everywhere, but for rounding
        return np.zeros(len(score))
    best = np.full(int(rows.documents.max()) + 1, -np.inf)
    np.maximum.at(best, rows.documents, score)
    return np.asarray(-weight * np.minimum((best[rows.documents] - score) / deviation, _MOST_LACK))

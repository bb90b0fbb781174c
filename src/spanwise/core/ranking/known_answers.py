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

Kinds of questions, out of questions whose evidence is known.

Rules:
    Questions whose weighted terms overlap by half (Jaccard) with the first of a kind belong to it;
    one that fits several goes to the nearest. Words of the titles of the documents do not count.
    Of too many, or too long ones, those with most questions are kept.
    A kind was answered in two documents at least, and so was each word of its answers: names and
    numbers of one document fall out.
    What comes out does not depend on the order of the questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.features import NARROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows

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


MOST_KINDS = 400
"""Kinds that are remembered, at most."""
MOST_WORDS = 60
"""Words that a kind remembers, at most."""
_MOST_BYTES = 300_000  # of all their words in UTF-8, so that a file of 1 MB holds them
_LEAST_DOCUMENTS = 2
_SAME_KIND = 0.5  # of the words of two questions, weighted, that both hold; .35 to .7 do as well
_DIGITS = 3  # of a share: what is learned is what its file says


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePiece:
    """Some of the evidence of a question."""

    document_id: str
    terms: frozenset[str]
    chars: int
    """Its length, at least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question whose evidence is known."""

    id: str
    terms: frozenset[str]
    """Without those that the titles of its documents hold."""
    evidence: tuple[EvidencePiece, ...]
    """Disjoint pieces; without one it teaches nothing."""


def learn_kinds(
    answered: Sequence[AnsweredQuestion], *, rarities: Mapping[str, float]
) -> tuple[QuestionKind, ...]:
    """Return the kinds of some questions that were answered in several documents, by their terms.

    Args:
        answered: Questions, each id once.
        rarities: Weight of each term of the evidence in the knowledge base.
    """
    kinds = [
        _kind(group, rarities)
        for group in _groups([one for one in answered if one.terms])
        if len(_documents(group)) >= _LEAST_DOCUMENTS
    ]
    found = sorted(
        (one for one in kinds if one.answers), key=lambda one: (-one.questions, one.terms)
    )
    sizes = accumulate(_size(one) for one in found[:MOST_KINDS])
    fitting = sum(size <= _MOST_BYTES for size in sizes)
    return tuple(sorted(found[:fitting], key=lambda one: one.terms))


def _size(kind: QuestionKind) -> int:
    return sum(len(word.encode("utf-8")) for word in (*kind.terms, *kind.answers))


def _documents(group: Sequence[AnsweredQuestion]) -> frozenset[str]:
    return frozenset(piece.document_id for one in group for piece in one.evidence)


def _groups(answered: Sequence[AnsweredQuestion]) -> list[list[AnsweredQuestion]]:
    """Return questions by the first of each kind, in the order of ids."""
    weights = term_rarities([sorted(one.terms) for one in answered])
    groups: list[list[AnsweredQuestion]] = []
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for one in sorted(answered, key=lambda one: one.id):
        near = {at for term in _heavy(one.terms, weights) for at in holders[term]}
        likes = {at: _overlap(groups[at][0].terms, one.terms, weights) for at in sorted(near)}
        best = max(likes, key=lambda at: (likes[at], -at), default=None)
        if best is not None and likes[best] >= _SAME_KIND:
            groups[best].append(one)
            continue
        for term in sorted(one.terms):
            holders[term].append(len(groups))
        groups.append([one])
    return groups


def _heavy(terms: frozenset[str], weights: Mapping[str, float]) -> list[str]:
    """Return the terms of which two questions of a kind share at least one, so that few are tried.

    What they share is at least half of their union, so half of each of them: more than the lightest
    terms that are less than half together.
    """
    total = rest = sum(weights[term] for term in sorted(terms))
    heavy: list[str] = []
    for term in sorted(terms, key=lambda term: (-weights[term], term)):
        if rest < total * _SAME_KIND - 1e-9:
            break
        heavy.append(term)
        rest -= weights[term]
    return heavy


def _overlap(first: frozenset[str], second: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return the weighted Jaccard similarity of two sets of terms, in [0, 1]."""
    shared = sum(weights[term] for term in sorted(first & second))
    return shared / sum(weights[term] for term in sorted(first | second))


def _kind(group: Sequence[AnsweredQuestion], rarities: Mapping[str, float]) -> QuestionKind:
    """Return what questions of one kind have in common."""
    held = Counter(term for one in group for term in one.terms)
    shares: defaultdict[str, float] = defaultdict(float)
    documents: defaultdict[str, set[str]] = defaultdict(set)
    for one in group:
        chars = sum(piece.chars for piece in one.evidence)
        for piece in one.evidence:
            for term in piece.terms:
                shares[term] += piece.chars / chars / len(group)
                documents[term].add(piece.document_id)
    worth = {
        term: round(min(share, 1.0), _DIGITS) * rarities[term]
        for term, share in shares.items()
        if len(documents[term]) >= _LEAST_DOCUMENTS and round(share, _DIGITS) > 0
    }
    best = sorted(worth, key=lambda term: (-worth[term], term))[:MOST_WORDS]
    return QuestionKind(
        terms=tuple(sorted(term for term, count in held.items() if 2 * count >= len(group)))
        or tuple(sorted(group[0].terms)),
        questions=len(group),
        documents=len(_documents(group)),
        answers={term: round(min(shares[term], 1.0), _DIGITS) for term in sorted(best)},
    )

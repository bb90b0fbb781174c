"""Kinds of questions, out of questions whose evidence is known.

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

from spanwise.core.known_answers import QuestionKind, term_rarities

__all__ = ["MOST_KINDS", "MOST_WORDS", "AnsweredQuestion", "EvidencePiece", "learn_kinds"]

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

"""Query expansion from known answers: words of the evidence of similar labelled questions.

Idea:
    Many documents are asked the same questions: about the clauses of contracts or the items of
    reports. Questions and answers use different words ("which law governs" and "construed in
    accordance with"), but the answers in different documents are similar. The words of the evidence
    are stored for each kind of question, and a new question of that kind is expanded by them.

Rules of a search:
    Expansion terms rank passages within a document, not documents: a chunk is compared with the
    best chunk of its own document.
    A question that is similar to no kind is not expanded.

Rules of learning:
    A question joins the most similar kind if its weighted Jaccard similarity to the first question
    of that kind is at least 0.5; otherwise it begins a new kind. Words of document titles are
    ignored.
    If there are too many kinds, the ones with the fewest questions are dropped.
    A kind, and each of its answer words, must occur in two documents at least. This removes names
    and numbers of single documents.
    The result does not depend on the order of the questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies, weighted_sum
from spanwise.core.ranking.features import NARROW, best_of_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows

_MIN_SIMILARITY = 0.5  # weighted share of the terms of a kind that a question must exceed
_MAX_EXPANSION = 30  # maximum number of expansion terms of a question
_MAX_LACK = 6.0  # standard deviations


class QuestionKind(NamedTuple):
    """Questions that ask for the same thing in several documents."""

    terms: tuple[str, ...]
    """Terms of at least half of the questions, ascending, at least one."""
    questions: int
    """Number of labelled questions."""
    documents: int
    """Number of documents with evidence."""
    answers: Mapping[str, float]
    """Fraction of the evidence, in (0, 1], that contains each answer word; ascending by word."""


class ExpansionTerms(NamedTuple):
    """Expansion terms of one question."""

    shares: Mapping[str, float]
    """Fraction of the evidence of similar questions that contains each expansion term, in (0, 1].

    The terms are in ascending order.
    """
    similarity: float
    """Similarity of the question to the most similar kind, in (0, 1]."""

    def best(self, rarities: NDArray[np.float64]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the most informative terms, and their weights (share times rarity), (terms,).

        Args:
            rarities: Inverse frequency of each term in the knowledge base, in order; 0 for a term
                that no chunk contains.
        """
        weights = np.fromiter(self.shares.values(), dtype=np.float64) * rarities
        order = np.argsort(-weights, kind="stable")[:_MAX_EXPANSION]
        chosen = np.sort(order[weights[order] > 0])
        words = tuple(self.shares)
        return tuple(words[at] for at in chosen.tolist()), weights[chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswers:
    """Kinds of questions with their answer words; empty if nothing was learned."""

    kinds: tuple[QuestionKind, ...] = ()
    """Learned kinds of questions."""

    def expansion(self, terms: Sequence[str]) -> ExpansionTerms | None:
        """Return the expansion terms of a question; None if it is similar to no kind.

        Kinds are weighted by their similarity to the question and by their number of questions.

        Args:
            terms: Terms of the question in all their forms (see `Question.forms`).
        """
        question_terms = frozenset(terms)
        weights = term_rarities([kind.terms for kind in self.kinds])
        shares: defaultdict[str, float] = defaultdict(float)
        similarity = total = 0.0
        for kind in self.kinds:
            coverage = _coverage(kind.terms, question_terms, weights)
            if coverage <= _MIN_SIMILARITY:
                continue
            closeness = (coverage - _MIN_SIMILARITY) / (1 - _MIN_SIMILARITY)
            similarity = max(similarity, closeness)
            total += closeness * kind.questions
            for term, share in kind.answers.items():
                shares[term] += closeness * kind.questions * share
        expansion = {term: shares[term] / total for term in sorted(shares.keys() - question_terms)}
        return ExpansionTerms(shares=expansion, similarity=similarity) if expansion else None


def term_rarities(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the inverse frequency of each term over the texts."""
    holders = Counter(term for text in texts for term in text)
    terms = sorted(holders)
    weights = inverse_frequencies([holders[term] for term in terms], len(texts))
    return dict(zip(terms, weights.tolist(), strict=True))


def _coverage(
    terms: Sequence[str], question_terms: frozenset[str], weights: Mapping[str, float]
) -> float:
    """Return the weighted fraction of `terms` that the question contains, in [0, 1]."""
    covered = sum(weights[term] for term in terms if term in question_terms)
    return covered / sum(weights[term] for term in terms)


def answer_lift(
    impacts: NDArray[np.float32],
    *,
    term_weights: NDArray[np.float64],
    rows: Rows,
    weight: float,
) -> NDArray[np.float64]:
    """Return the addition of the expansion terms to the score of each chunk, <= 0, (n,).

    It is `-weight * min(6, (best - score) / deviation)`, where `score` is the weighted sum of the
    saturations of the terms, smoothed over neighbours. `best` is the highest score in the document,
    `deviation` the standard deviation over all chunks.

    Args:
        impacts: BM25 saturation of each expansion term in each chunk, (terms, n).
        term_weights: Weight of each term, (terms,).
        rows: Layout of the chunks.
        weight: Weight per standard deviation.
    """
    score = rows.smooth(weighted_sum(impacts, term_weights), NARROW)
    deviation = float(score.std())
    if deviation <= 1e-9:  # equal except for rounding
        return np.zeros(len(score))
    lack = (best_of_documents(score, rows) - score) / deviation
    return np.asarray(-weight * np.minimum(lack, _MAX_LACK))


MOST_KINDS = 400
"""Maximum number of kinds."""
MOST_WORDS = 60
"""Maximum number of answer words of a kind."""
_MAX_BYTES = 300_000  # UTF-8 size of all words, so that they fit into a file of 1 MB
_MIN_DOCUMENTS = 2
_SAME_KIND = 0.5  # weighted Jaccard similarity; values from .35 to .7 work as well
_DIGITS = 3  # decimal digits of a share, as in the tuning file


class EvidencePiece(NamedTuple):
    """One piece of the evidence of a question."""

    document_id: str
    """Id of the document."""
    terms: frozenset[str]
    """Terms of the piece."""
    chars: int
    """Length in characters, at least 1."""


class AnsweredQuestion(NamedTuple):
    """Question with known evidence."""

    id: str
    """Unique id of the question."""
    terms: frozenset[str]
    """Terms of the question except terms in the titles of its documents."""
    evidence: tuple[EvidencePiece, ...]
    """Disjoint pieces of evidence; a question without any is ignored."""


def learn_kinds(
    answered: Sequence[AnsweredQuestion], *, rarities: Mapping[str, float]
) -> tuple[QuestionKind, ...]:
    """Return the kinds of questions with evidence in several documents, sorted by their terms.

    Args:
        answered: Questions with unique ids.
        rarities: Inverse frequency of each term of the evidence in the knowledge base.
    """
    kinds = [
        _kind(group, rarities)
        for group in _groups([kind for kind in answered if kind.terms])
        if len(_documents(group)) >= _MIN_DOCUMENTS
    ]
    ranked = sorted(
        (kind for kind in kinds if kind.answers), key=lambda kind: (-kind.questions, kind.terms)
    )
    sizes = accumulate(
        sum(len(word.encode("utf-8")) for word in (*kind.terms, *kind.answers))
        for kind in ranked[:MOST_KINDS]
    )
    fitting = sum(size <= _MAX_BYTES for size in sizes)
    return tuple(sorted(ranked[:fitting], key=lambda kind: kind.terms))


def _documents(group: Sequence[AnsweredQuestion]) -> frozenset[str]:
    return frozenset(piece.document_id for question in group for piece in question.evidence)


def _groups(answered: Sequence[AnsweredQuestion]) -> list[list[AnsweredQuestion]]:
    """Return questions in order of id, grouped by similarity to the first one of each group."""
    weights = term_rarities([sorted(question.terms) for question in answered])
    groups: list[list[AnsweredQuestion]] = []
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for question in sorted(answered, key=lambda question: question.id):
        near = {at for term in _prefix_terms(question.terms, weights) for at in holders[term]}
        similarities = {
            at: _overlap(groups[at][0].terms, question.terms, weights) for at in sorted(near)
        }
        best = max(similarities, key=lambda at: (similarities[at], -at), default=None)
        if best is not None and similarities[best] >= _SAME_KIND:
            groups[best].append(question)
            continue
        for term in sorted(question.terms):
            holders[term].append(len(groups))
        groups.append([question])
    return groups


def _prefix_terms(terms: frozenset[str], weights: Mapping[str, float]) -> list[str]:
    """Return the heaviest terms; two questions of one kind share one of them (prefix filtering).

    The common terms of two such questions have at least half of the weight of their union, and
    therefore of each question. Without light terms that weigh less than half together, at least one
    common term is left.
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
    """Return the common terms and answer words of one group of questions."""
    term_counts = Counter(term for question in group for term in question.terms)
    shares: defaultdict[str, float] = defaultdict(float)
    documents: defaultdict[str, set[str]] = defaultdict(set)
    for question in group:
        chars = sum(piece.chars for piece in question.evidence)
        for piece in question.evidence:
            for term in piece.terms:
                shares[term] += piece.chars / chars / len(group)
                documents[term].add(piece.document_id)
    term_values = {
        term: round(min(share, 1.0), _DIGITS) * rarities[term]
        for term, share in shares.items()
        if len(documents[term]) >= _MIN_DOCUMENTS and round(share, _DIGITS) > 0
    }
    best = sorted(term_values, key=lambda term: (-term_values[term], term))[:MOST_WORDS]
    return QuestionKind(
        terms=tuple(sorted(term for term, count in term_counts.items() if 2 * count >= len(group)))
        or tuple(sorted(group[0].terms)),
        questions=len(group),
        documents=len(_documents(group)),
        answers={term: round(min(shares[term], 1.0), _DIGITS) for term in sorted(best)},
    )

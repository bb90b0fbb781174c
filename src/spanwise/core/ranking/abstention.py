"""Whether anything in scope answers a question at all: four signals and a logistic model.

Shares of a question sum to 1 whatever it asks, so they cannot say it. What can: how much of the
weight of the question's words stands in one place, how near the best place is in meaning, and how
it scores. `benchmarks/abstention.py` makes the weights and both thresholds.

Rules:
    A word that no chunk holds weighs a little more than a word that one chunk holds.
    Words weigh as in a knowledge base with 200 chunks more: nine chunks that all hold a word do not
    show that it says nothing. Nor does a low score, for among few chunks none stands out far.
    Words that say what to do with a text ("summarize", "document") weigh less than words that say
    what it is about. A question that has none but these is not judged, nor one of which a part
    alone was searched by.
    Cosines mean something else for each embedder: with another one than the model was made for, and
    without any, the model for keywords alone judges.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import MAX_IMPACT, inverse_frequencies
from spanwise.core.ranking.question import MAX_TERMS
from spanwise.core.text.terms import content_words
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.scan import Passages, Scan


SIGNALS = {
    "words": "words of the question in the best place",
    "coverage": "share of the question's words around the best place",
    "score": "score of the best place",
    "meaning": "nearest meaning",
}
"""Name of each signal, in order, and how it is called for people."""

_PRIOR_CHUNKS = 200
_LEAST_SCORE = 7.0
_REQUEST_WORD = 0.4
_MAX_ODDS = 50.0  # what lies further out is sure, and does not overflow
_REQUEST_WORDS = frozenset(
    """
    according article articles ask asked author concerning consider conversation define describe
    described describes description detail details different discuss discussed discusses discussion
    document documents example examples explain explained explains explanation file files find give
    given gives happen happened happens identify key kind kinds list main make makes making mean
    meaning means meeting meetings mention mentioned mentions name names opinion outline overview
    page pages paper papers passage point points provide provided provides purpose question answer
    reason reasons regarding report reports said say saying says section sections show shows sort
    speaker specific state stated states story study summaries summarise summarised summarize
    summarized summary talk talked talking talks tell text texts thing things think thinks thought
    thoughts told type types use used uses using various view views way ways
    beschreibe beschreiben dokument erkläre erklären fasse text zusammen zusammenfassen
    zusammenfassung überblick
    décris décrire expliquer explique résume résumer résumé texte
    describir documento explica explicar resume resumen resumir texto
    descrivi documento riassumi riassunto spiega testo
    descreva resumo resuma
    """.split()
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model says of the signals of one question."""

    evidence: float
    """Chance that it can be answered, were half of all questions answerable, in [0, 1]."""
    is_weak: bool
    """Whether the evidence is below the loose threshold."""
    is_missing: bool
    """Whether it is below the strict one; then it is weak, too."""


UNJUDGED = Judgement(0.5, is_weak=False, is_missing=False)
"""Of a question that does not say what it is about."""
NOTHING = Judgement(0.0, is_weak=True, is_missing=True)
"""Where nothing in scope has a word or a vector to match."""


@dataclass(frozen=True, slots=True, eq=False)
class LogisticModel:
    """Weights of the signals, and both thresholds."""

    weights: NDArray[np.float64]
    """One a signal, (4,); of keywords alone 0 for the last."""
    bias: float
    weak: float
    """Evidence below it is weak, in [0, 1]."""
    missing: float
    """Evidence below it is none, at most `weak`."""

    def judge(self, signals: NDArray[np.float64]) -> Judgement:
        """Return what the model says of the signals of one question, (4,)."""
        odds = self.bias
        for weight, signal in zip(self.weights.tolist(), signals.tolist(), strict=True):
            odds += weight * signal
        evidence = 1 / (1 + math.exp(-max(-_MAX_ODDS, min(_MAX_ODDS, odds))))
        return Judgement(evidence, is_weak=evidence < self.weak, is_missing=evidence < self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class AbstentionModel:
    """One model for the embedder it was made for, one for keywords alone."""

    embedder: str
    """Name of the embedder whose cosines the first one knows."""
    with_vectors: LogisticModel
    keywords_alone: LogisticModel

    def for_embedder(self, name: str | None) -> LogisticModel:
        """Return the model for vectors of an embedder, by its name; None for no vectors."""
        return self.with_vectors if name == self.embedder else self.keywords_alone

    @classmethod
    def from_json(cls, text: str) -> AbstentionModel:
        """Read a model that was made for these signals.

        Raises:
            OptionError: If it was made for others, or is not a model.
        """
        try:
            data = json.loads(text)
            made_for = tuple(data["signals"])
            model = cls(
                embedder=str(data["embedder"]),
                with_vectors=_logistic(data["with_vectors"]),
                keywords_alone=_logistic(data["keywords_alone"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError(f"this abstention model cannot be read: {error!r}") from error
        if made_for != tuple(SIGNALS):
            raise OptionError(f"this abstention model is for the signals {made_for!r}")
        return model


def _logistic(data: Mapping[str, object]) -> LogisticModel:
    weights = np.array(data["weights"], dtype=np.float64)
    if weights.shape != (len(SIGNALS),):
        raise ValueError(f"{weights.size} weights for {len(SIGNALS)} signals")
    bias, weak, missing = (float(str(data[name])) for name in ("bias", "weak", "missing"))
    return LogisticModel(weights=weights, bias=bias, weak=weak, missing=missing)


def can_judge(question: Question) -> bool:
    """Return whether a question says what it is about, in no more words than it is searched by."""
    if len(question.terms) >= MAX_TERMS:
        return False
    asked = " ".join(question.words)
    # A question of stop words alone keeps them all; beside another word it keeps none.
    telling = frozenset(content_words(f"Spanwise {asked}", language=question.language)[1:])
    return any(word in telling for word, _ in _subjects(question))


def _subjects(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the words that say what a question is about, each with its first term."""
    for word, stem in zip(question.words, question.stems, strict=True):
        if stem is not None and word.lower() not in _REQUEST_WORDS:
            yield word, stem


def abstention_signals(
    question: Question,
    *,
    scan: Scan,
    rows: Rows,
    passages: Passages,
    candidates: NDArray[np.int64],
    score: float,
) -> NDArray[np.float64]:
    """Return the signals of a question, in the order of `SIGNALS`, (4,).

    Args:
        question: With the terms that were searched by, at least one.
        scan: What the searches saw.
        rows: Where the chunks of `passages` belong.
        passages: Raw material; `similarities[0]` is the cosine to the question, where there is one.
        candidates: Rows that were weighed, at least one.
        score: That of the best of them under the relevance model.
    """
    weights = _weights(question, scan)[:, None]
    titled = scan.document_titles[rows.documents[candidates]].T
    impacts = passages.impacts[:, candidates].astype(np.float64)
    # Sums over terms run in their order, so that they are the same on every machine.
    words = (weights * (impacts + titled)).sum(axis=0).max() / (MAX_IMPACT * weights.sum())
    near = _near(passages.impacts > 0, rows)[:, candidates] | titled
    roots = np.sqrt(weights)
    coverage = (roots * near).sum(axis=0).max() / roots.sum()
    has_vectors = len(passages.similarities) > 0
    meaning = float(passages.similarities[0, candidates].max()) if has_vectors else 0.0
    return np.array([words, coverage, max(score, _LEAST_SCORE), meaning], dtype=np.float64)


def _weights(question: Question, scan: Scan) -> NDArray[np.float64]:
    """Return what each term counts, (T,)."""
    chunks = scan.all_chunks + _PRIOR_CHUNKS
    known = inverse_frequencies(scan.term_chunks, chunks)
    weights = np.where(scan.term_chunks == 0, np.log1p(chunks), known)
    subjects = {stem for _, stem in _subjects(question)}
    requests = {stem for stem in question.stems if stem is not None} - subjects
    return np.where([term in requests for term in question.terms], _REQUEST_WORD * weights, weights)


def _near(held: NDArray[np.bool_], rows: Rows) -> NDArray[np.bool_]:
    """Return which terms each row or a neighbour in its range holds, (T, n)."""
    near = held.copy()
    joined = np.ones(held.shape[1] - 1, dtype=bool)
    joined[rows.starts[1:] - 1] = False
    near[:, 1:] |= held[:, :-1] & joined
    near[:, :-1] |= held[:, 1:] & joined
    return near

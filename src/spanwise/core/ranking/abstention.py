"""Probability that the documents answer a question: a logistic model of the search's signals.

Shares always sum to 1, even if nothing answers the question, so they cannot serve as a signal. The
signals are the weight of the question's words in the best chunk and around it, the score of the
best chunk with all additions but those of rerankers, the highest cosine, the weight of similar
words around a candidate, and the found share. `benchmarks/abstention.py` fits the weights, some of
which are 0, and both thresholds with questions in the words of the documents and in other words.

Rules:
    With a reranker, the odds of its probability of an answer are multiplied with the odds of the
    signals (naive Bayes with equal priors). A probability near 0 or 1 outweighs the signals.
    A word that no chunk contains weighs a little more than a word that one chunk contains.
    Word weights are computed as if there were 200 more chunks: nine chunks that all contain a word
    do not show that the word is uninformative. Scores have a lower limit, because among few chunks
    none can stand out.
    Words that describe the request ("summarize", "document") weigh less than other content words,
    which are called subject words. A question is not assessed if it has no subject word, or too
    many terms to search for all of them.
    Cosines have a different scale for every embedder. There is one model for each embedder of the
    training data; the model without vectors is used for all other embedders.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
    "similar": "similar words in the best place",
    "found": "how well the words are found",
}
"""Display label of each signal by its name, in the order of the weights."""

_PRIOR_CHUNKS = 200
_MIN_SCORE = 7.0
_REQUEST_WORD = 0.4
_MAX_ODDS = 50.0  # prevents overflow; beyond it the result is certain
_CERTAIN = 1e-5  # minimum distance of a reranker's probability from 0 and 1
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


class EvidenceAssessment(NamedTuple):
    """Result of the abstention model for one question."""

    evidence: float
    """Probability of an answer, assuming half of all questions are answerable, in [0, 1]."""
    is_weak: bool
    """Whether the evidence is below the loose threshold."""
    is_missing: bool
    """Whether the evidence is below the strict threshold; it is then weak, too."""


IRRELEVANT_CHANCE = 0.01
"""Maximum probability of an answer if a reranker rates all candidates 0."""
UNASSESSED = EvidenceAssessment(0.5, is_weak=False, is_missing=False)
"""Assessment of a question without a subject word."""
NO_EVIDENCE = EvidenceAssessment(0.0, is_weak=True, is_missing=True)
"""Assessment if no chunk in scope contains a search term or has a vector."""


class LogisticModel(NamedTuple):
    """Weights of the signals, and the thresholds of weak and missing evidence."""

    weights: NDArray[np.float64]
    """Weight of each signal, (s,); without vectors, the weight of "meaning" is 0."""
    bias: float
    """Log-odds at signals of 0."""
    weak: float
    """Evidence below this value is weak, in [0, 1]."""
    missing: float
    """Evidence below this value is missing; in [0, `weak`]."""

    def assess(
        self, signals: NDArray[np.float64], *, reranker_chance: float | None = None
    ) -> EvidenceAssessment:
        """Return the assessment of one question.

        Args:
            signals: Signals of the question, (s,).
            reranker_chance: Probability of an answer according to a reranker; None without one.
        """
        odds = self.bias
        for weight, signal in zip(self.weights.tolist(), signals.tolist(), strict=True):
            odds += weight * signal
        if reranker_chance is not None:
            chance = max(_CERTAIN, min(1 - _CERTAIN, reranker_chance))
            odds += math.log(chance / (1 - chance))
        evidence = 1 / (1 + math.exp(-max(-_MAX_ODDS, min(_MAX_ODDS, odds))))
        return EvidenceAssessment(
            evidence, is_weak=evidence < self.weak, is_missing=evidence < self.missing
        )


DEEP = "deep"
"""Name of the model with the cosines of MiniLM for the best candidates in the file."""
NO_EMBEDDER = "none"
"""Name of the model without vectors in the file."""


@dataclass(frozen=True, slots=True, eq=False)
class AbstentionModel:
    """Logistic models for the cosines of several embedders, and one without vectors."""

    by_embedder: Mapping[str, LogisticModel]
    """Model for the cosines of each embedder of the training, by the name of the embedder."""
    keywords_alone: LogisticModel
    """Model without cosines, for a keyword search or another embedder."""

    def for_embedder(self, name: str | None) -> LogisticModel:
        """Return the model for an embedder, by its name; None for no vectors."""
        return self.by_embedder.get(name or NO_EMBEDDER, self.keywords_alone)

    @classmethod
    def from_json(cls, text: str) -> AbstentionModel:
        """Return the model in a JSON text.

        Raises:
            OptionError: If the text is not a model, or its signals are not `SIGNALS`.
        """
        try:
            data = json.loads(text)
            names = tuple(data["signals"])
            models = {str(name): _logistic(part) for name, part in data["embedders"].items()}
            model = cls(keywords_alone=models.pop(NO_EMBEDDER), by_embedder=models)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OptionError(f"this abstention model cannot be read: {error!r}") from error
        if names != tuple(SIGNALS):
            raise OptionError(f"this abstention model is for the signals {names!r}")
        return model


def _logistic(data: Mapping[str, object]) -> LogisticModel:
    weights = np.array(data["weights"], dtype=np.float64)
    if weights.shape != (len(SIGNALS),):
        raise ValueError(f"{weights.size} weights for {len(SIGNALS)} signals")
    bias, weak, missing = (float(str(data[name])) for name in ("bias", "weak", "missing"))
    return LogisticModel(weights=weights, bias=bias, weak=weak, missing=missing)


def is_assessable(question: Question) -> bool:
    """Return whether a question has a subject word and fewer than `MAX_TERMS` terms."""
    if len(question.terms) >= MAX_TERMS:
        return False
    text = " ".join(question.words)
    # A text of stop words only would keep them as content words; the added word prevents it.
    content = frozenset(content_words(f"Spanwise {text}", language=question.language)[1:])
    return any(word in content for word, _ in _subjects(question))


def _subjects(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the subject words of a question (content, not request words) and their terms."""
    for word, stem in zip(question.words, question.stems, strict=True):
        if stem is not None and word.lower() not in _REQUEST_WORDS:
            yield word, stem


class ScoreSignals(NamedTuple):
    """Signals that follow from the scores of a search."""

    score: float
    """Best score of the candidates, with all additions but those of rerankers."""
    similar: float = 0.0
    """Highest share of the question's words around a candidate; similar words count too."""
    found: float = 1.0
    """How well the words of the question are found, in [0, 1]."""
    deep_similarity: float | None = None
    """Greatest cosine by MiniLM, in place of that of the embedder; None without MiniLM."""


def abstention_signals(
    question: Question,
    *,
    scan: Scan,
    rows: Rows,
    passages: Passages,
    candidates: NDArray[np.int64],
    scores: ScoreSignals,
) -> NDArray[np.float64]:
    """Return the signals of a question, in the order of `SIGNALS`, (s,).

    Args:
        question: Question with its search terms, at least one.
        scan: Result of the search.
        rows: Layout of the chunks of `passages`.
        passages: Inputs of the features; `similarities[0]` is the cosine to the question, if any.
        candidates: Rows that were scored, at least one.
        scores: Signals that follow from the scores.
    """
    weights = _weights(question, scan)[:, None]
    title_terms = scan.document_titles[rows.documents[candidates]].T
    impacts = passages.impacts[:, candidates].astype(np.float64)
    # Sums over terms run in their order, so that they are the same on every machine.
    words = (weights * (impacts + title_terms)).sum(axis=0).max() / (MAX_IMPACT * weights.sum())
    near = rows.near(passages.impacts > 0)[:, candidates] | title_terms
    roots = np.sqrt(weights)
    coverage = (roots * near).sum(axis=0).max() / roots.sum()
    has_vectors = len(passages.similarities) > 0
    meaning = float(passages.similarities[0, candidates].max()) if has_vectors else 0.0
    if scores.deep_similarity is not None:
        meaning = scores.deep_similarity
    best = max(scores.score, _MIN_SCORE)
    signals = [words, coverage, best, meaning, scores.similar, scores.found]
    return np.array(signals, dtype=np.float64)


def _weights(question: Question, scan: Scan) -> NDArray[np.float64]:
    """Return the weight of each term, (T,)."""
    chunks = scan.all_chunks + _PRIOR_CHUNKS
    known = inverse_frequencies(scan.term_chunks, chunks)
    weights = np.where(scan.term_chunks == 0, np.log1p(chunks), known)
    subjects = {stem for _, stem in _subjects(question)}
    requests = {stem for stem in question.stems if stem is not None} - subjects
    return np.where([term in requests for term in question.terms], _REQUEST_WORD * weights, weights)

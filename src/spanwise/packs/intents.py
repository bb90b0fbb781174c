"""Intents of a question, according to packs, and lifts: additions of packs to scores.

Rules:
    If a question points to a landmark, the landmark's weighted signal is added to the score of each
    chunk. It points to a landmark by a name or word of an intent, or else by two words that ask for
    the topic with the same key.
    If a glossary contains a word of the question, a chunk gets a lift for the terms that documents
    use instead, in standard deviations over the chunks that were read.
    Documents without a landmark of a pack get no lift from that pack.
    `benchmarks/packs.py` selects the weights on some companies and evaluates them on others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.bm25 import weighted_sum
from spanwise.core.ranking.features import NARROW
from spanwise.core.ranking.question import MAX_TERMS
from spanwise.core.text.terms import text_terms
from spanwise.packs.pack_file import phrase_terms
from spanwise.packs.topics import matched_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.relevance import LiftWeights
    from spanwise.packs.pack_file import Landmark, Pack, Phrase


_MIN_TOPIC_WORDS = 2


class Aim(NamedTuple):
    """Landmarks and glossary terms of a question, according to one pack."""

    pack: Pack
    landmarks: tuple[Landmark, ...]
    """Landmarks that the question points to, in the order of the pack."""
    terms: tuple[str, ...]
    """Glossary terms for words of the question, except terms of the question, in order; at most
    `MAX_TERMS`."""


def read_aims(packs: Sequence[Pack], question: str) -> tuple[Aim, ...]:
    """Return the aim of a question for each pack that contains one of its words."""
    aims = (_aim(pack, question) for pack in packs)
    return tuple(aim for aim in aims if aim.landmarks or aim.terms)


def _aim(pack: Pack, question: str) -> Aim:
    question_terms = tuple(text_terms(question, language=pack.language))
    lexicon = _lexicon(pack)
    phrases = list(dict.fromkeys(lexicon.phrases(question_terms)))
    named = {key for phrase in phrases for key in lexicon.names.get(phrase, ())}
    keys = named or {key for phrase in phrases for key in lexicon.words.get(phrase, ())}
    keys = keys or _topic_keys(pack, question_terms)
    terms = dict.fromkeys(term for phrase in phrases for term in lexicon.glossary.get(phrase, ()))
    return Aim(
        pack,
        tuple(landmark for landmark in pack.landmarks if landmark.key in keys),
        tuple(term for term in terms if term not in question_terms)[:MAX_TERMS],
    )


def _topic_keys(pack: Pack, terms: Sequence[str]) -> set[str]:
    """Return the keys of the topics with the longest phrase in a question, of two words or more."""
    words = matched_words(pack, terms)
    most = max(words, default=0)
    found = zip(pack.topics, words, strict=True)
    return {topic.key for topic, count in found if count == most >= _MIN_TOPIC_WORDS}


class _Lexicon(NamedTuple):
    """Phrases of a pack, indexed for lookup in questions."""

    names: Mapping[Phrase, tuple[str, ...]]
    """Keys of landmarks, by a name in an intent."""
    words: Mapping[Phrase, tuple[str, ...]]
    """Keys of landmarks, by a word in an intent."""
    glossary: Mapping[Phrase, tuple[str, ...]]
    """Terms that documents use, by phrase of a question."""
    longest: int
    """Number of terms of the longest phrase."""

    def phrases(self, terms: Phrase) -> Iterator[Phrase]:
        """Yield the known phrases in the terms of a question, ordered by position."""
        for start in range(len(terms)):
            for end in range(start + 1, min(start + self.longest, len(terms)) + 1):
                phrase = terms[start:end]
                if phrase in self.names or phrase in self.words or phrase in self.glossary:
                    yield phrase


@lru_cache(maxsize=64)
def _lexicon(pack: Pack) -> _Lexicon:
    names = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.names), pack)
    words = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.words), pack)
    entries = [
        (word, term)
        for word, texts in pack.glossary.items()
        for text in texts
        for term in phrase_terms(text, language=pack.language)
    ]
    glossary = _by_phrase(entries, pack)
    longest = max((len(phrase) for phrase in (*names, *words, *glossary)), default=0)
    return _Lexicon(names, words, glossary, longest)


def _by_phrase(pairs: Iterable[tuple[str, str]], pack: Pack) -> dict[Phrase, tuple[str, ...]]:
    """Return the distinct values of each phrase, in order."""
    index: dict[Phrase, dict[str, None]] = {}
    for text, value in pairs:
        index.setdefault(phrase_terms(text, language=pack.language), {})[value] = None
    return {phrase: tuple(values) for phrase, values in index.items()}


_MAX_LANDMARK, _MAX_GLOSSARY = 10.0, 6.0  # in standard deviations


def landmark_lifts(
    aim: Aim, signals: NDArray[np.float32], *, weights: LiftWeights
) -> Mapping[str, NDArray[np.float64]]:
    """Return the lift of each chunk by each landmark, (n,) each, by display name.

    A chunk gets the lift of its strongest landmark only.

    Args:
        aim: Aim of the question, with at least one landmark.
        signals: Signals of its landmarks, 0 in documents without the landmark, (landmarks, n).
        weights: Weights of the lifts.
    """
    strength = np.clip(signals.astype(np.float64), 0.0, _MAX_LANDMARK)
    best = strength.argmax(axis=0)
    return {
        _label(aim.pack, landmark): np.where(best == at, weights.landmark * strength[at], 0.0)
        for at, landmark in enumerate(aim.landmarks)
    }


def _label(pack: Pack, landmark: Landmark) -> str:
    return f"{pack.name}: {landmark.name}"


def leads_to_table(packs: Sequence[Pack], labels: Iterable[str]) -> bool:
    """Return whether a lift is that of a landmark which is a table of numbers.

    Args:
        packs: Packs of the documents.
        labels: Labels of the lifts.
    """
    tables = {
        _label(pack, landmark) for pack in packs for landmark in pack.landmarks if landmark.numbers
    }
    return not tables.isdisjoint(labels)


def glossary_lift(
    impacts: NDArray[np.float32],
    *,
    terms: NDArray[np.float64],
    rows: Rows,
    known: NDArray[np.bool_],
    weights: LiftWeights,
) -> NDArray[np.float64]:
    """Return the lift of each chunk by glossary terms, (n,).

    Args:
        impacts: BM25 saturation of each term in each chunk, (terms, n).
        terms: Weight of each glossary term, (terms,).
        rows: Documents and positions of the chunks.
        known: Whether the document of each chunk has a landmark of the pack, (n,); at least one.
        weights: Weights of the lifts.
    """
    score = rows.smooth(weighted_sum(impacts, terms), NARROW)
    deviation = float(score[known].std())
    if deviation <= 1e-9:  # constant except for rounding errors
        return np.zeros(len(score))
    standard = np.clip((score - score[known].mean()) / deviation, 0.0, _MAX_GLOSSARY)
    return np.where(known, weights.glossary * standard, 0.0)

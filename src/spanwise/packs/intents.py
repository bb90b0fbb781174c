"""What a question is after, in the words of packs.

What packs add to the score of a chunk, and under which name.

Where a question is after a landmark, a chunk gains by the landmark's signal; where a glossary
knows one of its words, by what documents say instead, as far as that stands out among the chunks
that were read. Chunks of documents in which a pack found no landmark gain nothing of it.
`benchmarks/packs.py` chooses both weights on some companies and measures them on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.features import NARROW
from spanwise.core.ranking.question import MAX_TERMS
from spanwise.core.text.terms import text_terms
from spanwise.packs.pack_file import phrase_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.relevance import LiftWeights
    from spanwise.packs.pack_file import Landmark, Pack, Phrase


@dataclass(frozen=True, slots=True)
class Aim:
    """What a question is after, as one pack understands it."""

    pack: Pack
    landmarks: tuple[Landmark, ...]
    """Where it is to be found, in the order of the pack."""
    terms: tuple[str, ...]
    """What documents say for words of the question, without what it says itself; in order, at most
    as many as a question is searched by."""


def read_aims(packs: Sequence[Pack], question: str) -> tuple[Aim, ...]:
    """Return what a question is after; nothing of a pack that does not know its words."""
    aims = (_aim(pack, question) for pack in packs)
    return tuple(aim for aim in aims if aim.landmarks or aim.terms)


def _aim(pack: Pack, question: str) -> Aim:
    asked = tuple(text_terms(question, language=pack.language))
    lexicon = _lexicon(pack)
    found = list(dict.fromkeys(phrase for phrase in lexicon.phrases(asked)))
    named = {key for phrase in found for key in lexicon.names.get(phrase, ())}
    meant = named or {key for phrase in found for key in lexicon.words.get(phrase, ())}
    said = dict.fromkeys(term for phrase in found for term in lexicon.glossary.get(phrase, ()))
    return Aim(
        pack,
        tuple(landmark for landmark in pack.landmarks if landmark.key in meant),
        tuple(term for term in said if term not in asked)[:MAX_TERMS],
    )


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """What the phrases of a pack mean in a question."""

    names: Mapping[Phrase, tuple[str, ...]]
    words: Mapping[Phrase, tuple[str, ...]]
    glossary: Mapping[Phrase, tuple[str, ...]]
    longest: int

    def phrases(self, terms: Phrase) -> Iterator[Phrase]:
        """Yield the phrases that stand in a question, by where they begin."""
        for start in range(len(terms)):
            for end in range(start + 1, min(start + self.longest, len(terms)) + 1):
                phrase = terms[start:end]
                if phrase in self.names or phrase in self.words or phrase in self.glossary:
                    yield phrase


@lru_cache(maxsize=64)
def _lexicon(pack: Pack) -> _Lexicon:
    names = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.names), pack)
    words = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.words), pack)
    said = [
        (word, term)
        for word, texts in pack.glossary.items()
        for text in texts
        for term in phrase_terms(text, language=pack.language)
    ]
    glossary = _by_phrase(said, pack)
    longest = max((len(phrase) for phrase in (*names, *words, *glossary)), default=0)
    return _Lexicon(names, words, glossary, longest)


def _by_phrase(pairs: Iterable[tuple[str, str]], pack: Pack) -> dict[Phrase, tuple[str, ...]]:
    """Return what stands for each phrase, each once, in order."""
    found: dict[Phrase, dict[str, None]] = {}
    for text, meaning in pairs:
        found.setdefault(phrase_terms(text, language=pack.language), {})[meaning] = None
    return {phrase: tuple(meanings) for phrase, meanings in found.items()}


_MOST_LANDMARK, _MOST_GLOSSARY = 10.0, 6.0  # deviations; what lies further out says no more
_LIFTED = 370  # chunks that are weighed for what lifts them


def landmark_lifts(
    aim: Aim, signals: NDArray[np.float32], *, weights: LiftWeights
) -> Mapping[str, NDArray[np.float64]]:
    """Return what each landmark adds to each chunk, by a name for people, (n,).

    A chunk gains by the landmark that is strongest there, not by several.

    Args:
        aim: What the question is after, with at least one landmark.
        signals: Of its landmarks, 0 where a document does not have one, (landmarks, n).
        weights: Of the parts of a lift.
    """
    strength = np.clip(signals.astype(np.float64), 0.0, _MOST_LANDMARK)
    best = strength.argmax(axis=0)
    return {
        f"{aim.pack.name}: {landmark.name}": np.where(
            best == at, weights.landmark * strength[at], 0.0
        )
        for at, landmark in enumerate(aim.landmarks)
    }


def glossary_lift(
    impacts: NDArray[np.float32],
    *,
    terms: NDArray[np.float64],
    rows: Rows,
    known: NDArray[np.bool_],
    weights: LiftWeights,
) -> NDArray[np.float64]:
    """Return what the words of a glossary add to each chunk, (n,).

    Args:
        impacts: Saturation of each of its terms in each chunk, (terms, n).
        terms: Weight of each term, (terms,).
        rows: Where the chunks belong.
        known: Whether the pack knows the document of each chunk, at least one, (n,).
        weights: Of the parts of a lift.
    """
    score = np.zeros(impacts.shape[1])
    for weight, impact in zip(terms, impacts, strict=True):  # in this order on every machine
        score += weight * impact.astype(np.float64)
    score = rows.smooth(score, NARROW)
    deviation = float(score[known].std())
    if deviation <= 1e-9:  # the same everywhere, but for rounding
        return np.zeros(len(score))
    standard = np.clip((score - score[known].mean()) / deviation, 0.0, _MOST_GLOSSARY)
    return np.where(known, weights.glossary * standard, 0.0)


def lifted_scores(
    scores: NDArray[np.float64], lifts: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return scores with what is added to them, (n,)."""
    total = scores.copy()
    for lift in lifts.values():  # in this order on every machine
        total += lift
    return total


def lifted_candidates(
    candidates: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the candidates with the rows that score best once they are lifted, ascending.

    Args:
        candidates: Rows that are weighed without lifts.
        scores: Of all rows, lifted, (n,).
    """
    best = np.argsort(-scores, kind="stable")[:_LIFTED]
    return np.union1d(candidates, best)

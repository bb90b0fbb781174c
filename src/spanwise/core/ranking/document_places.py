"""Places of documents for a question that asks which documents contain something.

The best chunk of each document is its place. The probability that a place contains evidence is a
logistic function of its score. The score compares the chunk with the question, not with other
chunks, so documents do not compete for a share of the evidence: all or none may contain it.

The features are deviations from the mean over all chunks. In short documents, chunks with evidence
are a greater part of all chunks, and deviate less. The scores are therefore raised if the documents
are shorter than those of the calibrations.

`benchmarks/which_documents.py` fits the functions on contracts and measures them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.routing import AROUND_HIT, around_hits
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.text.terms import text_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.routing import Routing
    from spanwise.core.ranking.scan import Scan

    Floats = NDArray[np.float64]

MOST_CHUNKS = 20_000
"""Maximum number of chunks read for one query."""
HITS = 4_000
"""Number of best chunks that the store returns from each ranking."""
LEAST_CHANCE = 0.35
"""Probability from which a document is shown."""
_OF_DOCUMENT = frozenset({"document", "title", "best_chunk"})  # features of the whole document
COMPARED = 3
"""Number of best chunks of each document in which the phrases of a topic are searched."""
_PHRASE_WEIGHT = 0.3  # per unit of the logarithmic rarity of a phrase
_MIN_TEXTS = 120  # minimum number of texts for the rarity of a phrase
_REFERENCE_CHUNKS = 195  # chunks per document in the calibration set


class Calibration(NamedTuple):
    """Logistic function from the score of a place to the probability of evidence."""

    slope: float
    bias: float
    length: float = 0.0
    """Addition to the score for documents that are shorter than the reference by a factor of e."""


PLAIN = Calibration(slope=0.542, bias=-2.576, length=0.35)
"""Calibration for the words of the question alone."""
WITH_TOPIC = Calibration(slope=0.739, bias=-4.172, length=0.5)
"""Calibration with the phrases of a pack's topic."""


def select_places(scan: Scan, routing: Routing) -> list[tuple[int, PassageRange]]:
    """Return the ranges to read, each with the position of its document in the scan.

    All documents are read whole if they have at most `MOST_CHUNKS` chunks together. Otherwise each
    document gets an equal number of chunks around its best hits. If there are too many documents,
    those with the best hits are read.
    """
    count = len(scan.handles)
    if int(scan.document_chunks.sum()) <= MOST_CHUNKS:
        return [
            (at, PassageRange(int(scan.handles[at]), 0, int(scan.document_chunks[at])))
            for at in range(count)
        ]
    room = max(2 * AROUND_HIT + 1, MOST_CHUNKS // count)
    best_first = np.argsort(-routing.best_hit, kind="stable")[: MOST_CHUNKS // room]
    by_score = np.argsort(-routing.hit_scores, kind="stable")
    owners = scan.hit_documents[by_score].tolist()
    hits: defaultdict[int, list[int]] = defaultdict(list)
    for at, chunk in zip(owners, scan.hit_chunks[by_score].tolist(), strict=True):
        hits[at].append(chunk)
    chosen: list[tuple[int, PassageRange]] = []
    for at in sorted(best_first.tolist()):
        length = int(scan.document_chunks[at])
        spans = [(0, length)] if length <= room else around_hits(hits[at], length, room=room)
        handle = int(scan.handles[at])
        chosen += [(at, PassageRange(handle, start, end)) for start, end in spans]
    return chosen


def place_scores(model: RelevanceModel, features: Floats, lifts: Mapping[str, Floats]) -> Floats:
    """Return the score of each chunk without the features of its document, (n,).

    Args:
        model: Relevance model.
        features: Features of the chunks, (n, features).
        lifts: Additions to the scores by label, (n,) each.
    """
    total = np.zeros(len(features))
    for name, column in zip(model.features, model.contributions(features).T, strict=True):
        if name not in _OF_DOCUMENT:
            total += column
    for lift in lifts.values():
        total += lift
    return total


def length_bonus(chunks: int, documents: int, calibration: Calibration) -> float:
    """Return an addition to all scores for short documents; 0 for long ones.

    Args:
        chunks: Number of chunks of the searched documents.
        documents: Number of searched documents.
        calibration: Calibration of the scores.
    """
    mean_chunks = max(1.0, chunks / max(1, documents))
    return calibration.length * max(0.0, float(np.log(_REFERENCE_CHUNKS / mean_chunks)))


def best_of_each(scores: Floats, documents: NDArray[np.int64], *, count: int) -> NDArray[np.int64]:
    """Return the `count` best rows of each document, best first inside a document.

    Args:
        scores: Score of each row, (n,). Ties go to the earlier row.
        documents: Document of each row, (n,).
        count: Maximum number of rows of a document.
    """
    order = np.lexsort((-scores, documents))
    ordered = documents[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return np.asarray(order[rank < count])


def phrase_bonus(texts: Sequence[str], phrases: Sequence[str], *, language: str) -> Floats:
    """Return an addition to the score of each text for the phrases in it, (texts,).

    A phrase counts more if few of the texts contain it. With few texts, its rarity is that in more
    texts of which the others do not contain it. Its words must be adjacent, except for function
    words.

    Args:
        texts: Texts of chunks.
        phrases: Phrases of a topic.
        language: Language of the phrases.
    """
    spaced = [f" {' '.join(text_terms(text, language=language))} " for text in texts]
    wanted = [f" {' '.join(text_terms(phrase, language=language))} " for phrase in phrases]
    held = np.array([[phrase in text for phrase in wanted] for text in spaced], dtype=np.float64)
    held = held.reshape(len(texts), len(phrases))
    total = max(len(texts), _MIN_TEXTS)
    rarity = inverse_frequencies(held.sum(axis=0).astype(np.int64), total)
    return np.asarray(_PHRASE_WEIGHT * (held * rarity).sum(axis=1))


def place_chances(scores: Floats, calibration: Calibration) -> Floats:
    """Return the probability that each chunk contains evidence, (n,), in (0, 1)."""
    odds = np.clip(calibration.slope * scores + calibration.bias, -30, 30)
    return np.asarray(1 / (1 + np.exp(-odds)))

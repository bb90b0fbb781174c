"""Simulated rerankers of known quality. Their scores are computed from the labelled evidence."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.second_stage import Candidates, Floats
from spanwise.core.ranking.reranking import score_parts

_NEIGHBOUR = 0.4  # weight of the error of each neighbour in the error of a chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedReranker:
    """Reranker whose scores of chunks are simulated."""

    name: str
    """Name in the report."""
    auc: float | None = None
    """Area under the ROC curve; None for scores without error."""
    slope: float = 1.0
    """Slope of the logistic function."""
    offset: float = 0.0
    """Offset of the logistic function."""
    weight: float = 1.0
    """Weight in the training; 0 to measure the reranker only."""

    def scores(self, one: Candidates, at: NDArray[np.int64], *, seed: int) -> Floats:
        """Return the scores of some candidates, in [0, 1], (k,)."""
        return self.simulated(
            one.example.evidence[at] > 0,
            rows=one.example.candidates[at],
            count=len(one.rows.chunks),
            seed=f"{one.example.question.text}{seed}",
        )

    def simulated(
        self, has_evidence: NDArray[np.bool_], *, rows: NDArray[np.int64], count: int, seed: str
    ) -> Floats:
        """Return the scores of chunks, in [0, 1], (k,).

        Args:
            has_evidence: Whether each chunk contains evidence, (k,).
            rows: Row of each chunk; neighbours have adjacent rows, (k,).
            count: Number of rows.
            seed: Seed of the errors.
        """
        holds = has_evidence.astype(np.float64)
        if self.auc is None:
            return holds
        random = np.random.default_rng(zlib.crc32(seed.encode()))
        noise = random.standard_normal(count + 2)
        errors = noise[1:-1] + _NEIGHBOUR * (noise[:-2] + noise[2:])
        errors /= np.sqrt(1 + 2 * _NEIGHBOUR**2)
        distance = NormalDist().inv_cdf(self.auc) * np.sqrt(2)
        values = errors[rows] + distance * holds
        return np.asarray(1 / (1 + np.exp(-(self.slope * values + self.offset))))


_LINKS = {"low": (2.0, -5.0), "middle": (1.0, 0.0), "sharp": (4.0, -4.0)}
RERANKERS = (
    SimulatedReranker(name="perfect", weight=0.5),
    *(
        SimulatedReranker(
            name=f"AUC {auc:g}, {link} scores", auc=auc, slope=a, offset=b, weight=weight
        )
        for auc, weight in ((0.97, 1.0), (0.9, 1.0), (0.8, 1.0), (0.5, 1.0))
        for link, (a, b) in _LINKS.items()
    ),
)
"""Rerankers of the training; a reranker with an AUC of .5 is random."""
REPORTED = tuple(one for one in RERANKERS if one.auc is None or one.offset == _LINKS["low"][1])
"""Rerankers of the report."""


def reranker_features(
    one: Candidates, reranker: SimulatedReranker, *, count: int, seed: int
) -> Floats | None:
    """Return the first score and the parts of a reranker's addition, (c, 5).

    None if all scores of the reranker are equal, because a search then ignores them.
    """
    at = one.best(count)
    scores = reranker.scores(one, at, seed=seed)
    if not np.ptp(scores):
        return None
    parts = score_parts(scores, at=at, candidates=one.example.candidates, rows=one.rows)
    return np.column_stack([one.scores, parts])

"""Whether what was found answers the question: the best of its queries counts."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from spanwise.core.ranking.abstention import (
    NO_EVIDENCE,
    UNASSESSED,
    AbstentionModel,
    EvidenceAssessment,
    abstention_signals,
    is_assessable,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import Embedder
    from spanwise.search.evidence import Evidence
    from spanwise.search.scoring import ScoredChunks


@lru_cache(maxsize=1)
def load_abstention_model() -> AbstentionModel:
    """Return the abstention model that comes with the package."""
    text = resources.files("spanwise.core.ranking").joinpath("abstention.json").read_text("utf-8")
    return AbstentionModel.from_json(text)


def query_signals(
    question: Question, scored: ScoredChunks, *, model: RelevanceModel
) -> NDArray[np.float64]:
    """Return the signals of one query, in the order of `SIGNALS`, (4,)."""
    return abstention_signals(
        question,
        scan=scored.scan,
        rows=scored.rows,
        passages=scored.passages,
        candidates=scored.candidates,
        score=float(model.scores(scored.features).max()),
    )


def assess_evidence(
    evidence: Evidence | None, *, model: RelevanceModel, embedder: Embedder | None
) -> EvidenceAssessment:
    """Return the judgement of the query with the most evidence.

    A question that cannot be judged is neither weak nor missing.
    """
    if evidence is None:
        return NO_EVIDENCE
    logistic = load_abstention_model().for_embedder(embedder.name if embedder is not None else None)
    judged = [
        logistic.assess(query_signals(question, found, model=model))
        if is_assessable(question)
        else UNASSESSED
        for question, found in zip(evidence.questions, evidence.scored, strict=True)
        if found is not None
    ]
    return max(judged, key=lambda judgement: judgement.evidence)

"""Whether what was found answers the question: the best of its queries counts."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from spanwise.core.ranking.abstention import (
    NOTHING,
    UNJUDGED,
    AbstentionModel,
    Judgement,
    abstention_signals,
    can_judge,
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
def shipped_abstention() -> AbstentionModel:
    """Return the abstention model that comes with the package."""
    text = resources.files("spanwise.core.ranking").joinpath("abstention.json").read_text("utf-8")
    return AbstentionModel.from_json(text)


def signals_of(
    question: Question, weighed: ScoredChunks, *, model: RelevanceModel
) -> NDArray[np.float64]:
    """Return the signals of one query, in the order of `SIGNALS`, (4,)."""
    return abstention_signals(
        question,
        scan=weighed.scan,
        rows=weighed.rows,
        passages=weighed.passages,
        candidates=weighed.candidates,
        score=float(model.scores(weighed.features).max()),
    )


def judge(
    evidence: Evidence | None, *, model: RelevanceModel, embedder: Embedder | None
) -> Judgement:
    """Return the judgement of the query with the most evidence.

    A question that cannot be judged is neither weak nor missing.
    """
    if evidence is None:
        return NOTHING
    logistic = shipped_abstention().for_embedder(embedder.name if embedder is not None else None)
    judged = [
        logistic.judge(signals_of(question, found, model=model))
        if can_judge(question)
        else UNJUDGED
        for question, found in zip(evidence.questions, evidence.weighed, strict=True)
        if found is not None
    ]
    return max(judged, key=lambda judgement: judgement.evidence)

"""Assessment of the evidence for a question: the probability that there is an answer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spanwise.core.ranking.abstention import (
    DEEP,
    NO_EVIDENCE,
    UNASSESSED,
    AbstentionModel,
    EvidenceAssessment,
    ScoreSignals,
    abstention_signals,
    is_assessable,
)
from spanwise.core.ranking.relevance import lifted_scores
from spanwise.loading import package_text
from spanwise.search.lifts import MINILM, NAMED_DOCUMENTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import Embedder
    from spanwise.search.evidence import Evidence
    from spanwise.search.scoring import ScoredChunks

_RERANKER = "reranker "  # prefix of the label of a reranker's addition
_SIMILAR = "similar_coverage"  # feature: share of the question's words; similar words count


def shipped_abstention_text() -> str:
    """Return the text of the file with the shipped abstention model."""
    return package_text("spanwise.core.ranking", "abstention.json")


@lru_cache(maxsize=1)
def load_abstention_model() -> AbstentionModel:
    """Return the abstention model that comes with the package."""
    return AbstentionModel.from_json(shipped_abstention_text())


def query_signals(
    question: Question, scored: ScoredChunks, *, model: RelevanceModel
) -> NDArray[np.float64]:
    """Return the abstention signals of one query, in the order of `SIGNALS`, (s,).

    The lifts of a reranker, of MiniLM and of named documents are left out: they are relative to the
    other candidates. The reranker's probability of an answer and the greatest cosine of MiniLM are
    used instead.
    """
    lifts = {
        name: lift
        for name, lift in scored.lifts.items()
        if name not in (MINILM, NAMED_DOCUMENTS) and not name.startswith(_RERANKER)
    }
    similar = 0.0
    if _SIMILAR in model.features:
        similar = float(scored.features[:, model.features.index(_SIMILAR)].max())
    return abstention_signals(
        question,
        scan=scored.scan,
        rows=scored.rows,
        passages=scored.passages,
        candidates=scored.candidates,
        scores=ScoreSignals(
            score=float(lifted_scores(model.scores(scored.features), lifts).max()),
            similar=similar,
            found=scored.found,
            deep_similarity=scored.deep_similarity,
        ),
    )


def assess_query(
    question: Question, scored: ScoredChunks, *, model: RelevanceModel, embedder: Embedder | None
) -> EvidenceAssessment:
    """Return the assessment of one query; `UNASSESSED` if it cannot be assessed."""
    if not is_assessable(question):
        return UNASSESSED
    name = embedder.name if embedder is not None else None
    if scored.deep_similarity is not None:
        name = DEEP
    return (
        load_abstention_model()
        .for_embedder(name)
        .assess(
            query_signals(question, scored, model=model),
            reranker_chance=None if scored.reranker is None else scored.reranker.chance,
        )
    )


def assess_evidence(
    evidence: Evidence | None, *, model: RelevanceModel, embedder: Embedder | None
) -> EvidenceAssessment:
    """Return the best assessment over all queries.

    The evidence for a question that cannot be assessed counts as neither weak nor missing.
    """
    if evidence is None:
        return NO_EVIDENCE
    assessments = [
        assess_query(question, scored, model=model, embedder=embedder)
        for question, scored in zip(evidence.questions, evidence.scored, strict=True)
        if scored is not None
    ]
    return max(assessments, key=lambda assessment: assessment.evidence)

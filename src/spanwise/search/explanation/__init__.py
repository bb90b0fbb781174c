"""Why a search chose what it chose: as data, and as a page that draws it anew."""

from spanwise.search.explanation.explanation import (
    DECISIONS,
    CandidateExplanation,
    ChoiceTerms,
    ChunkRun,
    Decision,
    DocumentExplanation,
    Explanation,
    QueryScores,
    decision_text,
)

__all__ = [
    "DECISIONS",
    "CandidateExplanation",
    "ChoiceTerms",
    "ChunkRun",
    "Decision",
    "DocumentExplanation",
    "Explanation",
    "QueryScores",
    "decision_text",
]

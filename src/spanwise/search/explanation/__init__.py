"""Explanation of a search: as data, and as an interactive page."""

from spanwise.search.explanation.explanation import (
    DECISIONS,
    CandidateExplanation,
    ChoiceTerms,
    ChunkRun,
    Decision,
    DocumentExplanation,
    Explanation,
    QueryScores,
    QuestionWord,
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
    "QuestionWord",
    "decision_text",
]

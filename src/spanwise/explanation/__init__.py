"""Why a search chose what it chose: as data, and as a page that draws it anew."""

from spanwise.explanation.decisions import DECISIONS, Decision, worded
from spanwise.explanation.explanation import (
    CandidateExplanation,
    ChoiceTerms,
    ChunkRun,
    DocumentExplanation,
    Explanation,
    QueryScores,
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
    "worded",
]

"""Why a chunk is in or out, in words; the page fills the same sentences."""

from __future__ import annotations

from typing import Literal

__all__ = ["DECISIONS", "Decision", "said", "worded"]

Decision = Literal[
    "segment",
    "bridge",
    "whole",
    "copy",
    "penalty",
    "budget",
    "longest",
    "minimum",
    "charge",
    "refused",
    "method",
]

DECISIONS: dict[Decision, str] = {
    "segment": "in segment {segment}",
    "bridge": "bridges a gap in segment {segment}",
    "whole": "in segment {segment}: its document fits whole, so it is given whole",
    "copy": "nearly identical to chunk {other_chunk} of {other_document}, which stands for it",
    "penalty": "worth less than its {tokens} tokens must earn: "
    "relevance {relevance} at a penalty of {penalty}",
    "budget": "worth taking, and the budget of {budget} tokens is full",
    "longest": "beyond the longest segment of {longest} tokens",
    "minimum": "a segment of it is worth less than the least value of {minimum}",
    "charge": "not worth a segment of its own: value {value} at a charge of {charge}",
    "refused": "would be taken, but too little speaks for an answer here",
    "method": "left out by the greedy method",
}
"""A sentence for each decision, its gaps named."""


def said(number: float) -> str:
    """Return a share, value or relevance with three digits that tell, for people."""
    if number and abs(number) < 1e-4:
        return "under 0.0001" if number > 0 else "above -0.0001"
    return f"{number:.3g}"


def worded(decision: Decision, **gaps: object) -> str:
    """Return the sentence of a decision with its gaps filled; numbers as `said`."""
    filled = {name: said(gap) if isinstance(gap, float) else gap for name, gap in gaps.items()}
    return DECISIONS[decision].format_map(filled)

"""What segments of one example would hold: a search again, from what is known of its candidates.

It leaves out what a search does beside the choice: copies of a text are not united, and text alone
is counted. So it serves to choose settings; what is said of them is measured by searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.segments import chunk_values, extract_segments
from spanwise.query.pipeline import COMPARISON_CHARGE
from spanwise.query.weigh import spread_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.relevance import RelevanceModel
    from spanwise.evaluation.tuning.examples import Example
    from spanwise.options import SegmentOptions

__all__ = ["example_scores", "example_shares", "listwise_loss", "recall_of_choice"]


def example_scores(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the scores of the candidates, (c,); a reranker's column counts by its weight."""
    count = len(model.features)
    features = example.features.astype(np.float64)
    scores = model.scores(features[:, :count]) + example.lifts
    if example.reranker is not None:
        scores += model.rerankers[example.reranker] * features[:, count]
    return scores


def listwise_loss(example: Example, model: RelevanceModel) -> float:
    """Return the cross entropy of the evidence and of the softmax of the scores, >= 0."""
    scores = example_scores(example, model)
    top = float(scores.max())
    return float(np.log(np.exp(scores - top).sum()) + top - example.target @ scores)


def example_shares(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the shares of the candidates, (c,)."""
    scores = example_scores(example, model)
    return spread_shares(scores, example.documents, compares=example.compares)


def recall_of_choice(
    example: Example,
    *,
    shares: NDArray[np.float64],
    segments: SegmentOptions,
    penalty_share: float,
    budgets: Sequence[int],
) -> float:
    """Return the mean share of the evidence that segments hold, over some budgets, in [0, 1].

    Args:
        example: The question.
        shares: Of its candidates, (c,).
        segments: How segments are chosen.
        penalty_share: The share at its penalty.
        budgets: In tokens.
    """
    rows = example.rows
    held = np.zeros(len(rows.tokens))
    held[example.candidates] = shares
    values = chunk_values(
        held,
        rows.tokens,
        penalty_share=penalty_share,
        reference_length_tokens=segments.reference_length,
    )
    edges = rows.starts[1:]
    best = int(held.argmax())
    at = int(np.searchsorted(rows.starts, best, side="right")) - 1
    reached = 0.0
    for budget in budgets:
        runs = extract_segments(
            np.split(values, edges),
            np.split(rows.tokens, edges),
            budget_tokens=budget,
            segment_charge=segments.segment_charge
            * (COMPARISON_CHARGE if example.compares else 1.0),
            min_segment_value=segments.min_segment_value,
            required=[(at, best - int(rows.starts[at]))],
        ).runs
        for run in runs:
            first = int(rows.starts[run.document])
            reached += float(rows.evidence[first + run.start : first + run.end].sum())
    return reached / rows.all_evidence / len(budgets)

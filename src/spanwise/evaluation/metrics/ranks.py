"""Where in the order the evidence comes: reciprocal ranks and discounted gain."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from spanwise.evaluation.metrics.overlap import Span, united
from spanwise.evaluation.metrics.places import Place
from spanwise.evaluation.metrics.ranges import Range, difference, intersection, length

__all__ = ["rank_metrics"]


def rank_metrics(spans: Sequence[Span], places: Sequence[Place]) -> dict[str, float]:
    """Return the reciprocal rank of the first text with evidence and with half a piece, and nDCG.

    The gain of a text is the share of the evidence that no text before it held; the ideal is all of
    it in the first one, so that its discounted gain is 1.

    Args:
        spans: Evidence, at least one.
        places: What was returned, best first.
    """
    left = united(spans)
    evidence = sum(map(length, left.values()))
    first = first_half = gain = 0.0
    for rank, one in enumerate(places, start=1):
        if one.characters is None or one.document_id not in left:
            continue
        if not first and _overlaps(spans, one.document_id, one.characters):
            first = 1 / rank
        if not first_half and _holds_half(spans, one.document_id, one.characters):
            first_half = 1 / rank
        new = intersection(left[one.document_id], [one.characters])
        gain += length(new) / evidence / log2(rank + 1)
        left[one.document_id] = difference(left[one.document_id], [one.characters])
    return {"mrr": first, "mrr50": first_half, "ndcg": gain}


def _overlaps(spans: Sequence[Span], document_id: str, characters: Range) -> bool:
    return any(name == document_id and intersection([piece], [characters]) for name, piece in spans)


def _holds_half(spans: Sequence[Span], document_id: str, characters: Range) -> bool:
    return any(
        name == document_id and 2 * length(intersection([piece], [characters])) >= length([piece])
        for name, piece in spans
    )

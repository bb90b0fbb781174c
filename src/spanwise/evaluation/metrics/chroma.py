"""The figures of Chroma's chunking evaluation, as its package computes them.

Rules:
    All evidence of a question is in one document. What is returned of other documents counts in
    full, and so does what is returned twice.
    Where pieces of evidence overlap, what recall is a share of counts them twice, and what is found
    of them once.
    A chunk that only touches evidence counts among those that hold some.
"""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.evaluation.metrics.overlap import Span
from spanwise.evaluation.metrics.places import Place
from spanwise.evaluation.metrics.ranges import Range, difference, intersection, length, union

__all__ = ["chroma_metrics"]


def chroma_metrics(
    spans: Sequence[Span], places: Sequence[Place], chunks: Sequence[Range] | None = None
) -> dict[str, float]:
    """Return Chroma's IoU, recall and precision, with all chunks also those of the chunking.

    Args:
        spans: Evidence in one document, at least one character.
        places: What was returned, best first.
        chunks: All chunks of that document: with them the precision of all that hold evidence
            ("omega"), and the figures of as many returned texts as there are such ("Min").
    """
    document_id = spans[0][0]
    evidence = [characters for _, characters in spans]
    returned = [(one.document_id, one.characters) for one in places if one.characters]
    out = _named("chroma_", _figures(document_id, evidence, returned))
    if chunks is None:
        return out
    holding = [chunk for chunk in chunks if any(_touch(chunk, piece) for piece in evidence)]
    least = _figures(document_id, evidence, returned[: len(holding)])
    omega = {"chroma_precision_omega": _omega(evidence, holding)}
    return {**out, **omega, **_named("chroma_min_", least)}


def _named(prefix: str, figures: tuple[float, float, float]) -> dict[str, float]:
    names = ("iou", "recall", "precision")
    return {f"{prefix}{name}": figure for name, figure in zip(names, figures, strict=True)}


def _figures(
    document_id: str, evidence: Sequence[Range], returned: Sequence[Span]
) -> tuple[float, float, float]:
    """Return IoU, recall and precision."""
    inside = union(characters for name, characters in returned if name == document_id)
    found = length(intersection(union(evidence), inside))
    missed = sum(length(difference([piece], inside)) for piece in evidence)
    sent = length(characters for _, characters in returned)
    return (
        found / (sent + missed) if sent + missed else 0.0,
        found / length(evidence),
        found / sent if sent else 0.0,
    )


def _omega(evidence: Sequence[Range], holding: Sequence[Range]) -> float:
    """Return the share of evidence in all chunks that hold some, and what no chunk holds."""
    found = length(intersection(union(evidence), union(holding)))
    return found / length(union([*evidence, *holding]))


def _touch(first: Range, second: Range) -> bool:
    return max(first[0], second[0]) <= min(first[1], second[1])

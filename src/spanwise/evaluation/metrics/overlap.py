"""Evidence and returned characters as sets: recall, precision, IoU, F1, and pieces hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics.counting import Count
from spanwise.evaluation.metrics.places import Place, document_text
from spanwise.evaluation.metrics.ranges import Range, intersection, length, union

__all__ = [
    "Span",
    "character_metrics",
    "hit_metrics",
    "returned_characters",
    "token_metrics",
    "united",
]

Span = tuple[str, Range]
"""Document id and characters, at least one."""

_WHOLE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How much there is of evidence, of what was returned, and of both."""

    evidence: float
    returned: float
    shared: float

    def metrics(self, prefix: str) -> dict[str, float]:
        both = self.evidence + self.returned
        return {
            f"{prefix}recall": self.shared / self.evidence if self.evidence else 0.0,
            f"{prefix}precision": self.shared / self.returned if self.returned else 0.0,
            f"{prefix}iou": self.shared / (both - self.shared) if both else 0.0,
            f"{prefix}f1": 2 * self.shared / both if both else 0.0,
        }


def united(spans: Sequence[Span]) -> dict[str, list[Range]]:
    """Return the characters of spans, document by document."""
    by_document: dict[str, list[Range]] = {}
    for document_id, characters in spans:
        by_document.setdefault(document_id, []).append(characters)
    return {document_id: union(ranges) for document_id, ranges in by_document.items()}


def returned_characters(places: Sequence[Place]) -> dict[str, list[Range]]:
    """Return the characters of places, document by document; none where only pages are known."""
    return united([(one.document_id, one.characters) for one in places if one.characters])


def character_metrics(spans: Sequence[Span], places: Sequence[Place]) -> dict[str, float]:
    """Return recall, precision, IoU and F1 of characters, and how many were returned twice.

    A text whose place is not known was returned, and is no evidence; whether it repeats another one
    is not known either.

    Args:
        spans: Evidence, at least one.
        places: What was returned.
    """
    evidence, returned = united(spans), returned_characters(places)
    shared = sum(
        length(intersection(ranges, returned.get(document_id, [])))
        for document_id, ranges in evidence.items()
    )
    different = sum(map(length, returned.values()))
    chars = sum(len(one.text) for one in places if one.characters)
    lost = sum(len(one.text) for one in places if not one.characters)
    return {
        **_Sizes(sum(map(length, evidence.values())), different + lost, shared).metrics(""),
        "chars_union": different,
        "dup": 1 - different / chars if chars else 0.0,
    }


def token_metrics(
    spans: Sequence[Span],
    places: Sequence[Place],
    texts: Mapping[str, DocumentText],
    count: Count,
) -> dict[str, float]:
    """Return the same of tokens: each run of characters is counted as a text of its own.

    A run that begins inside a word counts a token too many; so what is shared is at most what there
    is of either.
    """
    evidence, returned = united(spans), returned_characters(places)

    def tokens(ranges: Mapping[str, Sequence[Range]]) -> float:
        return sum(
            count(document_text(texts, document_id).text[start:end])
            for document_id, runs in ranges.items()
            for start, end in runs
        )

    shared = {
        document_id: intersection(ranges, returned.get(document_id, []))
        for document_id, ranges in evidence.items()
    }
    lost = sum(count(one.text) for one in places if not one.characters)
    of_evidence, of_returned = tokens(evidence), tokens(returned) + lost
    both = min(tokens(shared), of_evidence, of_returned)
    return _Sizes(of_evidence, of_returned, both).metrics("token_")


def hit_metrics(
    spans: Sequence[Span], places: Sequence[Place], texts: Mapping[str, DocumentText]
) -> dict[str, float]:
    """Return the share of pieces of evidence returned by half and whole, white space left out."""
    returned = returned_characters(places)
    held = []
    for document_id, characters in spans:
        text = document_text(texts, document_id).text
        parts = intersection([characters], returned.get(document_id, []))
        written = _written(text, [characters])
        held.append(_written(text, parts) / written if written else 0.0)
    half = [share >= 0.5 for share in held]
    whole = [share >= _WHOLE for share in held]
    return {
        "ev_hit50": sum(half) / len(held),
        "ev_hit100": sum(whole) / len(held),
        "all_hit50": float(all(half)),
        "all_hit100": float(all(whole)),
    }


def _written(text: str, ranges: Sequence[Range]) -> int:
    """Return the number of characters that are no white space."""
    return sum(len(word) for start, end in ranges for word in text[start:end].split())

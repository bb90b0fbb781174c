"""Evidence looked for by its words, where its characters are not known, as in a PDF."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from spanwise.evaluation.metrics.places import Place

__all__ = ["text_metrics"]

_WORD = re.compile(r"[^\W_]+")
_LENGTH = 3


def text_metrics(evidence: Sequence[tuple[str, str]], places: Sequence[Place]) -> dict[str, float]:
    """Return how many word trigrams of each piece of evidence the texts of its document hold.

    A trigram counts as often as one text holds it: repeating a text gains nothing.

    Args:
        evidence: Document id and text of each piece, at least one.
        places: What was returned.
    """
    returned: dict[str, Counter[tuple[str, ...]]] = {}
    for one in places:
        returned.setdefault(one.document_id, Counter())
        returned[one.document_id] |= _trigrams(one.text)
    held = []
    for document_id, text in evidence:
        wanted = _trigrams(text)
        shared = wanted & returned.get(document_id, Counter())
        held.append(shared.total() / max(1, wanted.total()))
    return {
        "text_recall": sum(held) / len(held),
        "text_hit50": sum(share >= 0.5 for share in held) / len(held),
        "text_hit90": sum(share >= 0.9 for share in held) / len(held),
        "text_all_hit90": float(all(share >= 0.9 for share in held)),
    }


def _trigrams(text: str) -> Counter[tuple[str, ...]]:
    """Return runs of three words in lower case; of a shorter text, all of it as one."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < _LENGTH:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(words, words[1:], words[2:], strict=False))

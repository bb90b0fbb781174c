"""BM25 over texts, the plain baseline: S. Robertson and H. Zaragoza (2009), k1 = 1.2, b = 0.75.

Terms are stems in the language of each document, as in Spanwise's own search; function words of the
question do not count. Weights are those of Lucene, which are never negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.question import read_question
from spanwise.core.terms import text_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bm25"]

_K1 = 1.2
_B = 0.75


class Bm25:
    """Scores of texts for a question."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """Index texts, each with its language (ISO 639-1; "" where it is not known)."""
        self._terms: dict[str, int] = {}
        found: list[NDArray[np.int64]] = []
        languages: set[str] = set()
        for text, language in texts:
            languages.add(language)
            terms = text_terms(text, language=language)
            known = self._terms
            found.append(np.array([known.setdefault(t, len(known)) for t in terms], dtype=np.int64))
        self._languages = sorted(languages)
        self._lengths = np.array([len(terms) for terms in found], dtype=np.float64)
        self._count = len(found)
        owners = np.repeat(np.arange(self._count), self._lengths.astype(np.int64))
        keys = np.concatenate([*found, np.zeros(0, dtype=np.int64)]) * max(self._count, 1) + owners
        pairs, self._uses = np.unique(keys, return_counts=True)
        self._owners = pairs % max(self._count, 1)
        bounds = np.arange(len(self._terms) + 1) * max(self._count, 1)
        self._starts = np.searchsorted(pairs, bounds)

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of each text, (n,): 0 where it holds no word of the question."""
        total = np.zeros(self._count)
        mean = max(float(self._lengths.mean()), 1.0) if self._count else 1.0
        for term in read_question(question, languages=self._languages).forms()[0]:
            number = self._terms.get(term)
            if number is None:
                continue
            part = slice(self._starts[number], self._starts[number + 1])
            owners, uses = self._owners[part], self._uses[part]
            weight = np.log1p((self._count - len(owners) + 0.5) / (len(owners) + 0.5))
            norm = _K1 * (1 - _B + _B * self._lengths[owners] / mean)
            total[owners] += weight * uses * (_K1 + 1) / (uses + norm)
        return total

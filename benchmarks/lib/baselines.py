"""Baselines: BM25 with titles, and its fusion with embeddings.

Both return ranges, best first, until the budget is full; the last range is truncated.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Dataset, Query
from spanwise.core.text.terms import content_words, text_terms, word_terms
from spanwise.models.providers.wordllama import WordLlama

Floats = NDArray[np.float64]
Range = tuple[str, int, int]

_PLAIN_WORD = re.compile(r"[^\W_]+")
_BREAK = re.compile(r"\n\n|\n|[.!?。！？।]\s?| ")
_CANDIDATES = 200
_PLAIN_CANDIDATES = 60


def plain_terms(text: str) -> list[str]:
    """Return lower-case words without a plural "s", and bigrams of ideographs."""
    out: list[str] = []
    for word in _PLAIN_WORD.findall(text.lower()):
        if ord(word[0]) > 0x2E80:
            out += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            out.append(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return out


def fixed_chunks(text: str, size: int) -> list[tuple[int, int]]:
    """Return chunks of about `size` characters that end at a paragraph, line or sentence."""
    out: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text):
            end = _best_cut(text, start + size // 2, end)
        if text[start:end].strip():
            out.append((start, end))
        start = end
    return out


def _best_cut(text: str, low: int, high: int) -> int:
    window = text[low:high]
    for mark in ("\n\n", "\n"):
        at = window.rfind(mark)
        if at >= 0:
            return low + at + 1
    sentence = [m.end() for m in re.finditer(r"[.!?。！？।]\s?", window)]
    if sentence:
        return low + sentence[-1]
    space = window.rfind(" ")
    return low + space + 1 if space >= 0 else high


@dataclass(slots=True)
class _Postings:
    """BM25 index of texts, k1 = 1.2, b = 0.75."""

    rows: dict[str, tuple[NDArray[np.int64], Floats]]
    lengths: Floats

    @classmethod
    def of(cls, texts: Sequence[list[str]]) -> _Postings:
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, terms in enumerate(texts):
            for term, count in Counter(terms).items():
                found[term].append((at, count))
        rows = {
            term: (np.array([a for a, _ in pairs]), np.array([float(n) for _, n in pairs]))
            for term, pairs in found.items()
        }
        return cls(rows, np.array([float(len(terms)) for terms in texts]))

    def scores(self, terms: Sequence[str]) -> Floats:
        total = np.zeros(len(self.lengths))
        count, mean = len(self.lengths), self.lengths.mean()
        for term in dict.fromkeys(terms):
            if term in self.rows:
                at, tf = self.rows[term]
                weight = np.log1p((count - len(at) + 0.5) / (len(at) + 0.5))
                norm = 1.2 * (0.25 + 0.75 * self.lengths[at] / mean)
                total[at] += weight * tf * 2.2 / (tf + norm)
        return total


class PlainBm25:
    """BM25 over chunks of about 800 characters, each with the title of its document."""

    def __init__(self, dataset: Dataset, *, size: int = 800) -> None:
        self._ranges: list[Range] = []
        texts: list[list[str]] = []
        for document in dataset.documents:
            text = document.text()
            for start, end in fixed_chunks(text, size):
                self._ranges.append((document.id, start, end))
                texts.append(plain_terms(f"{document.title} {text[start:end]}"))
        self._postings = _Postings.of(texts)

    def search(self, query: Query) -> list[Range]:
        """Return the ranges that contain a word of the question, best first."""
        scores = self._postings.scores(plain_terms(query.text))
        found = best_first(self._ranges, np.where(scores > 0, scores, -np.inf), query)
        return found[:_PLAIN_CANDIDATES]


class Fusion:
    """Weighted sum of z-scores: BM25 (stemmed, with titles, 0.7) and static embeddings (0.3)."""

    def __init__(self, dataset: Dataset, ranges: Sequence[Range], *, neighbours: bool) -> None:
        self._ranges = list(ranges)
        self._neighbours = neighbours
        self._embedder = WordLlama()
        text_of = {document.id: document.text() for document in dataset.documents}
        title_of = {document.id: document.title for document in dataset.documents}
        headed = [f"{title_of[d]} {text_of[d][start:end]}" for d, start, end in self._ranges]
        self._postings = _Postings.of([text_terms(text) for text in headed])
        vectors = np.concatenate(
            [self._embedder.embed(headed[at : at + 512]) for at in range(0, len(headed), 512)]
        )
        self._vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)
        documents = [document for document, _, _ in self._ranges]
        self._same = np.array([a == b for a, b in pairwise(documents)])

    def scores(self, query: Query, *, dense: bool = True) -> Floats:
        """Return the score of each text."""
        terms = [term for word in content_words(query.text) for term in word_terms(word)]
        inside = _inside(self._ranges, query)
        fused = _standard(self._postings.scores(terms), inside)
        if dense:
            vector = self._embedder.embed([query.text])[0]
            cosine = self._vectors @ (vector / (np.linalg.norm(vector) + 1e-9))
            fused = 0.7 * fused + 0.3 * _standard(cosine.astype(np.float64), inside)
        if self._neighbours:
            near = fused.copy()
            near[1:][self._same] += 0.3 * fused[:-1][self._same]
            near[:-1][self._same] += 0.3 * fused[1:][self._same]
            return near
        return fused

    def search(self, query: Query, *, dense: bool = True) -> list[Range]:
        """Return ranges, best first."""
        return best_first(self._ranges, self.scores(query, dense=dense), query)


def _inside(ranges: Sequence[Range], query: Query) -> NDArray[np.bool_]:
    if query.scope is None:
        return np.ones(len(ranges), dtype=bool)
    scope = set(query.scope)
    return np.array([document in scope for document, _, _ in ranges])


def _standard(values: Floats, inside: NDArray[np.bool_]) -> Floats:
    return np.asarray((values - values[inside].mean()) / (values[inside].std() + 1e-9))


def best_first(ranges: Sequence[Range], scores: Floats, query: Query) -> list[Range]:
    """Return the best ranges in scope, best first."""
    scores = np.where(_inside(ranges, query), scores, -np.inf)
    order = np.argsort(-scores, kind="stable")[:_CANDIDATES]
    return [ranges[at] for at in order.tolist() if scores[at] > -np.inf]

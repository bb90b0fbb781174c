"""Baselines: BM25 with titles, embeddings, and the fusion of both.

All return ranges, best first, until the budget is full; the last range is truncated.
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
from spanwise.core.ranking.scan import PassageRange, ScanQuery
from spanwise.core.text.terms import content_words, text_terms, word_terms
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.embed_caller import make_embed_caller
from spanwise.models.providers.wordllama import WordLlama
from spanwise.search.shipped_model import shipped_model
from spanwise.stores.port import Snapshot

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
    """Weighted sum of z-scores: BM25 (stemmed) and static embeddings, both with titles."""

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

    def scores(self, query: Query, *, dense: float = 0.3) -> Floats:
        """Return the score of each text; `dense` is the weight of the embeddings."""
        terms = [term for word in content_words(query.text) for term in word_terms(word)]
        inside = _inside(self._ranges, query)
        fused = _standard(self._postings.scores(terms), inside)
        if dense:
            vector = self._embedder.embed([query.text])[0]
            cosine = self._vectors @ (vector / (np.linalg.norm(vector) + 1e-9))
            fused = (1 - dense) * fused + dense * _standard(cosine.astype(np.float64), inside)
        return _with_neighbours(fused, self._same) if self._neighbours else fused

    def search(self, query: Query, *, dense: float = 0.3) -> list[Range]:
        """Return ranges, best first; `dense` is the weight of the embeddings."""
        return best_first(self._ranges, self.scores(query, dense=dense), query)


class EmbedderAlone:
    """Cosines of the stored vectors of each chunk and its neighbours.

    The static embedder embeds chunks without headers. For this embedder, `Fusion` with all weight
    on the embeddings is a stronger baseline.
    """

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._store = store_of(base)
        self._spans: dict[int, list[Range]] = {}

    def search(self, query: Query) -> list[Range]:
        """Return ranges, best first."""
        searcher = searcher_of(self._base, shipped_model())
        embedder = make_embed_caller(searcher.embedder, "query", cache=self._store)
        if embedder is None:
            raise SystemExit("the knowledge base has no embedder")
        vector = embedder.embed([query.text])[:1].astype(np.float32)
        vector /= np.linalg.norm(vector) + 1e-9
        asked = ScanQuery(terms=(), vector=vector[0], keyword_share=0.0)
        with self._store.snapshot() as snapshot:
            scan = snapshot.scan(asked, documents=query.scope)
            pairs = zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True)
            whole = [PassageRange(handle, 0, count) for handle, count in pairs]
            if not whole or scan.vector is None:
                return []
            cosine = snapshot.passages(whole, terms=(), vectors=vector).similarities[0]
            ranges = [span for part in whole for span in self._chunks(part.handle, snapshot)]
        standard = (cosine - scan.vector.mean) / (scan.vector.deviation + 1e-9)
        same = np.array([a[0] == b[0] for a, b in pairwise(ranges)], dtype=bool)
        return best_first(ranges, _with_neighbours(standard.astype(np.float64), same), query)

    def _chunks(self, handle: int, snapshot: Snapshot) -> list[Range]:
        if handle not in self._spans:
            name = snapshot.record(handle).id
            self._spans[handle] = [(name, c.start, c.end) for c in self._base.chunks(name)]
        return self._spans[handle]


def _with_neighbours(scores: Floats, same: NDArray[np.bool_]) -> Floats:
    """Return each score plus a fraction of the scores of its neighbours in the same document."""
    near = scores.copy()
    near[1:][same] += 0.3 * scores[:-1][same]
    near[:-1][same] += 0.3 * scores[1:][same]
    return near


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

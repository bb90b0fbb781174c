"""Simulated reranker that knows the evidence and adds random noise."""

from __future__ import annotations

import re
import zlib

import numpy as np

from benchmarks.lib.datasets import Dataset
from spanwise.testing.models import ScriptedReranker

_WORD = re.compile(r"\w+")


def oracle_name(noise: float) -> str:
    """Return the name of a simulated reranker."""
    return f"scripted:oracle with noise {noise:g}"


def oracle(dataset: Dataset, noise: float) -> ScriptedReranker:
    """Return a simulated reranker for the questions of a set.

    The score of a text is the share of word trigrams that text and evidence have in common,
    relative to the shorter one, plus normal noise that depends only on question and text.

    Args:
        dataset: Set with the evidence.
        noise: Standard deviation of the noise.
    """
    texts = {document.id: document.text() for document in dataset.documents}
    evidence = {
        query.text: [
            _trigrams(texts[document][start:end])
            for document, ranges in query.evidence.items()
            for start, end in ranges
        ]
        for query in dataset.queries
    }

    def score(query: str, text: str) -> float:
        own = _trigrams(text)
        shared = [len(one & own) / max(min(len(one), len(own)), 1) for one in evidence[query]]
        chance = np.random.default_rng(zlib.crc32(f"{query}\n{text}".encode())).normal()
        return max(shared, default=0.0) + noise * float(chance)

    return ScriptedReranker(score, name=oracle_name(noise))


def _trigrams(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return set(zip(words, words[1:], words[2:], strict=False)) or {tuple(words)}

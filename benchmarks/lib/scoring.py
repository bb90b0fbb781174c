"""Recall of evidence characters at a budget, and paired intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Query, merged

Range = tuple[str, int, int]
CHARS_A_TOKEN = 4


def cut(ranges: Sequence[Range], budget_tokens: int) -> list[Range]:
    """Return the ranges that fit into a budget, in order; the last one is truncated."""
    left = budget_tokens * CHARS_A_TOKEN
    out: list[Range] = []
    for document, start, end in ranges:
        if left <= 0:
            break
        stop = min(end, start + left)
        out.append((document, start, stop))
        left -= stop - start
    return out


def recall(query: Query, ranges: Sequence[Range]) -> float:
    """Return the share of a question's evidence characters in some ranges."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in ranges:
        found[document].append((start, end))
    held = 0
    for document, evidence in query.evidence.items():
        for start, end in merged(found[document]):
            held += sum(max(0, min(end, e) - max(start, s)) for s, e in evidence)
    return held / query.evidence_chars


def document_recall(query: Query, ranges: Sequence[Range]) -> float:
    """Return the share of a question's documents with a character in some ranges."""
    reached = {document for document, _, _ in ranges}
    return sum(document in reached for document in query.evidence) / len(query.evidence)


def interval(values: NDArray[np.float64], *, samples: int = 2_000) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of a mean."""
    if len(values) < 2:
        return float(values.mean()), float(values.mean())
    random = np.random.default_rng(0)
    means = [
        values[random.integers(0, len(values), (100, len(values)))].mean(axis=1)
        for _ in range(samples // 100)
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)

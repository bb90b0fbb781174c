"""Recall of evidence characters at a budget, and paired intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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


def states_fact(query: Query, ranges: Sequence[Range], texts: Mapping[str, str]) -> float:
    """Return 1 if one piece of evidence lies in some ranges, apart from white space; otherwise 0.

    Args:
        query: Question. Each piece of its evidence answers it.
        ranges: Returned ranges.
        texts: Text of each document with evidence.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in ranges:
        found[document].append((start, end))
    return float(
        any(
            not _outside(texts[document], (start, end), merged(found[document])).strip()
            for document, evidence in query.evidence.items()
            for start, end in evidence
        )
    )


def _outside(text: str, span: tuple[int, int], ranges: Sequence[tuple[int, int]]) -> str:
    """Return the characters of a span that no range contains; the ranges are disjoint, in order."""
    at, end = span
    parts = []
    for first, last in ranges:
        parts.append(text[at : max(at, min(first, end))])
        at = max(at, min(last, end))
    return "".join(parts) + text[at:end]


def document_recall(query: Query, ranges: Sequence[Range]) -> float:
    """Return the share of a question's documents with a character in some ranges."""
    reached = {document for document, _, _ in ranges}
    return sum(document in reached for document in query.evidence) / len(query.evidence)


def interval(
    values: NDArray[np.float64],
    *,
    samples: int = 2_000,
    statistic: Callable[..., Any] = np.mean,
) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of a mean, or of another statistic."""
    if len(values) < 2:
        return float(values.mean()), float(values.mean())
    random = np.random.default_rng(0)
    means = [
        statistic(values[random.integers(0, len(values), (100, len(values)))], axis=1)
        for _ in range(samples // 100)
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


Differences = NDArray[np.float64]
"""Differences in points for each question and budget, (questions, budgets)."""


def mean_difference(differences: Sequence[Differences], *, samples: int = 2_000) -> str:
    """Return the mean over sets, with an interval from questions resampled inside each set."""
    random = np.random.default_rng(0)
    drawn = np.array(
        [
            np.mean([d[random.integers(0, len(d), len(d))].mean(axis=0) for d in differences], 0)
            for _ in range(samples)
        ]
    )
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    mean = np.mean([difference.mean(axis=0) for difference in differences], axis=0)
    return " / ".join(
        f"{m:+.1f} [{a:.1f}, {b:.1f}]" for m, a, b in zip(mean, low, high, strict=True)
    )

"""Chunkers of Chroma's study: fixed length, recursive, and clusters of similar pieces.

Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024). Lengths are in
tokens of cl100k_base, as in the study. Every chunk is a character range of its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spanwise.models.providers.tokenizer import make_tokenizer

Range = tuple[int, int]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ")
_PIECE = 50  # tokens of the pieces that clusters are made of
_CHARS_A_TOKEN = 12  # more than a token of prose ever has on average


def _tokens(text: str) -> int:
    return make_tokenizer("cl100k_base").count([text])[0]


def fixed(text: str, size: int) -> list[Range]:
    """Return chunks of a fixed number of tokens."""
    chunks, start = [], 0
    while start < len(text):
        low, high = start + 1, min(len(text), start + size * _CHARS_A_TOKEN)
        while low < high:
            middle = (low + high + 1) // 2
            if _tokens(text[start:middle]) <= size:
                low = middle
            else:
                high = middle - 1
        chunks.append((start, low))
        start = low
    return chunks


def recursive(text: str, size: int) -> list[Range]:
    """Return chunks of at most a number of tokens, split at the coarsest possible separator."""
    found = _split(text, (0, len(text)), size, _SEPARATORS)
    return [(start, end) for start, end in found if text[start:end].strip()]


def _split(text: str, span: Range, size: int, separators: Sequence[str]) -> list[Range]:
    if _tokens(text[slice(*span)]) <= size:
        return [span]
    if not separators:
        return [(span[0] + a, span[0] + b) for a, b in fixed(text[slice(*span)], size)]
    chunks: list[Range] = []
    small: list[Range] = []
    for part in _parts(text, span, separators[0]):
        if _tokens(text[slice(*part)]) <= size:
            small.append(part)
            continue
        chunks += _packed(text, small, size)
        small = []
        chunks += _split(text, part, size, separators[1:])
    return chunks + _packed(text, small, size)


def _parts(text: str, span: Range, separator: str) -> list[Range]:
    """Return the parts between separators; each begins with the separator before it."""
    start, end = span
    cuts = [m.start() for m in re.finditer(re.escape(separator), text[start:end]) if m.start()]
    edges = [start, *(start + cut for cut in cuts), end]
    return list(pairwise(edges))


def _packed(text: str, parts: Sequence[Range], size: int) -> list[Range]:
    """Return neighbouring parts joined, as many as fit."""
    packed: list[Range] = []
    for start, end in parts:
        if packed and _tokens(text[packed[-1][0] : end]) <= size:
            packed[-1] = (packed[-1][0], end)
        else:
            packed.append((start, end))
    return packed


def cluster(text: str, size: int, embed: Embed) -> list[Range]:
    """Return runs of small pieces, cut so that pieces of one run are as similar as can be.

    A run is worth the cosines of all pairs of its pieces, each less the mean cosine of the text;
    dynamic programming finds the cut of the whole text that is worth most. A run has as many
    pieces of 50 tokens as its size allows.
    """
    pieces = recursive(text, _PIECE)
    vectors = embed([text[start:end] for start, end in pieces]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    count, longest = len(pieces), size // _PIECE
    total = vectors.sum(axis=0)  # of all pairs, the mean follows from the sum of the vectors
    pairs = max(count * (count - 1), 1)
    mean = float((total @ total - (vectors * vectors).sum()) / pairs)
    best = np.full(count + 1, -np.inf)
    best[0] = 0.0
    first = np.zeros(count + 1, dtype=np.int64)
    for end in range(1, count + 1):
        for start in range(max(0, end - longest), end):
            inside = vectors[start:end]
            among = (end - start) * (end - start - 1)
            together = inside.sum(axis=0)
            worth = float(together @ together - (inside * inside).sum()) - mean * among
            if best[start] + worth > best[end]:
                best[end], first[end] = best[start] + worth, start
    chunks: list[Range] = []
    end = count
    while end:
        start = int(first[end])
        chunks.append((pieces[start][0], pieces[end - 1][1]))
        end = start
    return chunks[::-1]

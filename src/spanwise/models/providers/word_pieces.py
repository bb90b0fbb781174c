"""Token ids of a few words, by byte pair encoding in Python.

The library `tokenizers` takes 50 ms to read its file, which is too much for the words of one
question. Most of the file is a list of merges that follows from the vocabulary: in this vocabulary,
every two pieces whose concatenation is a piece are merged, in the order of its id.

Rules:
    A word begins with "▁", and each of its characters is a symbol.
    The two adjacent symbols whose concatenation has the lowest id are merged, the leftmost ones
    first, until no concatenation is a piece.
    A word with a character outside the vocabulary, with "▁", or with "<", which may begin the name
    of a special token, is left to the library, as is a long word.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SPACE = "▁"
_MAX_CHARS = 40  # the time is quadratic in the length of a word


def read_vocabulary(data: bytes) -> dict[str, int]:
    """Return the id of each piece, from the JSON of a tokenizer of this form."""
    start = data.index(b'"vocab": ') + len(b'"vocab": ')
    end = data.rindex(b"}", start, data.index(b'"merges"', start)) + 1
    vocabulary: dict[str, int] = json.loads(data[start:end])
    return vocabulary


def piece_ids(words: Sequence[str], vocabulary: Mapping[str, int]) -> list[list[int]] | None:
    """Return the token ids of each word; None if the rules do not apply to one of them."""
    ids = []
    for word in words:
        is_plain = len(word) <= _MAX_CHARS and _SPACE not in word and "<" not in word
        if not is_plain or any(letter not in vocabulary for letter in word):
            return None
        ids.append([vocabulary[piece] for piece in _merged([_SPACE, *word], vocabulary)])
    return ids


def _merged(symbols: list[str], vocabulary: Mapping[str, int]) -> list[str]:
    """Return the symbols after all merges."""
    unknown = len(vocabulary)
    while len(symbols) > 1:
        ranks = [vocabulary.get(first + second, unknown) for first, second in pairwise(symbols)]
        best = min(ranks)
        if best == unknown:
            break
        at = ranks.index(best)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
    return symbols

"""Typing errors in a question: which unknown words are misspelt.

Rules:
    Most words that no document contains are correct; the question merely uses other words. A word
    counts as misspelt only if a word of the documents is one edit away, or two if the word is long,
    and if a tokenizer divides it into several pieces. Common words are one piece of the vocabulary;
    a typing error divides them.
    The word of the documents must usually have fewer pieces. The shorter the word and the less
    typical the error, the greater the difference must be.
"""

from __future__ import annotations

from itertools import pairwise

_MIN_LETTERS = 4
_MIN_NAME = 6  # many words are one edit away from a shorter name
_LONG = 9
_MANY_PIECES = 2
_MIN_CLEAR = 5  # letters; "opex" is no error for "open"
_VERY_LONG = 10
_MIN_DOUBLED = 5
_MIN_MISSING = 5
_MIN_EXTRA = 7
_MIN_REPLACED = 8


def may_be_misspelt(word: str, *, pieces: int) -> bool:
    """Return whether an unknown word may be misspelt, judged without the words of the documents.

    Args:
        word: Word of the question, as written.
        pieces: Number of pieces of the word in a tokenizer's vocabulary.
    """
    return len(word) >= _MIN_LETTERS and pieces > 1


def is_misspelt(word: str, nearest: str, *, edits: int, pieces: int, nearest_pieces: int) -> bool:
    """Return whether an unknown word is likely a misspelling of a word of the documents.

    Args:
        word: Word of the question, as written.
        nearest: Word of the documents with the nearest spelling, in lower case.
        edits: Number of edits between them.
        pieces: Number of pieces of the word in a tokenizer's vocabulary.
        nearest_pieces: Number of pieces of the nearest word.
    """
    lower, saved = word.lower(), pieces - nearest_pieces
    is_clear = len(word) >= _VERY_LONG and saved >= _MANY_PIECES
    is_near = is_clear or _same_start(lower, nearest)
    if not may_be_misspelt(word, pieces=pieces) or not is_near:
        return False
    if edits > 1:
        return is_clear
    if sorted(lower) == sorted(nearest):  # neighbours are swapped
        return True
    if len(word) >= _LONG:
        return saved >= 0
    if saved >= _MANY_PIECES and len(word) >= _MIN_CLEAR:
        return True
    is_short_name = word[0].isupper() and len(word) < _MIN_NAME
    return saved > 0 and len(word) >= _least_letters(lower, nearest) and not is_short_name


def _same_start(word: str, nearest: str) -> bool:
    """Return whether two words have the same first letter, or their first two are swapped."""
    return word[0] == nearest[0] or word[1::-1] == nearest[:2]


def _least_letters(word: str, nearest: str) -> int:
    """Return the minimum length of a word that may be misspelt by this edit."""
    if len(word) < len(nearest):
        return _MIN_MISSING
    if len(word) == len(nearest):
        return _MIN_REPLACED
    doubled = any(
        a == b and word[:at] + word[at + 1 :] == nearest for at, (a, b) in enumerate(pairwise(word))
    )
    return _MIN_DOUBLED if doubled else _MIN_EXTRA

"""Words of documents that are similar to words of a question, by meaning or by spelling.

Rules:
    A word has letters only, at least three, and is in lower case. Words of scripts without spaces
    are not listed.
    All words of a document are listed, each with its term. Of several words with the same term,
    only the most similar one counts. Ties are broken by length, then alphabetically, so the order
    depends only on the documents.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.text.terms import text_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MIN_LETTERS = 3
_ALONE = frozenset(
    "already always else even ever least less lot lots many much never often per quite rather still"
    " yet".split()
)
"""Words that have no similar words: alone they mean nothing ("per" is similar to "perk")."""
_MIN_COSINE = 0.25
_MAX_SIMILAR = 32
_POOL = 2 * _MAX_SIMILAR  # initial number of candidates; it grows if they have too few terms
_SPELLING_LETTERS = 4  # too many words are one edit away from a shorter word
_LONG_LETTERS = 8
_MAX_EDITS = 2


@dataclass(frozen=True, slots=True)
class SimilarWord:
    """Word of the documents that is similar to a word of the question."""

    word: str
    """Word of the documents, in lower case."""
    term: str
    """Term of the word in the keyword index."""
    similarity: float
    """Cosine of the word vectors; for spelling, 1 - edits / letters of the question's word."""


def searched_word(word: str) -> str:
    """Return a word of a question in lower case; "" if it has no similar words."""
    lower = unicodedata.normalize("NFC", word).lower()
    is_searched = lower.isalpha() and len(lower) >= _MIN_LETTERS and lower not in _ALONE
    return lower if is_searched else ""


def listed_words(pairs: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the distinct pairs of a term and a word with at least three letters."""
    return frozenset(pair for pair in pairs if len(pair[1]) >= _MIN_LETTERS)


def word_terms_in(word: str, languages: Iterable[str]) -> set[str]:
    """Return the terms of a word in some languages."""
    return {term for language in languages for term in text_terms(word, language=language)}


def most_similar(
    cosines: NDArray[np.float32],
    entries: Callable[[int], tuple[str, str]],
    *,
    word: str,
    terms: Collection[str],
) -> tuple[SimilarWord, ...]:
    """Return the words of a list that are most similar to a word by meaning, best first.

    Args:
        cosines: Cosine of each listed word, (n,).
        entries: Function that returns the term and the word at an index. Terms and words may
            repeat.
        word: Word of the question, in lower case; it is not returned.
        terms: Terms of this word; words with these terms are not returned.

    Returns:
        At most 32 words with a cosine above 0.25, one for each term.
    """
    near = np.flatnonzero(cosines > _MIN_COSINE)
    values = cosines[near]
    size = _POOL
    while True:
        pool = near
        if size < len(near):  # the pool includes all ties with its last word
            pool = near[values >= np.partition(values, len(near) - size)[len(near) - size]]
        best: dict[str, SimilarWord] = {}
        known = zip(cosines[pool].tolist(), map(entries, pool.tolist()), strict=True)
        listed = [(-cosine, len(pair[1]), pair[1], pair[0]) for cosine, pair in known]
        for minus, _, found, term in sorted(listed):
            if term not in best and term not in terms and found != word:
                best[term] = SimilarWord(found, term, -minus)
        if len(best) >= _MAX_SIMILAR or len(pool) == len(near):
            return tuple(best.values())[:_MAX_SIMILAR]
        size *= 8


def merge_similar_words(lists: Sequence[Sequence[SimilarWord]]) -> tuple[SimilarWord, ...]:
    """Return the words most similar to a word, given the result of `most_similar` for each list."""
    ordered = sorted(
        (-found.similarity, len(found.word), found.word, found.term)
        for listed in lists
        for found in listed
    )
    best: dict[str, SimilarWord] = {}
    for minus, _, word, term in ordered:
        best.setdefault(term, SimilarWord(word, term, -minus))
    return tuple(best.values())[:_MAX_SIMILAR]


def merge_spellings(
    nearest: Sequence[SimilarWord | None],
    *,
    count_chunks: Callable[[Sequence[str]], NDArray[np.int64]],
) -> SimilarWord | None:
    """Return the nearest spelling of a word, given the result of `nearest_spellings` for each list.

    Args:
        nearest: Nearest word of each list, or None.
        count_chunks: Function that returns the number of chunks that contain each of some terms.
    """
    found = list(dict.fromkeys(one for one in nearest if one is not None))
    if len(found) < 2:
        return found[0] if found else None
    counts = count_chunks([one.term for one in found]).tolist()
    pairs = zip(found, counts, strict=True)
    return min(
        pairs,
        key=lambda pair: (
            -pair[0].similarity,
            -pair[1],
            len(pair[0].word),
            pair[0].word,
            pair[0].term,
        ),
    )[0]


def nearest_spellings(
    words: Sequence[str],
    terms: Sequence[str],
    listed: Sequence[str],
    *,
    count_chunks: Callable[[Sequence[str]], NDArray[np.int64]],
) -> tuple[SimilarWord | None, ...]:
    """Return for each word of a question the listed word with the nearest spelling, or None.

    An edit inserts, deletes or replaces a letter, or swaps two neighbours. A word of four to seven
    letters may differ by one edit, a longer word by two. Of several words at the same distance, the
    one whose term is in more chunks is returned, then the shorter one, then the first one in the
    alphabet.

    Args:
        words: Words of the question.
        terms: Term of each listed word, (n,).
        listed: Listed words in lower case, (n,); they may repeat.
        count_chunks: Function that returns the number of chunks that contain each of some terms.
    """
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import cdist

    lower = [searched_word(word) for word in words]
    sought = [word for word in dict.fromkeys(lower) if len(word) >= _SPELLING_LETTERS]
    found: dict[str, SimilarWord] = {}
    if sought and listed:
        edits = cdist(sought, listed, scorer=OSA.distance, score_cutoff=_MAX_EDITS, dtype=np.uint8)
        for word, row in zip(sought, edits, strict=True):
            fewest = int(row.min())
            if fewest > (_MAX_EDITS if len(word) >= _LONG_LETTERS else 1):
                continue
            nearest = {
                (terms[index], listed[index]) for index in np.flatnonzero(row == fewest).tolist()
            }
            pairs = sorted(nearest, key=lambda pair: (len(pair[1]), pair[1], pair[0]))
            most = int(np.argmax(count_chunks([term for term, _ in pairs])))
            term, spelled = pairs[most]
            found[word] = SimilarWord(spelled, term, 1 - fewest / len(word))
    return tuple(found.get(word) for word in lower)

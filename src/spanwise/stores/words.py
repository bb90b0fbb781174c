"""Words of documents in index parts: construction, merge, and the search for similar words.

An entry is a term with one of its words. Entries are sorted by text, so a part depends only on its
documents. Cosines are computed from integers (see `core.ranking.vectors`), and the candidates of
all parts are selected together, so results do not depend on the division into parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.similar_words import (
    SimilarWord,
    most_similar,
    nearest_spellings,
    searched_word,
    word_terms_in,
)
from spanwise.core.ranking.vectors import cosines
from spanwise.models.word_vectors import quantise_words
from spanwise.stores.dot_products import dot_table
from spanwise.stores.part import WordLists
from spanwise.stores.scan import count_terms
from spanwise.stores.view import View, find_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part


def build_words(documents: Sequence[Collection[tuple[str, str]]]) -> WordLists:
    """Return the word lists of some documents.

    Args:
        documents: Distinct pairs of a term and a word of each document.
    """
    keys = [[f"{term}\t{word}" for term, word in words] for words in documents]
    lines = sorted(set().union(*keys))
    places = {line: index for index, line in enumerate(lines)}
    entries = [
        np.sort(np.fromiter(map(places.__getitem__, own), dtype=np.uint32, count=len(own)))
        for own in keys
    ]
    vectors, scales = quantise_words([line.partition("\t")[2] for line in lines])
    return _word_lists(lines, vectors, scales, entries, [len(own) for own in keys])


def _word_lists(
    lines: Sequence[str],
    vectors: NDArray[np.int8],
    scales: NDArray[np.float32],
    entries: Sequence[NDArray[np.uint32]],
    counts: Sequence[int],
) -> WordLists:
    return WordLists(
        texts=np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8),
        vectors=vectors,
        scales=scales,
        entries=np.concatenate([np.empty(0, dtype=np.uint32), *entries]),
        ends=np.cumsum([0, *counts], dtype=np.int64),
    )


def merge_words(sources: Sequence[tuple[WordLists, NDArray[np.bool_]]]) -> WordLists:
    """Return the merged word lists of the documents to keep, in order.

    Args:
        sources: Word lists, each with a mask of the documents to keep.
    """
    kept = [words.entries_of(np.flatnonzero(mask)) for words, mask in sources]
    used = [words.distinct(entries) for (words, _), entries in zip(sources, kept, strict=True)]
    texts = [
        [words.lines[index] for index in indexes.tolist()]
        for (words, _), indexes in zip(sources, used, strict=True)
    ]
    lines = sorted(set().union(*texts))
    places = {line: index for index, line in enumerate(lines)}
    vectors = np.zeros((len(lines), sources[0][0].vectors.shape[1]), dtype=np.int8)
    scales = np.zeros(len(lines), dtype=np.float32)
    entries = []
    for (words, _), own, indexes, named in zip(sources, kept, used, texts, strict=True):
        targets = np.zeros(len(words.scales), dtype=np.uint32)
        targets[indexes] = [places[line] for line in named]
        vectors[targets[indexes]] = words.vectors[indexes]
        scales[targets[indexes]] = words.scales[indexes]
        entries.append(targets[own])  # ascending, because both lists have the same order
    counts = np.concatenate([np.diff(words.ends)[mask] for words, mask in sources])
    return _word_lists(lines, vectors, scales, entries, counts.tolist())


class _Listed(NamedTuple):
    """Entries of some documents of a part."""

    part: Part
    indexes: NDArray[np.int64]
    """Distinct indexes of the entries, ascending."""


def find_similar_words(
    view: View, handles: Sequence[int], words: Sequence[str], *, languages: Sequence[str]
) -> tuple[tuple[SimilarWord, ...], ...]:
    """Return the similar words of some documents; see `Searchable.similar_words`.

    Args:
        view: Index view without missing documents.
        handles: Numbers of the documents.
        words: Words of a question.
        languages: Languages of all live documents.

    Raises:
        DocumentNotFoundError: If the snapshot has no document with one of the handles.
        DamagedPartError: If vectors do not match their checksums.
    """
    positions = find_positions(view, handles)
    lower = [searched_word(word) for word in words]
    sought = [word for word in dict.fromkeys(lower) if word]
    queries, query_scales = quantise_words(sought)
    if not queries.size or not len(positions):
        return ((),) * len(words)
    listed = _listed(view, positions)
    similarities = [np.empty((len(sought), 0), dtype=np.float32)]
    for part, indexes in listed:
        part.check_word_vectors()
        similarities.append(_cosines(part.words, indexes, queries, query_scales))
    table = np.concatenate(similarities, axis=1)
    starts = [0, *accumulate(len(indexes) for _, indexes in listed)]

    def entry(column: int) -> tuple[str, str]:
        owner = bisect_right(starts, column) - 1
        part, indexes = listed[owner]
        term, _, word = part.words.line(int(indexes[column - starts[owner]])).partition("\t")
        return term, word

    found = {
        word: most_similar(row, entry, word=word, terms=word_terms_in(word, languages))
        for word, row in zip(sought, table, strict=True)
    }
    return tuple(found.get(word, ()) for word in lower)


def _listed(view: View, positions: NDArray[np.int64]) -> list[_Listed]:
    """Return the entries of some live documents, by part."""
    owners, ordinals = view.part_of[positions], view.ordinals[positions]
    listed = []
    for owner in distinct(owners).tolist():
        part = view.parts[owner].part
        own = np.sort(ordinals[owners == owner])
        listed.append(_Listed(part, part.words.distinct(part.words.entries_of(own))))
    return listed


def _cosines(
    words: WordLists,
    indexes: NDArray[np.int64],
    queries: NDArray[np.int8],
    query_scales: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return the cosines of some entries to query vectors, (queries, entries)."""
    rows, scales = words.vectors_of(indexes)
    return cosines(dot_table(rows, queries), scales, query_scale=query_scales[:, None])


def find_similar_spellings(
    view: View,
    words: Sequence[str],
    *,
    count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
) -> tuple[SimilarWord | None, ...]:
    """Return the words with the nearest spelling; see `Searchable.similar_spellings`.

    Args:
        view: Index view without missing documents.
        words: Words of a question.
        count_chunks: Function that returns the number of chunks that contain each of some terms;
            None to count the chunks of the view.

    Raises:
        DamagedPartError: If postings do not match their checksums.
    """
    terms: list[str] = []
    listed: list[str] = []
    for entry in view.parts:
        own_terms, own_words = entry.part.words.pairs
        if entry.whole:
            terms += own_terms
            listed += own_words
        else:
            indexes = entry.used_words.tolist()
            terms += [own_terms[index] for index in indexes]
            listed += [own_words[index] for index in indexes]
    return nearest_spellings(
        words,
        terms,
        listed,
        count_chunks=count_chunks or (lambda some: count_terms(view, some)),
    )

"""Construction of an index part: term counts, BM25 impacts, quantised vectors and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import run_indexes
from spanwise.core.ranking.bm25 import quantised_impacts
from spanwise.core.ranking.scan import digit_share, section_openings
from spanwise.core.ranking.similar_words import listed_words
from spanwise.core.ranking.vectors import quantise_rows
from spanwise.core.text.terms import term_words, text_terms
from spanwise.stores.part import Part, Postings, term_hashes
from spanwise.stores.part_lists import Lists, count_documents, join_lists, renumber_lists
from spanwise.stores.words import build_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.database import IndexedDocument


_MAX_RUNS = 100_000  # maximum size of the cache, about 40 MB
_MAX_RUN_CHARS = 64  # longer runs rarely repeat: text without spaces, data
_BLOCK_ROWS = 2_048  # bounds the intermediate results
_RUN_ROWS = 10_000  # chunks per block of postings
_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1


class _Runs(dict[str, tuple[int, ...]]):
    """Cache of the ids of terms by run (a word with adjacent punctuation, without white space)."""

    def __init__(self, language: str, ids: dict[tuple[str, str], int]) -> None:
        super().__init__()
        self._language = language
        self._ids = ids

    def __missing__(self, run: str) -> tuple[int, ...]:
        ids = self._ids
        pairs = term_words(run, language=self._language)
        term_ids = tuple([ids.setdefault(pair, len(ids)) for pair in pairs])
        if len(run) <= _MAX_RUN_CHARS:
            self[run] = term_ids
        return term_ids


class Vocabulary:
    """Assigns ids to terms, and caches the term ids of runs of characters without white space.

    Each pair of a term and its word has an id (see `core.text.terms.term_words`). The terms of a
    text are the terms of its runs, because no term contains white space. The terms of a run are
    cached, because most runs occur many times. Not thread-safe.
    """

    def __init__(self) -> None:
        """Create an empty vocabulary."""
        self._runs: dict[str, _Runs] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._pairs: list[tuple[str, str]] = []
        self._hashes = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        """Return the number of cached runs."""
        return sum(map(len, self._runs.values()))

    def count(self, text: str, *, language: str) -> Iterator[int]:
        """Yield the ids of the terms of a text in order; `language` is that of its document."""
        runs = self._runs.get(language)
        if runs is None:
            runs = self._runs[language] = _Runs(language, self._ids)
        return chain.from_iterable(map(runs.__getitem__, text.split()))

    def rank(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the distinct hashes of some terms, ascending, and the index of each term in them.

        Args:
            ids: Term ids with repetitions, (n,).

        Returns:
            Distinct hashes, (h,), and for each of `ids` the index of its hash, (n,).
        """
        new = list(islice(self._ids, len(self._hashes), None))
        self._hashes = np.concatenate((self._hashes, term_hashes([term for term, _ in new])))
        used = np.flatnonzero(np.bincount(ids, minlength=len(self._hashes)))
        hashes, places = np.unique(self._hashes[used], return_inverse=True)
        ranks = np.empty(len(self._hashes), dtype=np.int64)
        ranks[used] = places
        return hashes, ranks[ids]

    def words(self, ids: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Yield the term and the word of each id; the word is "" if the term has none."""
        self._pairs += islice(self._ids, len(self._pairs), None)
        return map(self._pairs.__getitem__, ids)

    def forget_many(self) -> None:
        """Clear the cache if it takes much memory; ids that were returned before become invalid."""
        if len(self) > _MAX_RUNS:
            self._runs.clear()
            self._ids.clear()
            self._pairs.clear()
            self._hashes = self._hashes[:0]


def batch_documents(
    documents: Iterable[IndexedDocument], *, rows: int
) -> Iterator[tuple[IndexedDocument, ...]]:
    """Yield batches of documents with at least `rows` chunks; the last batch may have fewer."""
    piece: list[IndexedDocument] = []
    size = 0
    for document in documents:
        piece.append(document)
        size += len(document.texts)
        if size >= rows:
            yield tuple(piece)
            piece, size = [], 0
    if piece:
        yield tuple(piece)


def build_part(
    documents: Sequence[IndexedDocument],
    *,
    vocabulary: Vocabulary,
    dimension: int,
    reference_terms: float,
) -> Part:
    """Return the index part of some documents.

    Args:
        documents: Documents, ascending by number.
        vocabulary: Term ids, to which new terms are added.
        dimension: Dimension of the vectors; 0 for none.
        reference_terms: Reference chunk length in terms (see `core.ranking.bm25`).
    """
    counts = np.array([len(document.texts) for document in documents], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(counts)))
    rows = int(starts[-1])
    digits, chars = _characters(documents, rows=rows)
    title_terms, title_ends, title_documents = _title_postings(documents)
    body, words = _body_postings(documents, starts, vocabulary, reference_terms=reference_terms)
    # Last, because the postings need the most memory while they are built.
    vectors, scales = _quantised(documents, rows=rows, dimension=dimension)
    return Part(
        numbers=np.array([document.number for document in documents], dtype=np.int64),
        starts=starts,
        vectors=vectors,
        scales=scales,
        digits=digits,
        chars=chars,
        tokens=np.array([n for document in documents for n in document.tokens], dtype=np.uint32),
        openings=np.concatenate(
            [np.empty(0, dtype=bool), *(section_openings(d.sections) for d in documents)]
        ).astype(np.uint8),
        body=body,
        title_terms=title_terms,
        title_ends=title_ends,
        title_documents=title_documents,
        words=build_words([listed_words(pairs) for pairs in words]),
    )


def _quantised(
    documents: Sequence[IndexedDocument], *, rows: int, dimension: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    vectors = np.zeros((rows, dimension), dtype=np.int8)
    scales = np.zeros(rows, dtype=np.float32)
    start = 0
    for document in documents:
        stored = document.vectors
        if stored is not None:
            for first in range(0, len(stored), _BLOCK_ROWS):
                block = stored[first : first + _BLOCK_ROWS]
                place = slice(start + first, start + first + len(block))
                vectors[place], scales[place] = quantise_rows(block)
        start += len(document.texts)
    return vectors, scales


def _characters(
    documents: Sequence[IndexedDocument], *, rows: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the share of digits and the length of each chunk."""
    digits, chars = np.empty(rows, dtype=np.uint8), np.empty(rows, dtype=np.uint32)
    for row, text in enumerate(text for document in documents for text in document.texts):
        digits[row] = round(digit_share(text) * 255)
        chars[row] = len(text)
    return digits, chars


class _Terms(NamedTuple):
    """Terms of some texts."""

    ids: NDArray[np.int64]
    """Ids of the terms of all texts, in order."""
    lengths: NDArray[np.int64]
    """Number of terms of each text, (n,)."""


def _count_terms(texts: Sequence[tuple[str, str]], vocabulary: Vocabulary) -> _Terms:
    """Return the terms of all texts.

    Args:
        texts: Texts of chunks, each with the language of its document.
        vocabulary: Term ids, to which new terms are added.
    """
    pieces: list[NDArray[np.int64]] = []
    lengths: list[int] = []
    for first in range(0, len(texts), _BLOCK_ROWS):
        ids: list[int] = []
        before = 0
        for text, language in texts[first : first + _BLOCK_ROWS]:
            ids.extend(vocabulary.count(text, language=language))
            lengths.append(len(ids) - before)
            before = len(ids)
        pieces.append(np.array(ids, dtype=np.int64))
    return _Terms(
        np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64),
        np.array(lengths, dtype=np.int64),
    )


def _header_terms(
    headers: Sequence[tuple[str, str]], sections: Sequence[int], vocabulary: Vocabulary
) -> _Terms:
    """Return the terms of the header of each chunk.

    Args:
        headers: Headers of sections, each with the language of its document.
        sections: Index in `headers` of the section of each chunk, ascending.
        vocabulary: Term ids, to which new terms are added.
    """
    if not sections:
        return _Terms(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    first = sections[0]
    terms = _count_terms(headers[first : sections[-1] + 1], vocabulary)
    own = np.array(sections, dtype=np.int64) - first
    lengths = terms.lengths[own]
    starts = (np.cumsum(terms.lengths) - terms.lengths)[own]
    return _Terms(terms.ids[run_indexes(starts, lengths)], lengths)


def _body_postings(
    documents: Sequence[IndexedDocument],
    starts: NDArray[np.int64],
    vocabulary: Vocabulary,
    *,
    reference_terms: float,
) -> tuple[Postings, list[list[tuple[str, str]]]]:
    """Return the postings of all chunks, and the pairs of a term and a word of each document.

    They are built in blocks to bound memory. A pair may occur several times in the list of a
    document.
    """
    texts = ((text, document.language) for document in documents for text in document.searched)
    headers = [(text, document.language) for document in documents for text in document.headers]
    first_headers = np.cumsum([0, *(len(document.headers) for document in documents)])
    sections = [
        int(first) + section
        for first, document in zip(first_headers, documents, strict=False)
        for section in document.sections
    ]
    firsts = range(0, max(1, int(starts[-1])), _RUN_ROWS)
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    words: list[list[tuple[str, str]]] = [[] for _ in range(len(starts) - 1)]
    lists = []
    for first in firsts:
        run = list(islice(texts, _RUN_ROWS))
        vocabulary.forget_many()
        text_terms = _count_terms(run, vocabulary)
        header_terms = _header_terms(headers, sections[first : first + len(run)], vocabulary)
        own = _body_lists(text_terms, header_terms, vocabulary, reference_terms=reference_terms)
        lists.append(renumber_lists(own, np.arange(first, first + len(run), dtype=np.int64)))
        keys = np.sort(
            np.concatenate(
                [
                    (np.repeat(owners[first : first + len(run)], terms.lengths) << _ROW_BITS)
                    | terms.ids
                    for terms in (text_terms, header_terms)
                ]
            )
        )
        distinct = keys[_run_starts(keys)]
        found = vocabulary.words((distinct & _ROW_MASK).tolist())
        for owner, pair in zip((distinct >> _ROW_BITS).tolist(), found, strict=True):
            words[owner].append(pair)
    body = lists[0] if len(lists) == 1 else join_lists(lists)
    lists.clear()
    document_ends, ordinals, chunks = count_documents(body.ends, body.entries, starts)
    postings = Postings(
        terms=body.terms,
        ends=body.ends,
        rows=body.entries,
        impacts=body.values,
        document_ends=document_ends,
        documents=ordinals,
        chunks=chunks,
    )
    return postings, words


def _body_lists(
    texts: _Terms, headers: _Terms, vocabulary: Vocabulary, *, reference_terms: float
) -> Lists:
    """Return for each term the chunks that contain it, with the BM25 impact of the term in each.

    Args:
        texts: Terms of the text of each chunk.
        headers: Terms of the header of each chunk.
        vocabulary: Vocabulary of the ids.
        reference_terms: Reference chunk length in terms.
    """
    terms, keys = vocabulary.rank(np.concatenate((texts.ids, headers.ids)))
    rows = np.arange(len(texts.lengths), dtype=np.int64)
    keys <<= _ROW_BITS
    keys |= np.concatenate((np.repeat(rows, texts.lengths), np.repeat(rows, headers.lengths)))
    keys <<= 1
    keys[len(texts.ids) :] |= 1  # the last bit says whether the term is in the header
    keys.sort()
    in_header = keys & 1
    keys >>= 1
    firsts = _run_starts(keys)
    both = np.diff(firsts, append=len(keys))
    in_headers = np.add.reduceat(in_header, firsts) if len(keys) else both
    keys = keys[firsts]
    rows = keys & _ROW_MASK
    return Lists(
        terms=terms,
        ends=np.searchsorted(keys >> _ROW_BITS, np.arange(len(terms) + 1)),
        entries=rows.astype(np.uint32),
        values=quantised_impacts(
            both - in_headers,
            texts.lengths[rows],
            headers=in_headers,
            reference_terms=reference_terms,
        ),
    )


def _run_starts(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each run of equal values, (runs,)."""
    if not len(values):
        return np.empty(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))


def _title_postings(
    documents: Sequence[IndexedDocument],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint32]]:
    documents_by_term: dict[str, list[int]] = {}
    for ordinal, document in enumerate(documents):
        for term in dict.fromkeys(text_terms(document.title_words, language=document.language)):
            documents_by_term.setdefault(term, []).append(ordinal)
    hashes = term_hashes(list(documents_by_term))
    order = np.argsort(hashes)
    lists = list(documents_by_term.values())
    lengths = np.array([len(ordinals) for ordinals in lists], dtype=np.int64)[order]
    joined = [ordinal for place in order.tolist() for ordinal in lists[place]]
    return (
        hashes[order],
        np.concatenate(([0], np.cumsum(lengths))),
        np.array(joined, dtype=np.uint32),
    )

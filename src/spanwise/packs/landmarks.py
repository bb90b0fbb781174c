"""Signals of a pack's landmarks in a document: one number per chunk, computed on ingest.

The signal of a chunk is computed in three steps:
    1. Coverage is the share of the landmark's items within `_REACH` chunks on either side, weighted
       by inverse chunk frequency. For tables of numbers it is multiplied by the share of digits.
    2. A title in the chunk or at most `_TITLE_REACH` chunks before raises the coverage.
    3. The result is standardised: its deviation from the document's mean in standard deviations.

Rules:
    A document has a landmark if the chunks near one of its titles contain at least a share
    `_MIN_COVERAGE` of its items. Other landmarks have no signal, so a pack has no effect on
    unrelated documents.
    If a pack has `throughout` phrases, a third of the document's chunks must contain one.
    A title is a line, or several, with few other words. The same words in a sentence are no title.
    The signals of a document depend only on its chunks and the pack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.bm25 import inverse_frequencies, weighted_sum
from spanwise.core.ranking.scan import digit_share
from spanwise.core.text.terms import word_terms, words
from spanwise.packs.pack_file import phrase_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.packs.pack_file import Landmark, Pack


_REACH = 4
_TITLE_REACH = 8
_TITLE_WEIGHT, _TITLE_FADE = 0.6, 0.05
_OTHER_TERMS, _OTHER_TERMS_EACH = 8, 4  # other terms in the lines of a title: at most, per term
_NUMBER = r"(?:[^\W\d_]{1,10}[ \t]+)?\(?(?:[\d.]{1,9}|[IVXLC]{1,6}|[A-Za-z]\))[.:)]*[ \t]+"
_RUN_IN = re.compile(
    rf"(?:^[ \t]*(?:{_NUMBER})?|(?<=[.;:][ \t])[ \t]*{_NUMBER})([^.:;\n]{{2,60}})[.:;](?=\s)",
    re.MULTILINE,
)
"""Run-in heading at the start of a paragraph: "Section 12. Governing Law. This agreement ..."."""
_OTHER_RUN_IN_TERMS = 3
_TITLE_CHARS = 200  # longer lines are not searched for titles
_PART_CHARS, _OVERLAP_CHARS = 1 << 20, 4_096  # parts of the fast test, to limit memory
_TABLE_DIGITS = 0.12  # share of digits at which a chunk counts fully as a table of numbers
_MIN_COVERAGE = 0.1
_THROUGHOUT = 1 / 3
_EPSILON = 1e-9
_UNKNOWN = -1
_MAX_CACHED_WORDS = 50_000
_NO_POSITIONS = np.zeros(0, dtype=np.int64)


def document_signals(packs: Sequence[Pack], texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
    """Return the signals of all packs in a document, see `landmark_signals`."""
    return {name: own for pack in packs for name, own in landmark_signals(pack, texts).items()}


def landmark_signals(pack: Pack, texts: Sequence[str]) -> Mapping[str, NDArray[np.float16]]:
    """Return the signals of the landmarks that a document has, (n,) each, by `Pack.signal`.

    Args:
        pack: Pack with the landmarks.
        texts: Texts of the n chunks of the document, in order; at least one.
    """
    signals: dict[str, NDArray[np.float16]] = {}
    if not _may_be_of_kind(pack, texts):
        return signals
    positions = _TermPositions.of(pack, texts)
    if not positions.is_of_kind(pack):
        return signals
    for landmark in pack.landmarks:
        titled = positions.titled(landmark)
        if titled.any():
            signal = _signal(landmark, positions, titled)
            if signal is not None:
                signals[pack.signal(landmark.key)] = signal
    return signals


def _may_be_of_kind(pack: Pack, texts: Sequence[str]) -> bool:
    """Return whether a document may be of the kind of a pack: a fast test of its characters.

    Returns False only if the full analysis would find nothing, or only words without spaces between
    them.
    """
    if not _may_have_throughout(pack, texts):
        return False
    return any(
        all(beginning in part for beginning in beginnings) and pattern.search(part) is not None
        for part in _lowered_parts(texts)
        for beginnings, pattern in _title_patterns(pack)
    )


def _lowered_parts(texts: Sequence[str]) -> Iterator[str]:
    """Yield the joined texts in lower case: one part, or overlapping parts of a long document."""
    part: list[str] = []
    chars = 0
    for text in texts:
        part.append(text.lower())
        chars += len(text)
        if chars >= _PART_CHARS:
            whole = "".join(part)
            yield whole
            part, chars = [whole[-_OVERLAP_CHARS:]], 0
    yield "".join(part)


def _may_have_throughout(pack: Pack, texts: Sequence[str]) -> bool:
    """Return whether enough chunks contain the first word of a `throughout` phrase."""
    stems = [beginnings[0] for beginnings in _beginnings(pack.throughout, pack.language)]
    if not stems:
        return True
    lowered = (text.lower() for text in texts)
    candidates = [at for at, text in enumerate(lowered) if any(stem in text for stem in stems)]
    spare = len(candidates) - _THROUGHOUT * len(texts)
    pattern = re.compile("|".join(rf"{re.escape(stem)}[^\W_]*" for stem in stems))
    first_terms = {phrase_terms(text, language=pack.language)[0] for text in pack.throughout}
    for at in candidates:
        if spare < 0:
            break
        first_words = set(pattern.findall(texts[at].lower()))
        if not any(
            first_terms.intersection(word_terms(word, language=pack.language))
            for word in first_words
        ):
            spare -= 1
    return spare >= 0


@lru_cache(maxsize=64)
def _title_patterns(pack: Pack) -> tuple[tuple[list[str], re.Pattern[str]], ...]:
    """Return the beginnings of the words of each title, in lower case, and a pattern for them."""
    titles = tuple(dict.fromkeys(title for mark in pack.landmarks for title in mark.titles))
    # The two character classes are disjoint, which prevents quadratic backtracking.
    return tuple(
        (beginnings, re.compile(r"[^\W_]{0,20}[\W_]+".join(map(re.escape, beginnings))))
        for beginnings in _beginnings(titles, pack.language) or [[""]]
    )


@lru_cache(maxsize=64)
def _beginnings(phrases: tuple[str, ...], language: str) -> list[list[str]]:
    """Return the beginning of each word of each phrase that all its inflected forms share.

    Empty if a phrase is not ASCII, because other letters can be written in several ways.
    """
    if not all(phrase.isascii() for phrase in phrases):
        return []
    return [
        [
            word[: max(1, len(word_terms(word, language=language)[0]) - 2)]
            for word in words(phrase.lower())
        ]
        for phrase in phrases
    ]


class _TermIds(dict[str, tuple[int, ...]]):
    """Cache from a word to the ids of its terms; terms that are not in the pack are `_UNKNOWN`."""

    def __init__(self, pack: Pack) -> None:
        super().__init__()
        self._language = pack.language
        phrases = [text for mark in pack.landmarks for text in (*mark.titles, *mark.items)]
        self._ids: dict[str, int] = {}
        for text in (*pack.throughout, *phrases):
            for term in phrase_terms(text, language=pack.language):
                self._ids.setdefault(term, len(self._ids))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        terms = word_terms(word, language=self._language)
        ids = self[word] = tuple([self._ids.get(term, _UNKNOWN) for term in terms])
        return ids

    def of(self, text: str) -> tuple[int, ...]:
        """Return the ids of the terms of a text, in order."""
        return tuple(term_id for word in words(text) for term_id in self[word])


@lru_cache(maxsize=16)
def _pack_term_ids(pack: Pack) -> _TermIds:
    """Return the term ids of a pack; cached because documents share most of their words."""
    return _TermIds(pack)


def _positions_by_id(terms: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return the positions of each known term id, ascending."""
    positions = np.flatnonzero(terms != _UNKNOWN)
    positions = positions[np.argsort(terms[positions], kind="stable")]
    ids, starts = np.unique(terms[positions], return_index=True)
    return dict(zip(ids.tolist(), np.split(positions, starts)[1:], strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _TermPositions:
    """Positional index of a pack's terms in a document of n chunks and t terms."""

    texts: Sequence[str]
    """Texts of the chunks."""
    term_ids: _TermIds
    terms: NDArray[np.int64]
    """Id of each term of the document, `_UNKNOWN` for terms that are not in the pack, (t,)."""
    starts: Mapping[int, NDArray[np.int64]]
    """Positions of each term id in `terms`, ascending."""
    chunks: NDArray[np.int64]
    """Chunk of each term, (t,)."""
    digits: NDArray[np.float64]
    """Degree to which each chunk is a table of numbers, in [0, 1], (n,)."""
    lines: dict[int, _Lines] = field(default_factory=dict)
    """Cache of the lines of chunks that were searched for titles."""

    @classmethod
    def of(cls, pack: Pack, texts: Sequence[str]) -> _TermPositions:
        """Index the terms of a pack in a document."""
        term_ids = _pack_term_ids(pack)
        chunk_words = [words(text) for text in texts]
        word_ids = list(map(term_ids.__getitem__, chain.from_iterable(chunk_words)))
        terms = np.fromiter(chain.from_iterable(word_ids), dtype=np.int64)
        word_chunks = np.repeat(np.arange(len(texts)), list(map(len, chunk_words)))
        return cls(
            texts=texts,
            term_ids=term_ids,
            terms=terms,
            starts=_positions_by_id(terms),
            chunks=np.repeat(word_chunks, list(map(len, word_ids))),
            digits=np.minimum([digit_share(text) / _TABLE_DIGITS for text in texts], 1.0),
        )

    def chunks_with(self, phrase: Sequence[int]) -> NDArray[np.int64]:
        """Return the chunks in which a phrase begins, ascending."""
        starts = self.starts.get(phrase[0], _NO_POSITIONS)
        for offset, term_id in enumerate(phrase[1:], start=1):
            starts = starts[starts + offset < len(self.terms)]
            starts = starts[self.terms[starts + offset] == term_id]
        return distinct(self.chunks[starts])

    def is_of_kind(self, pack: Pack) -> bool:
        """Return whether enough chunks contain a `throughout` phrase of a pack, if it has any."""
        if not pack.throughout:
            return True
        chunks = [self.chunks_with(self.term_ids.of(text)) for text in pack.throughout]
        return len(distinct(np.concatenate(chunks))) >= _THROUGHOUT * len(self.texts)

    def titled(self, landmark: Landmark) -> NDArray[np.float64]:
        """Return the proximity of each chunk to the last title of a landmark before it, (n,).

        It is 1 in the chunk of the title, less in the chunks after it, 0 beyond `_TITLE_REACH`.
        """
        proximity = np.zeros(len(self.texts))
        for title in landmark.titles:
            phrase = self.term_ids.of(title)
            for chunk in self.chunks_with(phrase).tolist():
                if chunk not in self.lines:
                    self.lines[chunk] = _Lines.of(self.texts[chunk], self.term_ids)
                if self.lines[chunk].have_title(phrase):
                    after = proximity[chunk : chunk + _TITLE_REACH + 1]
                    fading = 1 - _TITLE_FADE * np.arange(len(after))
                    proximity[chunk : chunk + len(after)] = np.maximum(after, fading)
        return proximity

    def item_matrix(self, landmark: Landmark) -> NDArray[np.bool_]:
        """Return whether each item of a landmark is in each chunk, (items, n)."""
        contained = np.zeros((len(landmark.items), len(self.texts)), dtype=bool)
        for row, item in zip(contained, landmark.items, strict=True):
            row[self.chunks_with(self.term_ids.of(item))] = True
        return contained


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a chunk, as term ids, for the search for titles."""

    terms: tuple[int, ...]
    """Term ids of all lines."""
    owners: tuple[int, ...]
    """Line of each term."""
    sizes: tuple[int, ...]
    """Number of terms of each line."""
    run_in_headings: tuple[tuple[int, ...], ...]
    """Term ids of each heading that opens a paragraph."""

    @classmethod
    def of(cls, text: str, term_ids: _TermIds) -> _Lines:
        """Split a text into lines."""
        lines = [
            term_ids.of(line) if len(line) <= _TITLE_CHARS else (_UNKNOWN,)
            for line in text.splitlines()
        ]
        return cls(
            terms=tuple(term for line in lines for term in line),
            owners=tuple(number for number, line in enumerate(lines) for _ in line),
            sizes=tuple(map(len, lines)),
            run_in_headings=tuple(term_ids.of(match[1]) for match in _RUN_IN.finditer(text)),
        )

    def have_title(self, phrase: tuple[int, ...]) -> bool:
        """Return whether a phrase is a title: in lines or a run-in heading with few other terms."""
        size = len(phrase)
        max_size = size + min(_OTHER_TERMS, _OTHER_TERMS_EACH * size)
        if any(
            sum(self.sizes[self.owners[start] : self.owners[start + size - 1] + 1]) <= max_size
            for start in _starts_of(phrase, self.terms)
        ):
            return True
        return any(
            len(heading) <= size + _OTHER_RUN_IN_TERMS and _starts_of(phrase, heading)
            for heading in self.run_in_headings
        )


def _starts_of(phrase: tuple[int, ...], terms: tuple[int, ...]) -> list[int]:
    """Return the positions at which a phrase begins in a sequence of terms."""
    size = len(phrase)
    return [
        start
        for start, term in enumerate(terms[: len(terms) - size + 1])
        if term == phrase[0] and terms[start : start + size] == phrase
    ]


def _signal(
    landmark: Landmark, positions: _TermPositions, titled: NDArray[np.float64]
) -> NDArray[np.float16] | None:
    """Return the signal of a landmark, (n,), or None if the document does not have it."""
    contained = positions.item_matrix(landmark)
    chunk_counts = contained.sum(axis=1)
    near = _within_reach(contained)
    digits = positions.digits if landmark.numbers else np.ones(len(titled))
    # The landmark exists if enough items are near a title, whatever their frequency.
    unweighted = near.mean(axis=0) * digits
    if unweighted[titled > 0].max() < _MIN_COVERAGE:
        return None
    # Rare items identify the place best: weight by inverse chunk frequency.
    weights = np.where(chunk_counts > 0, inverse_frequencies(chunk_counts, len(titled)), 0.0)
    raw = weighted_sum(near, weights) / weights.sum() * digits * (1 + _TITLE_WEIGHT * titled)
    deviation = raw.std()
    if deviation <= _EPSILON:  # constant except for rounding errors
        return None
    return np.asarray((raw - raw.mean()) / deviation).astype(np.float16)


def _within_reach(contained: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each item is in each chunk or a chunk within `_REACH`, (items, n)."""
    near = contained.copy()
    for offset in range(1, _REACH + 1):
        near[:, offset:] |= contained[:, :-offset]
        near[:, :-offset] |= contained[:, offset:]
    return near

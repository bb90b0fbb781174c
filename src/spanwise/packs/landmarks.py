"""Where the landmarks of a pack stand in a document: one number a chunk, made at ingest.

A place is told by what stands in it: `coverage` is the share of the landmark's items, weighed by
how few chunks of the document hold them, within `_REACH` chunks on either side. In a table it
counts as far as there are digits. A title, at most `_TITLE_REACH` chunks before, adds to it. The
signal is what comes out, in deviations from the document's mean.

Rules:
    A document has a landmark where a titled place holds enough of its items (`_LEAST`); of the
    others no signal is kept, so that a pack changes nothing where it does not belong.
    Where a pack says what its documents say throughout, a third of the chunks must say it.
    A title stands in lines with few other words; in a sentence the same words are none.
    The signals of a document depend on its chunks and the pack alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.scan import digit_share
from spanwise.core.text.terms import word_terms, words
from spanwise.packs.pack_file import phrase_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import PassageRange
    from spanwise.packs.pack_file import Landmark, Pack


_REACH = 4
_TITLE_REACH = 8
_TITLE_WEIGHT, _TITLE_FADE = 0.6, 0.05
_BESIDE_TITLE, _BESIDE_TERM = 8, 4  # terms beside a title, such as company or date, in its lines
_NUMBER = r"(?:[^\W\d_]{1,10}[ \t]+)?\(?(?:[\d.]{1,9}|[IVXLC]{1,6}|[A-Za-z]\))[.:)]*[ \t]+"
_RUN_IN = re.compile(
    rf"(?:^[ \t]*(?:{_NUMBER})?|(?<=[.;:][ \t])[ \t]*{_NUMBER})([^.:;\n]{{2,60}})[.:;](?=\s)",
    re.MULTILINE,
)
"""A heading that opens a paragraph: "Section 12. Governing Law. This agreement ..."."""
_BESIDE_RUN_IN = 3
_TITLE_CHARS = 200  # a longer line is no title: it is not read for one
_MOST_DIGITS = 0.12
_LEAST = 0.1
_THROUGHOUT = 1 / 3
_SAME = 1e-9
_NONE = -1
_MOST_WORDS = 50_000  # that are remembered
_NOWHERE = np.zeros(0, dtype=np.int64)


def document_signals(packs: Sequence[Pack], texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
    """Return the signals of all packs in a document, as `landmark_signals`."""
    return {name: own for pack in packs for name, own in landmark_signals(pack, texts).items()}


def landmark_signals(pack: Pack, texts: Sequence[str]) -> Mapping[str, NDArray[np.float16]]:
    """Return the signals of the landmarks that a document has, by `Pack.signal`, (n,) each.

    Args:
        pack: The pack.
        texts: Of the n chunks of the document, in order; at least one.
    """
    found: dict[str, NDArray[np.float16]] = {}
    if not _may_be_of_kind(pack, texts):
        return found
    places = _Places.of(pack, texts)
    if not places.is_of_kind(pack):
        return found
    for landmark in pack.landmarks:
        titled = places.titled(landmark)
        if titled.any():
            signal = _signal(landmark, places, titled)
            if signal is not None:
                found[pack.signal(landmark.key)] = signal
    return found


def _may_be_of_kind(pack: Pack, texts: Sequence[str]) -> bool:
    """Return whether a pack may know a document: a quick look at its letters.

    False only where the whole look would find nothing, or words that are run together.
    """
    lowered = [text.lower() for text in texts]
    if not _may_say_throughout(pack, lowered):
        return False
    whole = "".join(lowered)
    return any(
        all(beginning in whole for beginning in beginnings) and pattern.search(whole) is not None
        for beginnings, pattern in _title_patterns(pack)
    )


def _may_say_throughout(pack: Pack, lowered: Sequence[str]) -> bool:
    """Return whether enough chunks hold a word that a phrase of `throughout` begins with."""
    said = _beginnings(pack.throughout, pack.language)
    if not said:
        return True
    holders = [text for text in lowered if any(beginnings[0] in text for beginnings in said)]
    spare = len(holders) - _THROUGHOUT * len(lowered)
    pattern = re.compile("|".join(rf"{re.escape(beginnings[0])}[^\W_]*" for beginnings in said))
    wanted = {phrase_terms(text, language=pack.language)[0] for text in pack.throughout}
    for text in holders:
        if spare < 0:
            break
        found = set(pattern.findall(text))
        if not any(wanted.intersection(word_terms(one, language=pack.language)) for one in found):
            spare -= 1
    return spare >= 0


@lru_cache(maxsize=64)
def _title_patterns(pack: Pack) -> tuple[tuple[list[str], re.Pattern[str]], ...]:
    """Return what titles look like in small letters, whatever the endings of their words."""
    titles = tuple(dict.fromkeys(title for one in pack.landmarks for title in one.titles))
    # No character is in both runs, so that no text makes the search slow.
    return tuple(
        (beginnings, re.compile(r"[^\W_]{0,20}[\W_]+".join(map(re.escape, beginnings))))
        for beginnings in _beginnings(titles, pack.language) or [[""]]
    )


@lru_cache(maxsize=64)
def _beginnings(phrases: tuple[str, ...], language: str) -> list[list[str]]:
    """Return the first letters of the words of phrases, those that all their endings share.

    Nothing where letters can be written in several ways.
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


def range_signals(
    ranges: Sequence[PassageRange],
    landmarks: Sequence[str],
    signals: Mapping[int, Mapping[str, NDArray[np.float16]]],
) -> NDArray[np.float32]:
    """Return the signals of the chunks of some ranges, one after the other, (landmarks, n).

    Args:
        ranges: Inside of their documents.
        landmarks: Names of signals.
        signals: Of each document, by handle; what it lacks is 0.
    """
    ends = np.cumsum([span.end - span.start for span in ranges], dtype=np.int64).tolist()
    found = np.zeros((len(landmarks), ends[-1] if ends else 0), dtype=np.float32)
    for span, end in zip(ranges, ends, strict=True):
        own = signals.get(span.handle, {})
        for at, landmark in enumerate(landmarks):
            if landmark in own:
                found[at, end - (span.end - span.start) : end] = own[landmark][
                    span.start : span.end
                ]
    return found


class _Numbers(dict[str, tuple[int, ...]]):
    """The terms of words as numbers: those of a pack each its own, all others `_NONE`."""

    def __init__(self, pack: Pack) -> None:
        super().__init__()
        self._language = pack.language
        phrases = [text for one in pack.landmarks for text in (*one.titles, *one.items)]
        self._numbers: dict[str, int] = {}
        for text in (*pack.throughout, *phrases):
            for term in phrase_terms(text, language=pack.language):
                self._numbers.setdefault(term, len(self._numbers))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MOST_WORDS:
            self.clear()
        terms = word_terms(word, language=self._language)
        found = self[word] = tuple([self._numbers.get(term, _NONE) for term in terms])
        return found

    def of(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the terms of a text, in order."""
        return tuple(number for word in words(text) for number in self[word])


@lru_cache(maxsize=16)
def _pack_numbers(pack: Pack) -> _Numbers:
    """Return the numbers of a pack, which are kept: documents share most of their words."""
    return _Numbers(pack)


def _places_by_number(terms: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return where each number that is not `_NONE` stands, ascending."""
    places = np.flatnonzero(terms != _NONE)
    places = places[np.argsort(terms[places], kind="stable")]
    numbers, starts = np.unique(terms[places], return_index=True)
    return dict(zip(numbers.tolist(), np.split(places, starts)[1:], strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where the terms of a pack stand in a document of n chunks and t terms."""

    texts: Sequence[str]
    known: _Numbers
    terms: NDArray[np.int64]
    """Number of each term of the document, `_NONE` where the pack does not have it, (t,)."""
    starts: Mapping[int, NDArray[np.int64]]
    """Where each term of the pack stands in `terms`, ascending."""
    chunks: NDArray[np.int64]
    """Chunk of each, (t,)."""
    digits: NDArray[np.float64]
    """How far each chunk is a table of numbers, in [0, 1], (n,)."""
    lines: dict[int, _Lines] = field(default_factory=dict)
    """Of the chunks in which titles were looked for."""

    @classmethod
    def of(cls, pack: Pack, texts: Sequence[str]) -> _Places:
        """Look the terms of a pack up in a document."""
        known = _pack_numbers(pack)
        found = [words(text) for text in texts]
        numbers = list(map(known.__getitem__, chain.from_iterable(found)))
        terms = np.fromiter(chain.from_iterable(numbers), dtype=np.int64)
        chunks = np.repeat(np.arange(len(texts)), list(map(len, found)))
        return cls(
            texts=texts,
            known=known,
            terms=terms,
            starts=_places_by_number(terms),
            chunks=np.repeat(chunks, list(map(len, numbers))),
            digits=np.minimum([digit_share(text) / _MOST_DIGITS for text in texts], 1.0),
        )

    def holders(self, phrase: Sequence[int]) -> NDArray[np.int64]:
        """Return the chunks that a phrase begins in, ascending."""
        starts = self.starts.get(phrase[0], _NOWHERE)
        for offset, number in enumerate(phrase[1:], start=1):
            starts = starts[starts + offset < len(self.terms)]
            starts = starts[self.terms[starts + offset] == number]
        return np.unique(self.chunks[starts])

    def is_of_kind(self, pack: Pack) -> bool:
        """Return whether the document says throughout what documents of a pack say."""
        if not pack.throughout:
            return True
        holders = [self.holders(self.known.of(text)) for text in pack.throughout]
        return len(np.unique(np.concatenate(holders))) >= _THROUGHOUT * len(self.texts)

    def titled(self, landmark: Landmark) -> NDArray[np.float64]:
        """Return how near after a title of a landmark each chunk stands, 0 for far off, (n,)."""
        near = np.zeros(len(self.texts))
        for title in landmark.titles:
            phrase = self.known.of(title)
            for chunk in self.holders(phrase).tolist():
                if chunk not in self.lines:
                    self.lines[chunk] = _Lines.of(self.texts[chunk], self.known)
                if self.lines[chunk].have_title(phrase):
                    after = near[chunk : chunk + _TITLE_REACH + 1]
                    fading = 1 - _TITLE_FADE * np.arange(len(after))
                    near[chunk : chunk + len(after)] = np.maximum(after, fading)
        return near

    def held(self, landmark: Landmark) -> NDArray[np.bool_]:
        """Return which items of a landmark each chunk holds, (items, n)."""
        held = np.zeros((len(landmark.items), len(self.texts)), dtype=bool)
        for row, item in zip(held, landmark.items, strict=True):
            row[self.holders(self.known.of(item))] = True
        return held


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a chunk, as titles are looked for in them."""

    terms: tuple[int, ...]
    owners: tuple[int, ...]
    """Line of each term."""
    sizes: tuple[int, ...]
    """Terms of each line."""
    heads: tuple[tuple[int, ...], ...]
    """Headings that open paragraphs."""

    @classmethod
    def of(cls, text: str, known: _Numbers) -> _Lines:
        """Read the lines of a text."""
        lines = [
            known.of(line) if len(line) <= _TITLE_CHARS else (_NONE,) for line in text.splitlines()
        ]
        return cls(
            terms=tuple(term for line in lines for term in line),
            owners=tuple(at for at, line in enumerate(lines) for _ in line),
            sizes=tuple(map(len, lines)),
            heads=tuple(known.of(found[1]) for found in _RUN_IN.finditer(text)),
        )

    def have_title(self, phrase: tuple[int, ...]) -> bool:
        """Return whether a phrase stands in lines, or in a heading, with few other words."""
        size = len(phrase)
        most = size + min(_BESIDE_TITLE, _BESIDE_TERM * size)
        if any(
            sum(self.sizes[self.owners[at] : self.owners[at + size - 1] + 1]) <= most
            for at in _found_at(phrase, self.terms)
        ):
            return True
        return any(
            len(head) <= size + _BESIDE_RUN_IN and _found_at(phrase, head) for head in self.heads
        )


def _found_at(phrase: tuple[int, ...], terms: tuple[int, ...]) -> list[int]:
    """Return where a phrase begins among some terms."""
    size = len(phrase)
    return [
        at
        for at, term in enumerate(terms[: len(terms) - size + 1])
        if term == phrase[0] and terms[at : at + size] == phrase
    ]


def _signal(
    landmark: Landmark, places: _Places, titled: NDArray[np.float64]
) -> NDArray[np.float16] | None:
    """Return the signal of a landmark, (n,), or None where the document does not have it."""
    held = places.held(landmark)
    holders = held.sum(axis=1)
    near = _near(held)
    digits = places.digits if landmark.numbers else np.ones(len(titled))
    strength = near.mean(axis=0) * digits
    if strength[titled > 0].max() < _LEAST:
        return None
    weights = np.where(holders > 0, inverse_frequencies(holders, len(titled)), 0.0)
    coverage = np.zeros(len(titled))
    for weight, row in zip(weights, near, strict=True):  # in this order on every machine
        coverage += weight * row
    raw = coverage / weights.sum() * digits * (1 + _TITLE_WEIGHT * titled)
    deviation = raw.std()
    if deviation <= _SAME:  # the same everywhere, but for rounding
        return None
    return np.asarray((raw - raw.mean()) / deviation).astype(np.float16)


def _near(held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which items each chunk or one within reach holds, (items, n)."""
    near = held.copy()
    for offset in range(1, _REACH + 1):
        near[:, offset:] |= held[:, :-offset]
        near[:, :-offset] |= held[:, offset:]
    return near

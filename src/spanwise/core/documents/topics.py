"""Topic segmentation: cuts a long text without headings where its topic changes.

Rules of segmentation:
    The text is read as atoms: runs of a few sentences, about 800 characters long.
    The strength of a gap between two atoms is one less the cosine of the atoms before and after it,
    standardised over the text, and higher at the end of a paragraph.
    The cuts are the gaps with the greatest sum of strengths under a minimum and a maximum length,
    found exactly by dynamic programming. A short piece is used only if there is no other way.

Rules of hashed word counts:
    A word is identified by its first six bytes (eight outside ASCII) of UTF-8, ignoring the case of
    A to Z; words of fewer than four bytes are ignored. Each Chinese or Japanese character is one
    word.
    Counts are weighted by their square root and by the rarity of the word among the runs.
    Everything is done in numpy on bytes, with no Python object per word.

Hashed counts need no model and cost a fraction of embedding the text again. An embedder is used if
the caller gives one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from spanwise.core.text.break_points import grade_of, place_of, text_ends, word_ends
from spanwise.core.text.sentences import safe_cut
from spanwise.options import SectionOptions
from spanwise.types import Block

BUCKETS = 512
_BUCKET_BITS = 9
_MIN_BYTES = 4
_KEY_BYTES = 8
_ASCII_KEY_BYTES = 6

_SMALL_LETTERS = np.uint64(0x2020202020202020)
_NOT_ASCII = np.uint64(0x8080808080808080)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits well mixed: Fibonacci hashing
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_KEY_BYTES + 1)], dtype="<u8")

_IS_WORD = np.zeros(256, dtype=np.bool_)
_IS_WORD[0x80:] = True
for _first, _last in (b"09", b"AZ", b"az"):
    _IS_WORD[_first : _last + 1] = True
_SIGNS = ((0xC2, 2), (0xE2, 3), (0xEF, 3))
"""First byte in UTF-8, and length in bytes, of ranges of characters that are mostly punctuation."""
_CJK_FIRST, _CJK_LAST, _CJK_BYTES = 0xE3, 0xE9, 3
"""Range of the first byte in UTF-8, and length in bytes, of Chinese and Japanese characters."""
_CJK_SIGNS = 0x80  # second byte of punctuation, whose first byte is _CJK_FIRST


def hashed_word_counts(text: str, bounds: Sequence[int]) -> NDArray[np.float32]:
    """Return the weighted word counts of consecutive runs of a text (feature hashing).

    Args:
        text: The text.
        bounds: Offset of each run, ascending, and the end of the last one.

    Returns:
        Shape (runs, BUCKETS), not below 0; a row of zeros for a run without words.
    """
    encoded = [text[begin:end].encode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
    runs = len(encoded)
    run_ends = list(accumulate(map(len, encoded)))
    joined = b"".join(encoded)
    del encoded  # here and below: several MB for a batch of atoms
    starts, keys = _word_keys(joined)
    places = np.searchsorted(run_ends, starts, side="right") * BUCKETS
    places += ((keys * _MULTIPLIER) >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    del joined, starts, keys
    cells = np.bincount(places, minlength=runs * BUCKETS)
    del places
    weights = cells.reshape(runs, BUCKETS).astype(np.float32)
    del cells
    runs_with_bucket = np.count_nonzero(weights, axis=0)
    rarity = np.log((runs + 1) / (runs_with_bucket + 0.5)).astype(np.float32)
    np.sqrt(weights, out=weights)
    weights *= rarity
    return weights


def _word_keys(encoded: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the byte offset and an integer key of each word of a text, in any order."""
    padded = bytes(1) + encoded + bytes(_KEY_BYTES)
    codes = np.frombuffer(padded, dtype=np.uint8)
    is_word = _IS_WORD.take(codes)
    cjk = np.zeros(0, dtype=np.int64)
    if not encoded.isascii():
        cjk = np.flatnonzero((codes >= _CJK_FIRST) & (codes <= _CJK_LAST))
        _clear(is_word, cjk, _CJK_BYTES)
        is_sign = (codes[cjk] == _CJK_FIRST) & (codes[cjk + 1] == _CJK_SIGNS)
        cjk = cjk[~is_sign]
        for first_byte, length in _SIGNS:
            _clear(is_word, np.flatnonzero(codes == first_byte), length)
    borders = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    starts, lengths = borders[::2], borders[1::2] - borders[::2]
    is_long = lengths >= _MIN_BYTES
    starts = np.concatenate([starts[is_long], cjk])
    lengths = np.concatenate([lengths[is_long], np.full(len(cjk), _CJK_BYTES)])
    return starts - 1, _first_bytes(padded, starts, lengths)


def _clear(is_word: NDArray[np.bool_], places: NDArray[np.int64], length: int) -> None:
    for offset in range(length):
        is_word[places + offset] = False


def _first_bytes(
    padded: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the first bytes of each word as an integer key."""
    every = np.ndarray((len(padded) - _KEY_BYTES + 1,), dtype="<u8", buffer=padded, strides=(1,))
    keys = every[starts] & _MASKS[np.minimum(lengths, _KEY_BYTES)]
    is_ascii = (keys & _NOT_ASCII) == 0
    result: NDArray[np.uint64] = np.where(
        is_ascii, (keys | _SMALL_LETTERS) & _MASKS[_ASCII_KEY_BYTES], keys
    )
    return result


Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Function that returns one vector per text, in order: shape (texts, dimensions)."""

_ATOM_CHARS = 900
_LOOK_SHARE = 0.8  # an atom ends in the last fifth of its maximum length, ...
_PARAGRAPH_SHARE = 0.2  # ... or with a paragraph after this part of it
_WINDOW_ATOMS = 2
_BATCH_ATOMS = 512
_BLOCK_GAPS = 64  # compared at once, to bound memory
_CUT_COST = 1.0  # minimum strength of a cut, in standard deviations above the mean
_PARAGRAPH_STRENGTH = 1.0
_BLOCK_STRENGTH = -1e3  # below any sum of gaps in a section
_SHORT_COST = 1e9
_PARAGRAPH = re.compile(r"\n[^\S\n]{0,80}\n\s{0,80}|\f\s{0,80}")


def topic_cuts(
    text: str,
    *,
    start: int,
    stop: int,
    options: SectionOptions,
    blocks: Sequence[Block] = (),
    embed: Embed | None = None,
) -> list[int]:
    """Return the offsets where the topic of `text[start:stop]` changes.

    Args:
        text: The text.
        start: Offset of the first character.
        stop: Offset after the last character.
        options: Minimum and maximum length of a piece.
        blocks: Tables and code that overlap the range, in order; they are cut only if necessary.
        embed: Embedding function; None for hashed word counts.

    Returns:
        Offsets in `(start, stop)`, ascending; empty if the text is short enough. No piece is longer
        than `options.max_chars`, except for characters that cannot be split.
    """
    if stop - start <= options.max_chars:
        return []
    places = _atom_places(text, start, stop, max(1, min(_ATOM_CHARS, options.max_chars // 2)))
    strengths = gap_differences(text, start=start, places=places, embed=embed) - _CUT_COST
    for index, place in enumerate(places[:-1]):
        if _PARAGRAPH.search(text, max(start, place - 3), place) is not None:
            strengths[index] += _PARAGRAPH_STRENGTH
    for block in blocks:
        inside = np.searchsorted(places[:-1], [block.start + 1, block.end])
        strengths[inside[0] : inside[1]] = _BLOCK_STRENGTH
    cuts = best_cuts(
        [place - start for place in places],
        strengths.tolist(),
        min_chars=options.min_chars,
        max_chars=options.max_chars,
    )
    return [start + cut for cut in cuts]


def _atom_places(text: str, start: int, stop: int, max_chars: int) -> list[int]:
    """Return the end of each atom, the last at `stop`."""
    places = []
    while stop - start > max_chars:
        start = _atom_end(text, start, start + max_chars)
        places.append(start)
    places.append(stop)
    return places


def _atom_end(text: str, start: int, limit: int) -> int:
    """Return the end of the atom from `start`: the last of the best break points before `limit`."""
    length = limit - start
    paragraph = _find_paragraph(text, start + int(_PARAGRAPH_SHARE * length), limit)
    if paragraph is not None and paragraph.end() > start:
        return paragraph.end()
    look = start + int(_LOOK_SHARE * length)
    ends = text_ends(text, start=look, stop=limit)
    ends = ends or word_ends(text, start=look, stop=limit, step=length // 50)
    if ends:
        return place_of(min(ends, key=lambda end: (grade_of(end), -end)))
    return safe_cut(text, limit, start=start)


def _find_paragraph(text: str, start: int, stop: int) -> re.Match[str] | None:
    """Return the first end of a paragraph in a range; None if there is none."""
    if text.find("\n", start, stop) < 0 and text.find("\f", start, stop) < 0:
        return None  # much faster than the pattern
    return _PARAGRAPH.search(text, start, stop)


def gap_differences(
    text: str, *, start: int, places: Sequence[int], embed: Embed | None = None
) -> NDArray[np.float64]:
    """Return the strength of the change of topic at each gap between atoms.

    Args:
        text: The text.
        start: Offset of the first atom.
        places: End of each atom, ascending.
        embed: Embedding function; None for hashed word counts.

    Returns:
        One number for each place except the last: one less the cosine of the atoms around it, in
        standard deviations above the mean; zeros if all gaps are equal.
    """
    bounds = [start, *places]
    gaps = len(places) - 1
    differences = np.zeros(gaps)
    for first in range(0, gaps, _BATCH_ATOMS):
        last = min(first + _BATCH_ATOMS, gaps)
        before = min(first, _WINDOW_ATOMS - 1)
        batch = bounds[first - before : last + _WINDOW_ATOMS + 1]
        if embed is None:
            vectors = hashed_word_counts(text, batch)
        else:
            vectors = embed([text[begin:end] for begin, end in pairwise(batch)])
        differences[first:last] = _differences(vectors)[before : before + last - first]
    spread = float(differences.std()) if gaps else 0.0
    return (differences - differences.mean()) / spread if spread > 1e-9 else differences * 0.0


def _differences(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return one less the cosine between the atoms before and after each gap."""
    gaps = len(vectors) - 1
    products, norms = np.empty(gaps), np.empty(gaps)
    for first in range(0, gaps, _BLOCK_GAPS):
        last = min(first + _BLOCK_GAPS, gaps)
        before = _window_sums(vectors, range(first, last), step=-1)
        after = _window_sums(vectors, range(first + 1, last + 1), step=1)
        products[first:last] = np.einsum("ij,ij->i", before, after)
        squares = np.einsum("ij,ij->i", before, before) * np.einsum("ij,ij->i", after, after)
        norms[first:last] = np.sqrt(squares)
    return np.where(norms > 0, 1.0 - products / np.where(norms > 0, norms, 1.0), 0.0)


def _window_sums(vectors: NDArray[np.float32], rows: range, *, step: int) -> NDArray[np.float64]:
    """Return the sum of each row and of the next ones of its window, in one direction."""
    sums = vectors[rows.start : rows.stop].astype(np.float64)
    for shift in range(step, step * _WINDOW_ATOMS, step):
        first, last = max(rows.start, -shift), min(rows.stop, len(vectors) - shift)
        sums[first - rows.start : last - rows.start] += vectors[first + shift : last + shift]
    return sums


def best_cuts(
    places: Sequence[int], strengths: Sequence[float], *, min_chars: int, max_chars: int
) -> list[int]:
    """Return the cuts with the greatest sum of strengths under the length limits.

    Dynamic programming with two monotonic queues, linear in the number of atoms.

    Args:
        places: Ends of the atoms, ascending; the first atom starts at 0.
        strengths: Value of a cut at each place except the last, finite; may be negative.
        min_chars: Minimum length of a piece. Divisions with the fewest shorter pieces come first.
        max_chars: Maximum length of a piece, at least that of the longest atom.

    Returns:
        An ascending subset of `places` without the last; empty for one atom. Of equal divisions,
        the one whose last pieces are longest.
    """
    bounds = [0, *places]
    gains = [0.0, *strengths, 0.0]
    values = [0.0]  # value of the best division up to each bound
    previous = [0]
    fitting: deque[int] = deque()  # starts of pieces of allowed length, values falling
    short: deque[int] = deque()  # starts of pieces that are too short, values falling
    entering = 0
    for end in range(1, len(bounds)):
        _enter(short, end - 1, values)
        while entering < end and bounds[end] - bounds[entering] >= min_chars:
            _enter(fitting, entering, values)
            entering += 1
        while short and short[0] < entering:
            short.popleft()
        while fitting and bounds[end] - bounds[fitting[0]] > max_chars:
            fitting.popleft()
        start = fitting[0] if fitting else short[0]
        value = values[start] - (0.0 if fitting else _SHORT_COST)
        if fitting and short and values[short[0]] - _SHORT_COST > value:
            start = short[0]
            value = values[start] - _SHORT_COST
        values.append(value + gains[end])
        previous.append(start)
    cuts = []
    end = previous[-1]
    while end > 0:
        cuts.append(bounds[end])
        end = previous[end]
    return cuts[::-1]


def _enter(starts: deque[int], start: int, values: Sequence[float]) -> None:
    """Append a start to a queue of descending values, and remove the starts that it dominates."""
    while starts and values[starts[-1]] < values[start]:
        starts.pop()
    starts.append(start)

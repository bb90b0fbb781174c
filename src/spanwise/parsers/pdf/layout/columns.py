"""Fragments of lines, joined from words, and the reading order of columns (recursive XY cut).

Rules of fragments
    1. Words are joined in content order. A fragment ends where the baseline changes, where the
       next word is to the left, and where the gap is wider than an em.
    2. A raised or lowered word of smaller type that touches the word before it is joined to it.
    3. A currency sign is written without a space before its number.
    4. A fragment keeps the runs of its type: (font, size in tenths of a point, characters).

Rules of columns
    1. A gutter is a position in the middle of the text that fewer fragments cross than are on
       either side of it. The fragments that cross it divide the page into bands.
    2. A band is read column by column only if both sides look like prose, preferably with
       different baselines. A table, whose sides are labels and numbers, is read row by row.
    3. Each column is divided in the same way again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from spanwise.parsers.pdf.layout.page import Words

Run = tuple[int, int, int]
"""Font, size in tenths of a point, characters."""

_MAX_GAP = 1.0  # em
_CURRENCY = frozenset("$€£¥")
_SIGN_GAP = re.compile(r"(?<=[$€£¥]) (?=[\d(])")
_TOUCH = 0.3  # em: a currency sign begins a cell, unless it touches the word before it
_MAX_BACK = 0.6  # em: kerning and overprinting move words a little to the left
_SAME_LINE = 0.25  # em
_SCRIPT_RAISE = 0.65  # em


@dataclass(slots=True)
class Fragment:
    """Run of words on one line, or a ruled table."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    runs: list[Run]
    rows: list[str] = field(default_factory=list)
    """Lines of a ruled table; empty for words."""
    bottom: float = 0.0
    """Lower edge of a ruled table."""
    has_merged_cells: bool = False
    """Whether a ruled table has merged cells."""


def join_words(words: Words, *, left_out: frozenset[int] = frozenset()) -> list[Fragment]:
    """Return the fragments of a page, in content order.

    Args:
        words: Words of the page.
        left_out: Indices of the words in ruled tables.
    """
    fragments: list[Fragment] = []
    members: list[int] = []
    texts, lefts, rights = words.texts, words.lefts, words.rights
    baselines, sizes = words.baselines, words.sizes
    right = baseline = size = 0.0
    for index in range(len(words)):
        if left_out and index in left_out:
            continue
        word_size = sizes[index]
        if members:
            gap = lefts[index] - right
            shift = baselines[index] - baseline
            em = size if size > word_size else word_size
            if -_MAX_BACK * em < gap <= (
                _MAX_GAP if texts[index] not in _CURRENCY else _TOUCH
            ) * em and (
                -_SAME_LINE * em <= shift <= _SAME_LINE * em
                or _is_script(shift, gap, size, word_size)
            ):
                members.append(index)
                right = rights[index] if rights[index] > right else right
                if word_size >= size:
                    baseline, size = baselines[index], word_size
                continue
            fragments.append(_fragment(words, members, right))
        members = [index]
        right, baseline, size = rights[index], baselines[index], word_size
    if members:
        fragments.append(_fragment(words, members, right))
    return fragments


def _is_script(shift: float, gap: float, size: float, word_size: float) -> bool:
    """Return whether one of two words is a superscript or subscript of the other."""
    large, small = (size, word_size) if size > word_size else (word_size, size)
    return small < 0.85 * large and abs(shift) < _SCRIPT_RAISE * large and gap < 0.4 * large


def _fragment(words: Words, members: Sequence[int], right: float) -> Fragment:
    runs: list[Run] = []
    font = size = -1
    chars = 0
    for index in members:
        word_font, word_size = words.fonts[index], round(10 * words.sizes[index])
        if word_font != font or abs(word_size - size) > 2:
            if chars:
                runs.append((font, size, chars))
            font, size, chars = word_font, word_size, 0
        chars += len(words.texts[index])
    runs.append((font, size, chars))
    main = runs[0] if len(runs) == 1 else max(runs, key=lambda run: run[2])
    baseline = next(
        words.baselines[index]
        for index in members
        if words.fonts[index] == main[0] and abs(round(10 * words.sizes[index]) - main[1]) <= 2
    )
    text = " ".join([words.texts[index] for index in members])
    if not _CURRENCY.isdisjoint(text):
        text = _SIGN_GAP.sub("", text)
    return Fragment(
        text=text,
        left=words.lefts[members[0]],
        right=right,
        baseline=baseline,
        size=main[1] / 10,
        runs=runs,
    )


_MIN_SIDE = 4  # fragments on each side of a gutter
_MAX_DEPTH = 3
_BIN = 4.0  # points
_BINS = range(20, 5_001)
"""Widths of text, in bins, that are searched for gutters; only crafted files exceed the maximum."""
_PROSE_CHARS = 18
_MIN_PROSE = 0.6  # share of characters in lines that look like prose
_MIN_APART_PROSE = 0.3  # the same, if the lines of both sides have different baselines
_MAX_SHARED = 0.4
_MIN_FILL = 0.5  # of the width of a column, by its prose


@dataclass(slots=True)
class Region:
    """Fragments that are read from top to bottom, with their horizontal range."""

    left: float
    right: float
    fragments: list[Fragment]


def split_columns(fragments: Sequence[Fragment]) -> list[Region]:
    """Return the regions of a page in reading order; each fragment is in exactly one."""
    return _split(list(fragments), 0) if fragments else []


def _split(fragments: list[Fragment], depth: int) -> list[Region]:
    left = min(fragment.left for fragment in fragments)
    right = max(fragment.right for fragment in fragments)
    whole = [Region(left, right, fragments)]
    if depth >= _MAX_DEPTH or len(fragments) < 2 * _MIN_SIDE:
        return whole
    gutter = _find_gutter(fragments, left, right)
    if gutter is None:
        return whole
    regions: list[Region] = []
    for band in _bands(fragments, gutter):
        sides = _sides(band, gutter)
        if sides is None:
            if regions and regions[-1].left == left and regions[-1].right == right:
                regions[-1].fragments += band
            else:
                regions.append(Region(left, right, list(band)))
        else:
            for side in sides:
                regions += _split(side, depth + 1)
    return regions


def _find_gutter(fragments: Sequence[Fragment], left: float, right: float) -> float | None:
    """Return the position in the middle that the fewest fragments cross, None without one."""
    bins = int((right - left) / _BIN) + 1
    if bins not in _BINS:
        return None
    changes = [0] * (bins + 1)
    for fragment in fragments:
        changes[int((fragment.left - left) / _BIN)] += 1
        changes[min(bins, int((fragment.right - left) / _BIN) + 1)] -= 1
    crossing = list(accumulate(changes))[:bins]
    first, last = bins // 5, bins - bins // 5
    fewest = min(crossing[first:last])
    most_left, most_right = max(crossing[:first]), max(crossing[last:])
    if min(most_left, most_right) < fewest + _MIN_SIDE:
        return None
    places = [place for place in range(first, last) if crossing[place] == fewest]
    middle = min(places, key=lambda place: abs(place - bins / 2))
    return left + (middle + 0.5) * _BIN


def _bands(fragments: Sequence[Fragment], gutter: float) -> list[list[Fragment]]:
    """Return bands of fragments from top to bottom, divided at those that cross the gutter."""
    ordered = sorted(fragments, key=lambda fragment: (-fragment.baseline, fragment.left))
    bands: list[list[Fragment]] = []
    crossed = None
    for fragment in ordered:
        crosses = fragment.left < gutter < fragment.right
        if crosses == crossed:
            bands[-1].append(fragment)
        else:
            bands.append([fragment])
            crossed = crosses
    return bands


def _sides(band: Sequence[Fragment], gutter: float) -> tuple[list[Fragment], list[Fragment]] | None:
    """Return the two columns of a band, None if it is not prose in columns."""
    left = [fragment for fragment in band if fragment.right <= gutter]
    right = [fragment for fragment in band if fragment.left >= gutter]
    if len(left) + len(right) < len(band) or min(len(left), len(right)) < _MIN_SIDE:
        return None
    weakest = min(_prose_share(left), _prose_share(right))
    if weakest >= _MIN_PROSE or (weakest >= _MIN_APART_PROSE and _stand_apart(left, right)):
        return left, right
    return None


def _prose_share(side: Sequence[Fragment]) -> float:
    """Return the share of a column's characters in lines of prose that fill its width.

    Ruled tables are not counted.
    """
    side = [fragment for fragment in side if not fragment.rows]
    if len(side) < 3:
        return 0.0
    left = min(fragment.left for fragment in side)
    width = max(fragment.right for fragment in side) - left
    prose = [fragment for fragment in side if _is_words(fragment.text)]
    filled = sum(fragment.right - fragment.left for fragment in prose)
    if len(prose) < 3 or filled < _MIN_FILL * width * len(prose):
        return 0.0
    return sum(len(fragment.text) for fragment in prose) / sum(
        len(fragment.text) for fragment in side
    )


def _stand_apart(left: Sequence[Fragment], right: Sequence[Fragment]) -> bool:
    """Return whether the lines of two columns rarely share a baseline; those of a table do."""
    baselines = {round(fragment.baseline) for fragment in left}
    shared = sum(
        bool(baselines & {round(fragment.baseline) + step for step in (-1, 0, 1)})
        for fragment in right
    )
    return shared <= _MAX_SHARED * len(right)


def _is_words(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return len(text) >= _PROSE_CHARS and letters >= 0.6 * len(text)

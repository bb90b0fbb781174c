"""Words that stand beside each other, joined to the fragments of lines.

Rules
    1. Words follow each other in content order; a fragment ends where the baseline changes, where
       the next word stands to the left, and where the gap is wider than an em.
    2. A raised or lowered word of smaller type that touches the word before it belongs to it.
    3. A currency sign is written without a space before its figure.
    4. A fragment keeps the runs of its type: (font, size in tenths of a point, characters).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from spanwise.parsers.pdf.layout.page import Words

__all__ = ["Fragment", "Run", "join_words"]

Run = tuple[int, int, int]
"""Font, size in tenths of a point, characters."""

_MAX_GAP = 1.0  # em
_CURRENCY = frozenset("$€£¥")
_SIGN_GAP = re.compile(r"(?<=[$€£¥]) (?=[\d(])")
_TOUCH = 0.3  # em: a currency sign begins a cell, unless it touches what stands before it
_MAX_BACK = 0.6  # em: kerning and overprinting move words a little to the left
_SAME_LINE = 0.25  # em
_SCRIPT_RAISE = 0.65  # em


@dataclass(slots=True)
class Fragment:
    """A run of words on one line, or a ruled table."""

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
    """Whether a ruled table has cells over several rows, or over some of its columns."""


def join_words(words: Words, *, left_out: frozenset[int] = frozenset()) -> list[Fragment]:
    """Return the fragments of a page, in content order.

    Args:
        words: Words of the page.
        left_out: Indices of words that stand in ruled tables.
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

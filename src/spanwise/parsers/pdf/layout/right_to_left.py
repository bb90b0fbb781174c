"""Pages in right-to-left scripts, which are mirrored so that the layout code handles one direction.

Rules
    1. A page is right-to-left if most of its words with letters are.
    2. Adjacent words of other scripts are one word of the mirrored page, so that they keep their
       order.
"""

from __future__ import annotations

import re

from spanwise.parsers.pdf.layout.page import PageContent, Rule, Words

_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MAX_GAP = 0.6  # em
_SAME_LINE = 0.25  # em


def runs_right_to_left(text: str) -> bool:
    """Return whether a text contains letters of a right-to-left script (Hebrew, Arabic ...)."""
    return _LETTER.search(text) is not None


def is_right_to_left(words: Words) -> bool:
    """Return whether most words of a page run from right to left."""
    texts = words.texts
    if not runs_right_to_left("".join(texts)):
        return False
    count = sum(map(runs_right_to_left, texts))
    return 2 * count > sum(any(map(str.isalpha, text)) for text in texts)


def mirrored(page: PageContent) -> PageContent:
    """Return the horizontally mirrored page."""
    width = page.width
    rules = [Rule(width - r.right, r.bottom, width - r.left, r.top) for r in page.rules]
    return PageContent(
        width=width, height=page.height, words=_mirrored_words(page.words, width), rules=rules
    )


def _mirrored_words(words: Words, width: float) -> Words:
    found = Words()
    first = 0
    for index in range(1, len(words) + 1):
        if index < len(words) and _goes_on(words, index):
            continue
        run = sorted(range(first, index), key=lambda at: words.lefts[at])
        left, right = width - words.rights[run[-1]], width - words.lefts[run[0]]
        found.add(
            " ".join([words.texts[at] for at in run]),
            box=(left, right, words.baselines[first]),
            size=words.sizes[first],
            font=words.fonts[first],
        )
        first = index
    return found


def _goes_on(words: Words, index: int) -> bool:
    """Return whether a word is adjacent to the one before it, both in left-to-right scripts."""
    for text in (words.texts[index - 1], words.texts[index]):
        if runs_right_to_left(text) or not any(map(str.isalpha, text)):
            return False
    size = words.sizes[index]
    shift = abs(words.baselines[index] - words.baselines[index - 1])
    gap = max(
        words.lefts[index] - words.rights[index - 1], words.lefts[index - 1] - words.rights[index]
    )
    return shift <= _SAME_LINE * size and 0 <= gap <= _MAX_GAP * size

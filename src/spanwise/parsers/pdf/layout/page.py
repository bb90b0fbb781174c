"""Input of the layout: words, fonts and rules of one page; mirroring of right-to-left pages.

Coordinates are in points, x to the right and y upwards. The page is rotated so that most of its
text runs from left to right.

Rules of right-to-left scripts
    1. A page is right-to-left if most of its words with letters are. It is mirrored, so that the
       layout code handles one direction.
    2. Adjacent words of other scripts are one word of the mirrored page, so that they keep their
       order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Font:
    """Font of a file."""

    name: str
    bold: bool
    italic: bool
    is_nameless: bool = False
    """Whether the name is meaningless, so that it cannot show whether the font is bold or italic.

    Such a font in a line counts as emphasis if it is not the font of the body.
    """


@dataclass(slots=True)
class Words:
    """Words of a page in content order; all lists have one entry per word."""

    texts: list[str] = field(default_factory=list)
    """Texts without white space; a word hyphenated at a line end ends with `flow.HYPHEN`."""
    lefts: list[float] = field(default_factory=list)
    rights: list[float] = field(default_factory=list)
    baselines: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    """Type sizes in points, greater than 0."""
    fonts: list[int] = field(default_factory=list)
    """Indices into the fonts of the document."""

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.texts)

    def add(self, text: str, *, box: tuple[float, float, float], size: float, font: int) -> None:
        """Append a word.

        Args:
            text: Characters of the word.
            box: Left, right, baseline.
            size: Type size.
            font: Index of its font.
        """
        self.texts.append(text)
        self.lefts.append(box[0])
        self.rights.append(box[1])
        self.baselines.append(box[2])
        self.sizes.append(size)
        self.fonts.append(font)


@dataclass(frozen=True, slots=True)
class Rule:
    """Thin line on a page: horizontal if `bottom == top`, else vertical."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def is_horizontal(self) -> bool:
        """Whether it runs from left to right."""
        return self.right - self.left >= self.top - self.bottom


@dataclass(slots=True)
class PageContent:
    """Words and rules of one page."""

    width: float
    height: float
    words: Words
    rules: list[Rule] = field(default_factory=list)


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

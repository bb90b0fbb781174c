"""Input of the layout: words, fonts and rules of one page.

Coordinates are in points, x to the right and y upwards. The page is rotated so that most of its
text runs from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Font:
    """Font of a file."""

    name: str
    bold: bool
    italic: bool
    is_nameless: bool = False
    """Whether the name is meaningless; a font other than that of the body is then an emphasis."""


@dataclass(slots=True)
class Words:
    """Words of a page in content order; all lists have one entry per word."""

    texts: list[str] = field(default_factory=list)
    """Texts without white space; a word hyphenated at a line end ends with `flow.HYPHEN`."""
    lefts: list[float] = field(default_factory=list)
    rights: list[float] = field(default_factory=list)
    baselines: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    """Type sizes, > 0."""
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

"""What the layout is made from: the words, fonts and rules of one page.

Coordinates are points; x grows to the right, y upwards; the page is turned so that most of its
text runs from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Font:
    """A font as the file names it."""

    name: str
    bold: bool
    italic: bool
    is_nameless: bool = False
    """Whether its name says nothing: then another font than the body's is an emphasis."""


@dataclass(slots=True)
class Words:
    """The words of a page in content order; all lists have one entry for each word."""

    texts: list[str] = field(default_factory=list)
    """Without white space; a word that a hyphen parts at a line end ends with `flow.HYPHEN`."""
    lefts: list[float] = field(default_factory=list)
    rights: list[float] = field(default_factory=list)
    baselines: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    """Size of the type, > 0."""
    fonts: list[int] = field(default_factory=list)
    """Index into the fonts of the document."""

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.texts)

    def add(self, text: str, *, box: tuple[float, float, float], size: float, font: int) -> None:
        """Append a word.

        Args:
            text: Its characters.
            box: Left, right, baseline.
            size: Size of its type.
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
    """A thin line that is drawn: horizontal where `bottom == top`, else vertical."""

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
    """One page."""

    width: float
    height: float
    words: Words
    rules: list[Rule] = field(default_factory=list)

"""Styles of OpenDocument: which paragraphs are headings, how lists are numbered, what is hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.parsers.office.numerals import Numeral, write_number
from spanwise.parsers.office.odf_names import attribute, count_of

__all__ = ["OUTLINE", "ListLevel", "OdfStyles", "write_label"]

_HEADING = re.compile(r"Heading_20_([1-9])")
_NUMERALS: Mapping[str, Numeral] = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_LEVELS = frozenset(
    {
        "text:list-level-style-number",
        "text:list-level-style-bullet",
        "text:list-level-style-image",
        "text:outline-level-style",
    }
)
_MAX_LABEL_CHARS = 255
OUTLINE = "\x00outline"
"""Stands for the list of the headings, which has no name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLevel:
    """How the items of one level of a list are marked."""

    is_bullet: bool = False
    numeral: Numeral | None = None
    """None where the level shows no number of its own."""
    prefix: str = ""
    suffix: str = ""
    shown_levels: int = 1
    """How many numbers it shows, with those of the levels above."""
    first: int = 1


@dataclass(slots=True)
class _Style:
    parent: str = ""
    outline: int = 0
    is_hidden: bool = False


class OdfStyles:
    """Takes in the styles of a file as they are read, the named ones and the automatic ones."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._current = _Style()
        self._lists: dict[str, dict[int, ListLevel]] = {}
        self._levels: dict[int, ListLevel] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take in the start of an element; those that are no styles change nothing."""
        if name == "style:style":
            self._current = _Style(
                parent=attribute(attributes, "style:parent-style-name"),
                outline=count_of(attributes, "style:default-outline-level", 0),
            )
            self._styles[attribute(attributes, "style:name")] = self._current
        elif name == "style:text-properties":
            self._current.is_hidden |= attribute(attributes, "text:display") == "none"
        elif name == "style:table-properties":
            self._current.is_hidden |= attribute(attributes, "table:display") == "false"
        elif name == "style:drawing-page-properties":
            self._current.is_hidden |= attribute(attributes, "presentation:visibility") == "hidden"
        elif name in {"text:list-style", "text:outline-style"}:
            key = OUTLINE if name == "text:outline-style" else attribute(attributes, "style:name")
            self._levels = self._lists.setdefault(key, {})
        elif name in _LEVELS:
            self._levels[count_of(attributes, "text:level")] = _read_level(name, attributes)

    def is_hidden(self, style: str) -> bool:
        """Return whether text, a sheet or a slide of a style is hidden."""
        return any(found.is_hidden for _, found in self._chain(style))

    def heading_level(self, style: str) -> int | None:
        """Return the level of paragraphs of a style that are headings; else None."""
        for name, found in self._chain(style):
            match = _HEADING.fullmatch(name)
            if match:
                return int(match.group(1))
            if found.outline:
                return found.outline
            if name == "Title":
                return 1
        return None

    def is_caption(self, style: str) -> bool:
        """Return whether paragraphs of a style are captions; "Table" is that of tables."""
        return any(name in {"Caption", "Table"} for name, _ in self._chain(style))

    def list_levels(self, style: str) -> Mapping[int, ListLevel]:
        """Return the levels of a list, from 1; none for a list that is not known."""
        return self._lists.get(style, {})

    def _chain(self, style: str) -> list[tuple[str, _Style]]:
        """Return a style and those it is based on, each once."""
        chain: list[tuple[str, _Style]] = []
        while style in self._styles and all(name != style for name, _ in chain):
            chain.append((style, self._styles[style]))
            style = self._styles[style].parent
        return chain


def _read_level(name: str, attributes: Mapping[str, str]) -> ListLevel:
    is_numbered = name in {"text:list-level-style-number", "text:outline-level-style"}
    return ListLevel(
        is_bullet=not is_numbered,
        numeral=_NUMERALS.get(attribute(attributes, "style:num-format")),
        prefix=attribute(attributes, "style:num-prefix")[:_MAX_LABEL_CHARS],
        suffix=attribute(attributes, "style:num-suffix")[:_MAX_LABEL_CHARS],
        shown_levels=count_of(attributes, "text:display-levels"),
        first=count_of(attributes, "text:start-value"),
    )


def write_label(levels: Mapping[int, ListLevel], depth: int, counters: Mapping[int, int]) -> str:
    """Return what stands before an item of a list; "" where nothing does.

    Args:
        levels: How the list is marked.
        depth: Level of the item, from 1.
        counters: Number of the item, and of those above it, by level.
    """
    level = levels.get(depth)
    if level is None or level.is_bullet:
        return "  " * (depth - 1) + "- "
    if level.numeral is None:
        return ""
    numbers = [
        write_number(counters.get(above, shape.first), shape.numeral)
        for above in range(max(1, depth - level.shown_levels + 1), depth + 1)
        if (shape := levels.get(above)) is not None and shape.numeral is not None
    ]
    label = (level.prefix + ".".join(numbers) + level.suffix).strip()
    return f"{label} " if label else ""

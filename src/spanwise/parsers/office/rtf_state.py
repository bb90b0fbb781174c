"""What holds inside a group of RTF, and what its tables of fonts and styles say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Destination", "State", "Style", "StyleSheet"]

Destination = Literal[
    "body", "skipped", "fonts", "styles", "information", "property", "label", "note", "box"
]
"""Where the text of a group goes."""

_HEADING_NAME = re.compile(r"heading\s*([1-9])")


@dataclass(slots=True)
class State:
    """What a group inherits from the one around it, and may change for itself."""

    destination: Destination = "body"
    property: str = ""
    """Name of the property whose text this is."""
    font: int = -1
    fallback_chars: int = 1
    """Characters after a Unicode one that old programs show instead of it."""
    is_hidden: bool = False
    is_deleted: bool = False
    style: int = 0
    outline: int | None = None
    table_depth: int = 0

    def copy(self) -> State:
        """Return the state of a group inside this one."""
        return State(
            self.destination, self.property, self.font, self.fallback_chars, self.is_hidden,
            self.is_deleted, self.style, self.outline, self.table_depth,
        )  # fmt: skip

    def reset_paragraph(self) -> None:
        """Forget what the paragraph before was like."""
        self.style, self.outline, self.table_depth = 0, None, 0


@dataclass(slots=True)
class Style:
    """A paragraph style under construction."""

    number: int = 0
    name: list[str] = field(default_factory=list)
    outline: int | None = None
    based_on: int | None = None


class StyleSheet:
    """The paragraph styles of a file."""

    def __init__(self) -> None:
        self._styles: dict[int, Style] = {}

    def add(self, style: Style) -> None:
        """Add a style; of several with one number the first counts."""
        self._styles.setdefault(style.number, style)

    def heading_level(self, number: int, outline: int | None) -> int | None:
        """Return the level, from 1, of a paragraph that is a heading; else None.

        Args:
            number: Its style.
            outline: Its own outline level, from 0; 9 is body text; None where it has none.
        """
        seen: set[int] = set()
        style = self._styles.get(number)
        while outline is None and style is not None and style.number not in seen:
            seen.add(style.number)
            outline = style.outline
            name = "".join(style.name).strip().rstrip(";").strip().lower()
            match = _HEADING_NAME.fullmatch(name)
            if outline is None and match:
                outline = int(match.group(1)) - 1
            elif outline is None and name == "title":
                outline = 0
            style = None if style.based_on is None else self._styles.get(style.based_on)
        return outline + 1 if outline is not None and 0 <= outline < 9 else None

"""Automatic numbers of a DOCX ("2.1", "(a)", "-"), which stand nowhere in its text.

Rules
    1. Lists that share a definition (abstract list) share its counters; a list that overrides the
       start of a level sets the counter once, when it is first used.
    2. A paragraph counts its level up and resets the deeper ones, but for those that say otherwise.
    3. A level that was not used yet shows its start value inside a deeper number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.docx_styles import Styles
from spanwise.parsers.office.numerals import Numeral, write_number
from spanwise.parsers.office.ooxml_names import is_on, level_of, short_name, value_of

__all__ = ["Numbering", "read_numbering"]

_PLACE = re.compile(r"%([1-9])")
_MAX_LABEL_CHARS = 255
"""As many as Word takes, place holders for numbers among them."""
_NUMERALS: Mapping[str, Numeral] = {name: name for name in get_args(Numeral) if name != "decimal"}


@dataclass(slots=True)
class _Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    suffix: str = "tab"
    restart: int | None = None
    """Resets after a level above this one (1-based); 0 never; None after any level above."""
    style: str | None = None
    legal: bool = False


@dataclass(slots=True)
class _Definition:
    levels: dict[int, _Level] = field(default_factory=dict)
    style_link: str | None = None
    counters: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _List:
    definition: str = ""
    levels: dict[int, _Level] = field(default_factory=dict)
    """Levels that replace those of the definition."""
    starts: dict[int, int] = field(default_factory=dict)
    """Starts that were not used yet."""


class Numbering:
    """The lists of a file and where their counters stand."""

    def __init__(
        self, definitions: dict[str, _Definition], lists: dict[str, _List], styles: Styles
    ) -> None:
        self._definitions = definitions
        self._lists = lists
        self._styles = styles

    def next_label(self, list_id: str | None, level: int | None, *, style_id: str | None) -> str:
        """Count a paragraph and return what stands before its text; empty where nothing does.

        Args:
            list_id: The list, None or "0" for none.
            level: Level in the list from 0; None where the list's levels name the style.
            style_id: Style of the paragraph.
        """
        found = self._resolve(list_id)
        if found is None:
            return ""
        used, definition = found
        levels = definition.levels | used.levels
        if level is None:
            level = next((n for n, item in sorted(levels.items()) if item.style == style_id), 0)
        shape = levels.get(level)
        if shape is None:
            return ""
        counters = definition.counters
        counters[level] = used.starts.pop(level, counters.get(level, shape.start - 1) + 1)
        for deeper in [n for n in counters if n > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or level < restart:
                del counters[deeper]
        if shape.format == "bullet":
            return "  " * level + "- "
        return _fill(shape, levels=levels, counters=counters)

    def _resolve(self, list_id: str | None) -> tuple[_List, _Definition] | None:
        for _ in range(4):  # a definition may point to a style, whose list has the definition
            used = self._lists.get(list_id or "")
            definition = self._definitions.get(used.definition) if used else None
            if used is None or definition is None:
                return None
            if definition.levels or definition.style_link is None:
                return used, definition
            list_id = self._styles.list_of(definition.style_link)[0]
        return None


def _fill(shape: _Level, *, levels: dict[int, _Level], counters: dict[int, int]) -> str:
    def number(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        item = levels.get(place, _Level())
        return _format(counters.get(place, item.start), "decimal" if shape.legal else item.format)

    label = _PLACE.sub(number, shape.text).strip()
    if not label:
        return ""
    return label if shape.suffix == "nothing" else f"{label} "


def _format(number: int, kind: str) -> str:
    """Return a number as a list writes it; decimal for what is not known here."""
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{number:02}"
    return write_number(number, _NUMERALS.get(kind, "decimal"))


def read_numbering(
    archive: Archive, part: str | None, *, styles: Styles, losses: Losses
) -> Numbering:
    """Return the lists of a part, those before a damage; none where the file has no such part."""
    reader = _Reader()
    if part is not None and part in archive:
        with losses.noted("the numbering of lists"):
            archive.read_xml(part, XmlHandlers(start=reader.start))
    return Numbering(reader.definitions, reader.lists, styles)


class _Reader:
    """Fills definitions and lists from the elements of the part, which come in a fixed order."""

    def __init__(self) -> None:
        self.definitions: dict[str, _Definition] = {}
        self.lists: dict[str, _List] = {}
        self._definition = _Definition()
        self._list = _List()
        self._levels: dict[int, _Level] = {}
        self._number: int | None = None
        """Level that the elements are about; None for one that Word does not know."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in one element."""
        name = short_name(tag)
        value = value_of(attributes) or ""
        if name == "w:abstractNum":
            self._definition = _Definition()
            self.definitions[value_of(attributes, "abstractNumId") or ""] = self._definition
            self._levels = self._definition.levels
        elif name == "w:num":
            self._list = _List()
            self.lists[value_of(attributes, "numId") or ""] = self._list
            self._levels = self._list.levels
        elif name == "w:abstractNumId":
            self._list.definition = value
        elif name == "w:numStyleLink":
            self._definition.style_link = value
        elif name in {"w:lvl", "w:lvlOverride"}:
            self._number = level_of(attributes, "ilvl")
            if name == "w:lvl" and self._number is not None:
                self._levels[self._number] = _Level()
        elif self._number is None:
            return
        elif name == "w:startOverride":
            self._list.starts[self._number] = _integer(value, default=1)
        elif self._number in self._levels:
            _set_field(self._levels[self._number], name, attributes)


def _set_field(level: _Level, name: str, attributes: dict[str, str]) -> None:
    """Take what one child element of a level says into it."""
    value = value_of(attributes) or ""
    if name == "w:start":
        level.start = _integer(value, default=1)
    elif name == "w:numFmt":
        level.format = value
    elif name == "w:lvlText":
        level.text = value[:_MAX_LABEL_CHARS]
    elif name == "w:suff":
        level.suffix = value
    elif name == "w:lvlRestart":
        level.restart = _integer(value, default=0)
    elif name == "w:pStyle":
        level.style = value
    elif name == "w:isLgl":
        level.legal = is_on(attributes)


def _integer(written: str, *, default: int) -> int:
    return int(written) if written.isdecimal() and len(written) < 10 else default

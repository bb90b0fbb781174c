"""Paragraph styles of a DOCX: what makes a paragraph a heading, and its numbering."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.ooxml_names import level_of, short_name, value_of

__all__ = ["Style", "Styles", "read_styles"]

_HEADING_NAME = re.compile(r"heading\s*([1-9])")


@dataclass(slots=True)
class Style:
    """What a style says itself; None where it leaves that to the style it is based on."""

    name: str = ""
    based_on: str | None = None
    outline: int | None = None
    """Outline level from 0; 9 is body text."""
    list_id: str | None = None
    list_level: int | None = None


class Styles:
    """The paragraph styles by their id; ids are localised ("berschrift1"), levels are not."""

    def __init__(self, styles: dict[str, Style], default: str | None) -> None:
        self._styles = styles
        self._default = default

    def heading_level(self, style_id: str | None) -> int | None:
        """Return the level, from 1, of paragraphs of a style that are headings; else None."""
        for style in self._chain(style_id):
            if style.outline is not None:
                return style.outline + 1 if style.outline < 9 else None
            match = _HEADING_NAME.fullmatch(style.name)
            if match:
                return int(match.group(1))
            if style.name == "title":
                return 1
        return None

    def is_caption(self, style_id: str | None) -> bool:
        """Return whether paragraphs of a style are captions of tables and pictures."""
        return any(style.name == "caption" for style in self._chain(style_id))

    def list_of(self, style_id: str | None) -> tuple[str | None, int | None]:
        """Return the list that numbers paragraphs of a style, and the level in it if it is said."""
        list_id: str | None = None
        level: int | None = None
        for style in self._chain(style_id):
            list_id = style.list_id if list_id is None else list_id
            level = style.list_level if level is None else level
        return list_id, level

    def _chain(self, style_id: str | None) -> list[Style]:
        """Return a style and those it is based on, each once."""
        chain: list[Style] = []
        style = self._styles.get(style_id or self._default or "")
        while style is not None and style not in chain:
            chain.append(style)
            style = self._styles.get(style.based_on or "")
        return chain


def read_styles(archive: Archive, part: str | None, losses: Losses) -> Styles:
    """Return the styles of a part, those before a damage; none where the file has no such part."""
    styles: dict[str, Style] = {}
    default: list[str] = []
    current = Style()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal current
        name = short_name(tag)
        value = value_of(attributes)
        if name == "w:style":
            style_id = value_of(attributes, "styleId") or ""
            current = Style()
            styles[style_id] = current
            is_default = value_of(attributes, "default") in {"1", "true", "on"}
            if is_default and value_of(attributes, "type") == "paragraph":
                default.append(style_id)
        elif name == "w:name":
            current.name = (value or "").lower()
        elif name == "w:basedOn":
            current.based_on = value
        elif name == "w:numId":
            current.list_id = value
        elif name == "w:outlineLvl":
            current.outline = level_of(attributes)
        elif name == "w:ilvl":
            current.list_level = level_of(attributes)

    if part is not None and part in archive:
        with losses.noted("the list of styles"):
            archive.read_xml(part, XmlHandlers(start=start))
    return Styles(styles, default[0] if default else None)

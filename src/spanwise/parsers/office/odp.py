"""ODP (and OTP): a page per slide, with its shapes in reading order as in `pptx`."""

from __future__ import annotations

import re

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.office.odf import (
    ObjectReader,
    OdfStyles,
    OdfText,
    attribute,
    read_named_styles,
    refuse_encrypted,
    short_name,
)
from spanwise.parsers.office.slides import EMU_PER_INCH, PlacedText, SlideWriter
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import read_properties

_MEDIA_TYPE = "application/vnd.oasis.opendocument.presentation"
_SHAPES = frozenset(
    {
        f"draw:{name}"
        for name in (
            "frame custom-shape rect ellipse circle line connector polygon polyline path caption "
            "regular-polygon measure"
        ).split()
    }
)
_LEFT_OUT = frozenset({"header", "footer", "date-time", "page-number"})
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(cm|mm|in|pt|pc|px)")
_MOVED = re.compile(r"translate\s*\(\s*(\S+?)[\s,]+(\S+?)\s*\)")
_INCHES = {"cm": 1 / 2.54, "mm": 1 / 25.4, "in": 1.0, "pt": 1 / 72, "pc": 1 / 6, "px": 1 / 96}


def parse_odp(source: Source) -> Parsed:
    """Return the text of an OpenDocument presentation.

    Raises:
        ParseError: "corrupt" if the container or all slides are damaged, "encrypted",
            "too_large" if it has more slides than `max_pages` or its unpacked size exceeds the
            limit, "no_text".
    """
    archive = Archive(source)
    refuse_encrypted(archive, source)
    losses = Losses(source)
    styles = read_named_styles(archive, losses)
    reader = _Reader(
        source, styles, OdfText(styles, losses, on_object=ObjectReader(archive, losses))
    )
    with losses.noted("the slides"):
        try:
            archive.read_xml(
                "content.xml", XmlHandlers(start=reader.start, end=reader.end, text=reader.text)
            )
        finally:
            reader.end_slide()
    writer = reader.slides.writer
    losses.require_text(writer.text, "its slides hold no text; are they pictures?")
    properties = read_properties(archive, "meta.xml", losses)
    return losses.parsed(
        writer, media_type=_MEDIA_TYPE, properties=properties, pages=reader.slides.pages()
    )


class _Reader:
    """Reader of the content; each shape is a separate flow of text."""

    def __init__(self, source: Source, styles: OdfStyles, body: OdfText) -> None:
        self.slides = SlideWriter()
        self._source = source
        self._styles = styles
        self._body = body
        self._count = 0
        self._is_open = False
        self._is_hidden = False
        self._in_notes = False
        self._depth = 0
        """Current depth inside a shape."""
        self._shape: dict[str, str] = {}
        self._title = ""
        self._placed: list[PlacedText] = []
        self._notes: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        if name == "draw:page":
            self._start_slide(attribute(attributes, "draw:style-name"))
        elif name == "presentation:notes":
            self._in_notes = True
            return  # left out of the text of documents
        elif self._depth or (name in _SHAPES and self._is_open):
            self._depth += 1
            if self._depth == 1:
                self._shape = attributes
                self._body.begin_flow()
        self._body.start(tag, attributes)

    def text(self, piece: str) -> None:
        """Handle characters."""
        self._body.text(piece)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = short_name(tag)
        if name == "presentation:notes":
            self._in_notes = False
            return
        self._body.end(tag)
        if self._depth:
            self._depth -= 1
            if not self._depth:
                self._end_shape()
        elif name == "draw:page":
            self.end_slide()

    def _start_slide(self, style: str) -> None:
        self._count += 1
        if self._count > self._source.max_pages:
            raise self._source.error(
                "too_large", f"it has more than {self._source.max_pages} slides; raise max_pages"
            )
        self._is_open = True
        self._is_hidden = self._styles.is_hidden(style)

    def end_slide(self) -> None:
        """Write the current slide, if there is one."""
        if self._is_open:
            self.slides.add(self._title, self._placed, notes=self._notes, is_hidden=self._is_hidden)
        self._is_open = False
        self._title, self._placed, self._notes = "", [], []

    def _end_shape(self) -> None:
        text = self._body.end_flow()
        kind = attribute(self._shape, "presentation:class")
        is_empty = attribute(self._shape, "presentation:placeholder") == "true"
        if is_empty or kind in _LEFT_OUT or not text.text:
            return
        if self._in_notes:
            self._notes += text.text.split("\n") if kind == "notes" else []
        elif kind == "title" and not self._title:
            self._title = " ".join(text.text.split())
        else:
            top, left = _place(self._shape)
            self._placed.append(PlacedText(top, left, text))


def _place(attributes: dict[str, str]) -> tuple[int, int]:
    """Return the upper left corner of a shape in EMU."""
    moved = _MOVED.search(attribute(attributes, "draw:transform")[:500])
    left, top = moved.groups() if moved else ("", "")
    return (
        _length(attribute(attributes, "svg:y") or top),
        _length(attribute(attributes, "svg:x") or left),
    )


def _length(written: str) -> int:
    match = _LENGTH.fullmatch(written)
    return round(float(match.group(1)) * _INCHES[match.group(2)] * EMU_PER_INCH) if match else 0

"""PPTX (and PPSX, POTX): a page a slide, its shapes as a reader's eye goes over them.

Rules
    1. The title placeholder is the heading of its slide; where there is none, the first shape if
       it is one short line, else "Slide 3".
    2. Shapes follow each other in bands from top to bottom, in a band from left to right. What a
       group holds has its place on the slide, a placeholder without a place that of its layout.
    3. Tables and the data of charts are rows; diagrams are lines. Speaker notes follow the slide,
       said to be notes. A hidden slide is read, and said to be hidden.
    4. Comments, dates, footers and slide numbers are left out.
"""

from __future__ import annotations

from spanwise.parsers.archive import Archive, Link, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.drawing_parts import DrawingReader
from spanwise.parsers.office.ooxml_names import relation_of, short_name
from spanwise.parsers.office.pptx_slide import Shape, Slide, read_slide
from spanwise.parsers.office.properties import read_properties
from spanwise.parsers.office.slides import PlacedText, SlideWriter
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.writer import TextWriter

__all__ = ["parse_pptx"]

_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_TITLES = frozenset({"title", "ctrTitle"})
_LEFT_OUT = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})


def parse_pptx(source: Source) -> Parsed:
    """Return the text of a presentation.

    Raises:
        ParseError: "corrupt" where the container, the list of slides or all slides are damaged,
            "too_large" where it has more slides than `max_pages` or would unpack to more than the
            limit, "encrypted", "no_text".
    """
    archive = Archive(source)
    container = archive.relations()
    presentation = container.get("officeDocument", "ppt/presentation.xml")
    parts = _slide_parts(archive, presentation)
    if len(parts) > source.max_pages:
        raise source.error(
            "too_large",
            f"it has {len(parts)} slides, more than {source.max_pages}; raise max_pages",
        )
    losses = Losses(source)
    reader = _Reader(archive, losses)
    for number, part in enumerate(parts, start=1):
        reader.read(part, number)
    writer = reader.slides.writer
    losses.require_text(writer.text, "its slides hold no text; are they pictures?")
    properties = read_properties(archive, container.get("core-properties"), losses)
    return losses.parsed(
        writer, media_type=_MEDIA_TYPE, properties=properties, pages=reader.slides.pages()
    )


def _slide_parts(archive: Archive, presentation: str) -> list[str]:
    """Return the parts of the slides in the order they are shown; "" for one that is not there."""
    parts = {link.id: link.part for link in archive.links(presentation)}
    found: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if short_name(tag) == "p:sldId":
            found.append(parts.get(relation_of(attributes) or "", ""))

    archive.read_xml(presentation, XmlHandlers(start=start))
    return found


class _Reader:
    """Reads the slides of one file."""

    def __init__(self, archive: Archive, losses: Losses) -> None:
        self.slides = SlideWriter()
        self._archive = archive
        self._losses = losses
        self._layouts: dict[str, list[Shape]] = {}

    def read(self, part: str, number: int) -> None:
        """Read a slide and write it, as far as it can be read."""
        slide, notes = Slide(), Slide()
        links: list[Link] = []
        with self._losses.noted(f"slide {number}"):
            read_slide(self._archive, part, slide)
        with self._losses.noted(f"the list of parts of slide {number}"):
            links = self._archive.links(part)
        title, placed = self._read_shapes(slide, links)
        page = next((link.part for link in links if link.kind == "notesSlide"), None)
        if page is not None:
            with self._losses.noted(f"the notes of slide {number}"):
                read_slide(self._archive, page, notes)
        lines = [
            line for shape in notes.shapes if shape.placeholder == "body" for line in shape.lines
        ]
        self.slides.add(title, placed, notes=lines, is_hidden=slide.is_hidden)

    def _read_shapes(self, slide: Slide, links: list[Link]) -> tuple[str, list[PlacedText]]:
        """Return the title of a slide and the texts of its other shapes."""
        layout = next((link.part for link in links if link.kind == "slideLayout"), None)
        parts = {link.id: link.part for link in links}
        drawings = DrawingReader(self._archive, parts, self._losses)
        titles: list[str] = []
        placed: list[PlacedText] = []
        for shape in slide.shapes:
            if shape.is_hidden or shape.placeholder in _LEFT_OUT:
                continue
            if shape.placeholder in _TITLES and not titles and shape.lines:
                titles.append(" ".join(" ".join(shape.lines).split()))
                continue
            if layout is not None and shape.placeholder is not None and not shape.is_placed:
                self._place_as_layout(shape, layout)
            placed.append(PlacedText(shape.top, shape.left, _shape_text(shape, drawings)))
        return "".join(titles), placed

    def _place_as_layout(self, shape: Shape, layout: str) -> None:
        """Give a placeholder the place that its layout, or the master of that, has for it."""
        candidates = self._layout_shapes(layout)
        found = next(
            (one for one in candidates if one.is_placed and one.index == shape.index), None
        ) or next(
            (one for one in candidates if one.is_placed and one.placeholder == shape.placeholder),
            None,
        )
        if found is not None:
            shape.top, shape.left = found.top, found.left

    def _layout_shapes(self, layout: str) -> list[Shape]:
        """Return the placeholders of a layout, then those of its master."""
        if layout not in self._layouts:
            slide = Slide()
            with self._losses.noted(f"the layout {layout}"):
                read_slide(self._archive, layout, slide)
                master = self._archive.relations(layout).get("slideMaster")
                if master is not None:
                    read_slide(self._archive, master, slide)
            self._layouts[layout] = [
                shape for shape in slide.shapes if shape.placeholder is not None
            ]
        return self._layouts[layout]


def _shape_text(shape: Shape, drawings: DrawingReader) -> TextWriter:
    writer = TextWriter()
    writer.write("\n".join(shape.lines))
    writer.write_block("\n".join(shape.rows), kind="table")
    for name, attributes in shape.drawings:
        writer.append(drawings.read(name, attributes))
    return writer

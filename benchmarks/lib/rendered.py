"""PDFs with known headings, tables and reading order: Markdown, rendered in four styles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["RUNNING", "STYLES", "Rendered", "read_markdown", "read_reference", "render"]

STYLES = ("larger fonts", "header and footer", "same size", "two columns")
_HEADER, _FOOTER = "Spanwise, a working paper", "Draft of the season"


@dataclass(slots=True)
class Rendered:
    """Content of a rendered file, in reading order."""

    name: str
    items: list[tuple[str, Any]] = field(default_factory=list)
    """("heading", (level, text)), ("text", text), ("rows", list of rows)."""

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and title of each heading."""
        return [value for kind, value in self.items if kind == "heading"]

    @property
    def rows(self) -> list[list[str]]:
        """Rows of all tables."""
        return [row for kind, value in self.items if kind == "rows" for row in value]

    @property
    def paragraphs(self) -> list[str]:
        """Texts between headings and tables."""
        return [value for kind, value in self.items if kind == "text"]

    @property
    def text(self) -> str:
        """Whole text in reading order."""
        parts = []
        for kind, value in self.items:
            if kind == "heading":
                parts.append(value[1])
            elif kind == "text":
                parts.append(value)
            else:
                parts += [" ".join(row) for row in value]
        return "\n".join(parts)


def read_markdown(paths: Sequence[Path]) -> list[Rendered]:
    """Return the content of Markdown files; code and raw HTML are left out."""
    parser = MarkdownIt("commonmark").enable("table")
    sources = []
    for path in paths:
        source = Rendered(path.stem)
        tokens = parser.parse(path.read_text(encoding="utf-8"))
        source.items += _items(tokens)
        sources.append(source)
    return sources


_UNDERLINE = re.compile(r"(?m)^(?P<title>\S.*)\n(?P<rule>\*{3,}|={3,}|-{3,}|~{3,})$")
_MARKUP = re.compile(r"[*`\"]")


def read_reference(*, files: int = 6) -> list[Rendered]:
    """Return topics with headings from the Python language reference, divided into files."""
    from pydoc_data.topics import topics

    sources = [Rendered(f"reference{number}") for number in range(files)]
    held = [text for _, text in sorted(topics.items()) if len(_UNDERLINE.findall(text)) >= 2]
    for number, text in enumerate(held):
        sources[number % files].items += _reference_items(text)
    return sources


def _reference_items(text: str) -> Iterator[tuple[str, Any]]:
    for block in re.split(r"\n\s*\n", text):
        match = _UNDERLINE.match(block)
        if match:
            level = "*=-~".index(match["rule"][0]) + 1
            yield "heading", (level, _ascii(match["title"]))
        elif block[:1].isalpha():
            yield "text", _ascii(block)


def _ascii(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).encode("ascii", "replace").decode().split())


def _items(tokens: Sequence[Token]) -> Iterator[tuple[str, Any]]:
    rows: list[list[str]] = []
    heading = 0
    in_table = False
    for token in tokens:
        if token.type == "heading_open":
            heading = int(token.tag[1])
        elif token.type == "table_open":
            rows, in_table = [], True
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            in_table = False
            yield "rows", rows
        elif token.type == "inline":
            text = _plain(token)
            if in_table:
                rows[-1].append(text)
            elif heading:
                yield "heading", (heading, text)
                heading = 0
            elif text:
                yield "text", text


def _plain(token: Token) -> str:
    parts = []
    for child in token.children or ():
        if child.type in {"text", "code_inline"}:
            parts.append(child.content)
        elif child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
    text = " ".join("".join(parts).split())
    return re.sub("[^\x20-\x7e\xa0-\xff–—‘’“”•…]", "?", text)


def render(source: Rendered, path: Path, *, style: str) -> None:
    """Write a PDF of a source in one style, without tags and outline."""
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate

    width, height = A4
    margin, gap = 60.0, 18.0
    if style == "two columns":
        column = (width - 2 * margin - gap) / 2
        frames = [
            Frame(margin + at * (column + gap), margin, column, height - 2 * margin, 0, 0, 0, 0)
            for at in range(2)
        ]
    else:
        column = width - 2 * margin
        frames = [Frame(margin, margin, column, height - 2 * margin, 0, 0, 0, 0)]
    decorate = _decorator(style)
    template = PageTemplate(frames=frames, onPage=decorate)
    document = BaseDocTemplate(str(path), pagesize=A4, pageTemplates=[template], invariant=1)
    document.build(list(_flowables(source, style, column)))


def _decorator(style: str) -> Callable[[Any, Any], None]:
    def decorate(canvas: Any, document: Any) -> None:
        if style == "header and footer":
            canvas.setFont("Helvetica", 8)
            canvas.drawString(60, 805, _HEADER)
            canvas.drawRightString(535, 805, "Chapter of the year")
            canvas.drawString(60, 30, _FOOTER)
            canvas.drawCentredString(300, 30, f"Page {document.page}")

    return decorate


RUNNING = (_HEADER, _FOOTER, "Chapter of the year")


def _flowables(source: Rendered, style: str, width: float) -> Iterator[Any]:
    from reportlab.lib import colors
    from reportlab.lib.enums import TA_JUSTIFY
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Spacer, Table, TableStyle

    size = 9.0 if style == "two columns" else 10.0
    body = ParagraphStyle("body", fontName="Times-Roman", fontSize=size, leading=1.25 * size)
    body.spaceAfter = 0.6 * size
    if style == "two columns":
        body.alignment = TA_JUSTIFY
    cell = ParagraphStyle("cell", parent=body, fontSize=size - 1, leading=1.2 * (size - 1))
    cell.spaceAfter = 0
    for kind, value in source.items:
        if kind == "heading":
            level, text = value
            yield Paragraph(
                _escaped(text.upper() if style == "same size" and level == 1 else text),
                _heading_style(level, size, same=style == "same size"),
            )
        elif kind == "text":
            yield Paragraph(_escaped(value), body)
        else:
            columns = max(map(len, value))
            table = Table(
                [[Paragraph(_escaped(text), cell) for text in row] for row in value],
                colWidths=[width / columns] * columns,
            )
            table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
            yield table
            yield Spacer(1, size)


def _heading_style(level: int, size: float, *, same: bool) -> Any:
    from reportlab.lib.styles import ParagraphStyle

    if same:
        font = {1: "Times-Bold", 2: "Times-Bold"}.get(level, "Times-Italic")
        points = size
    else:
        font, points = "Helvetica-Bold", {1: 1.8, 2: 1.4, 3: 1.15}.get(level, 1.05) * size
    return ParagraphStyle(
        f"heading{level}",
        fontName=font,
        fontSize=points,
        leading=1.2 * points,
        spaceBefore=1.2 * size,
        spaceAfter=0.5 * size,
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

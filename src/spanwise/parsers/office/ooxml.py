"""Office Open XML: short names of elements, and charts and diagrams, which are separate parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.parsers.office.number_formats import NumberFormat, plain_number
from spanwise.parsers.office_zip import Archive, short_names
from spanwise.parsers.parsed import Losses
from spanwise.parsers.writer import TextWriter, table_line

_LANGUAGES = {
    "wp": "drawingml/{}wordprocessingDrawing",
    "w": "wordprocessingml/{}main",
    "s": "spreadsheetml/{}main",
    "p": "presentationml/{}main",
    "a": "drawingml/{}main",
    "c": "drawingml/{}chart",
    "d": "drawingml/{}diagram",
    "m": "officeDocument/{}math",
}
_PREFIXES = {
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    **{
        root + path.format(year): f"{prefix}:"
        for prefix, path in _LANGUAGES.items()
        for root, year in (
            ("http://schemas.openxmlformats.org/", "2006/"),
            ("http://purl.oclc.org/ooxml/", ""),
        )
    },
}
_RELATIONS = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "http://purl.oclc.org/ooxml/officeDocument/relationships",
)


short_name = short_names(_PREFIXES)
"""Return a name with its usual prefix, such as "w:p"; "" for an irrelevant name."""


def value_of(attributes: Mapping[str, str], local_name: str = "val") -> str | None:
    """Return an attribute by its local name in any namespace; None if it is absent."""
    for name, value in attributes.items():
        if name.rpartition(" ")[2] == local_name:
            return value
    return None


def level_of(attributes: Mapping[str, str], local_name: str = "val") -> int | None:
    """Return a level from 0 to 9; None if the attribute is invalid."""
    written = value_of(attributes, local_name) or ""
    return int(written) if written.isdecimal() and len(written) == 1 else None


def number_of(attributes: Mapping[str, str], local_name: str, *, default: int = 0) -> int:
    """Return an integer attribute; the default if it is missing or invalid."""
    written = attributes.get(local_name, "")
    digits = written.removeprefix("-")
    return int(written) if digits.isdecimal() and len(digits) < 16 else default


def relation_of(attributes: Mapping[str, str], local_name: str = "id") -> str | None:
    """Return the id of the relation (`r:id`) of an element; None if it has none."""
    for namespace in _RELATIONS:
        found = attributes.get(f"{namespace} {local_name}")
        if found is not None:
            return found
    return None


def is_on(attributes: Mapping[str, str]) -> bool:
    """Return whether a switch such as `<w:vanish/>` is on."""
    return value_of(attributes) not in {"0", "false", "off"}


_NO_TEXT = frozenset({"pres", "parTrans", "sibTrans", "doc"})
"""Kinds of points of a diagram that only define its layout."""
_VALUES = {"c:tx": "name", "c:cat": "labels", "c:xVal": "labels", "c:val": "values",
           "c:yVal": "values", "c:bubbleSize": "sizes"}  # fmt: skip


@dataclass(slots=True)
class _Points:
    """Name, categories or values of one series of a chart, with their number format."""

    texts: dict[int, str] = field(default_factory=dict)
    code: str = ""

    def shown(self) -> dict[int, str]:
        """Return the formatted points."""
        if not self.code or self.code == "General":
            return {place: _plain(text) for place, text in self.texts.items()}
        shape = NumberFormat(self.code)
        return {place: _plain(text, shape) for place, text in self.texts.items()}


def _plain(text: str, shape: NumberFormat | None = None) -> str:
    try:
        value = float(text)
        return shape.write(value) if shape else plain_number(value)
    except (ValueError, OverflowError):
        return " ".join(text.split())


class DrawingReader:
    """Reader of the charts and diagrams of a part.

    Args:
        archive: The open file.
        parts: Parts that the part refers to, by relation.
        losses: Receives the losses.
    """

    def __init__(self, archive: Archive, parts: Mapping[str, str], losses: Losses) -> None:
        self._archive = archive
        self._parts = parts
        self._losses = losses

    def part(self, name: str, attributes: Mapping[str, str]) -> str | None:
        """Return the part that an element refers to; None if it is not in the file."""
        return self._parts.get(relation_of(attributes, "dm" if name == "d:relIds" else "id") or "")

    def read(self, name: str, attributes: Mapping[str, str]) -> TextWriter:
        """Return the text of a drawing; empty if it is not in the file.

        Args:
            name: Name of the element that refers to it: "c:chart" or "d:relIds". The newer charts
                ("cx:chart") are not read.
            attributes: Attributes of the element.
        """
        is_chart = name == "c:chart"
        part = self.part(name, attributes)
        if part is not None and name != "cx:chart":
            with self._losses.noted(f"the {'chart' if is_chart else 'diagram'} {part}"):
                return (_read_chart if is_chart else _read_diagram)(self._archive, part)
        return TextWriter()


def _read_chart(archive: Archive, part: str) -> TextWriter:
    """Return the titles and the data of a chart, a line per category."""
    reader = _ChartReader()
    archive.read_xml(part, reader.start, reader.end, reader.text)
    writer = TextWriter()
    for title in reader.titles:
        writer.write(title)
        writer.separate(1)
    lines = reader.lines()
    if lines:
        writer.write_block("\n".join(lines), kind="table")
    return writer


class _ChartReader:
    """Collector of the titles and series of one chart."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self._title: list[str] | None = None
        self._series: list[dict[str, _Points]] = []
        self._points: _Points | None = None
        self._place = 0
        self._taken: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        if name == "c:title":
            self._title = []
        elif name == "c:ser":
            self._series.append({})
        elif name in _VALUES and self._series:
            self._points = self._series[-1].setdefault(_VALUES[name], _Points())
            self._place = 0
        elif name == "c:pt":
            self._place = number_of(attributes, "idx")
        elif name in {"c:v", "a:t", "c:formatCode"}:
            self._taken = []

    def text(self, piece: str) -> None:
        """Handle characters."""
        if self._taken is not None:
            self._taken.append(piece)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = short_name(tag)
        if name in {"c:v", "a:t", "c:formatCode"}:
            self._take(name, "".join(self._taken or ()))
            self._taken = None
        elif name == "a:p" and self._title is not None:
            self._title.append(" ")
        elif name == "c:title" and self._title is not None:
            title = " ".join("".join(self._title).split())
            self.titles += [title] if title else []
            self._title = None
        elif name in _VALUES:
            self._points = None

    def _take(self, name: str, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
        elif self._points is not None and name == "c:formatCode":
            self._points.code = text
        elif self._points is not None:
            self._points.texts.setdefault(self._place, text)

    def lines(self) -> list[str]:
        """Return a line with the names of the series, and one per category."""
        series = [{kind: points.shown() for kind, points in item.items()} for item in self._series]
        labels: dict[int, str] = {}
        for item in series:
            labels = item.get("labels", {}) | labels
        places = sorted(
            {place for item in series for place in item.get("values", {})} | set(labels)
        )
        rows = [["", *(" ".join(item.get("name", {}).values()) for item in series)]]
        for place in places:
            values = [item.get("values", {}).get(place, "") for item in series]
            rows.append([labels.get(place, ""), *values])
        return [line for line in map(table_line, rows) if line]


def _read_diagram(archive: Archive, part: str) -> TextWriter:
    """Return the texts of a diagram (SmartArt) in order."""
    texts: list[str] = []
    pieces: list[str] = []
    is_shown = False
    taking = False

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal is_shown, taking
        name = short_name(tag)
        if name == "d:pt":
            is_shown = attributes.get("type", "node") not in _NO_TEXT
        elif name == "a:t":
            taking = is_shown

    def end(tag: str) -> None:
        nonlocal taking
        name = short_name(tag)
        if name == "a:t":
            taking = False
        elif name == "a:p":
            text = " ".join("".join(pieces).split())
            texts.extend([text] if text else [])
            pieces.clear()

    def text(piece: str) -> None:
        if taking:
            pieces.append(piece)

    archive.read_xml(part, start, end, text)
    writer = TextWriter()
    writer.write("\n".join(texts))
    return writer

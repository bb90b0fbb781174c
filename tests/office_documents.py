"""Small writers of PPTX, XLSX, XLSB, XLS, OpenDocument and EPUB files for tests."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import date

from tests.documents import build_zip

__all__ = [
    "Slide",
    "box",
    "build_epub",
    "build_odf",
    "build_pptx",
    "build_xls",
    "build_xlsb",
    "build_xlsx",
    "cell",
    "sheet",
]

_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_A = "http://schemas.openxmlformats.org/drawingml/2006"
_SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_NAMESPACES = (
    f'xmlns:r="{_OFFICE}" xmlns:a="{_A}/main" xmlns:c="{_A}/chart" xmlns:dgm="{_A}/diagram" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
CONTENT_TYPES = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'


def relations(links: Mapping[str, tuple[str, str]]) -> bytes:
    """Return the part with the relations of another: kind and target by id."""
    items = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in links.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}">{items}</Relationships>'.encode()


def core_properties(core: str) -> bytes:
    """Return the part with the properties of an Office file."""
    return (
        '<p xmlns:dc="http://purl.org/dc/elements/1.1/" '
        f'xmlns:dcterms="http://purl.org/dc/terms/">{core}</p>'
    ).encode()


class Slide:
    """A slide of shapes (see `box`); `parts` are charts and the like, by relation id."""

    def __init__(
        self,
        *shapes: str,
        notes: str = "",
        hidden: bool = False,
        parts: Mapping[str, str] | None = None,
        layout: str = "",
    ) -> None:
        self.shapes = "".join(shapes)
        self.notes = notes
        self.hidden = hidden
        self.parts = parts or {}
        self.layout = layout


def box(
    *paragraphs: str,
    top: int | None = None,
    left: int = 0,
    placeholder: str = "",
    index: int = 0,
    hidden: bool = False,
) -> str:
    """Return a shape with text; a paragraph that begins with "<" is taken as it is."""
    place = "" if top is None else f'<a:xfrm><a:off x="{left}" y="{top}"/></a:xfrm>'
    kind = f'<p:ph type="{placeholder}" idx="{index}"/>' if placeholder else ""
    body = "".join(
        text if text.startswith("<") else f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
        for text in paragraphs
    )
    mark = ' hidden="1"' if hidden else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"{mark}/><p:nvPr>{kind}</p:nvPr></p:nvSpPr>'
        f"<p:spPr>{place}</p:spPr><p:txBody>{body}</p:txBody></p:sp>"
    )


def build_pptx(slides: Sequence[Slide], *, core: str = "") -> bytes:
    """Return a presentation."""
    files = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": relations(
            {
                "d": ("officeDocument", "ppt/presentation.xml"),
                "c": ("metadata/core-properties", "docProps/core.xml"),
            }
        ),
        "docProps/core.xml": core_properties(core),
    }
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n, _ in enumerate(slides))
    files["ppt/presentation.xml"] = (
        f"<p:presentation {_NAMESPACES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>".encode()
    )
    files["ppt/_rels/presentation.xml.rels"] = relations(
        {f"r{n}": ("slide", f"slides/slide{n}.xml") for n, _ in enumerate(slides)}
    )
    for number, slide in enumerate(slides):
        links: dict[str, tuple[str, str]] = {}
        name = f"ppt/slides/slide{number}.xml"
        show = ' show="0"' if slide.hidden else ""
        files[name] = _tree("p:sld", slide.shapes, show)
        for extra, shapes in (("notesSlide", slide.notes), ("slideLayout", slide.layout)):
            if shapes:
                links[extra] = (extra, f"{extra}{number}.xml")
                files[f"ppt/slides/{extra}{number}.xml"] = _tree("p:sld", shapes)
        for relation, part in slide.parts.items():
            links[relation] = ("part", f"{relation}{number}.xml")
            files[f"ppt/slides/{relation}{number}.xml"] = part.replace(
                ">", f" {_NAMESPACES}>", 1
            ).encode()
        files[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(links)
    return build_zip(files)


def _tree(tag: str, shapes: str, attributes: str = "") -> bytes:
    return (
        f"<{tag} {_NAMESPACES}{attributes}><p:cSld><p:spTree><p:grpSpPr/>{shapes}"
        f"</p:spTree></p:cSld></{tag}>"
    ).encode()


def cell(reference: str, value: object, *, kind: str = "", style: int = 0, inner: str = "") -> str:
    """Return a cell of a sheet: a number, or a text that stands in the cell."""
    if not kind:
        kind = "inlineStr" if isinstance(value, str) else "n"
    body = f"<is><t>{value}</t></is>" if kind == "inlineStr" else f"<v>{value}</v>"
    return f'<c r="{reference}" t="{kind}" s="{style}">{inner}{body if value != "" else ""}</c>'


def sheet(*rows: Sequence[object]) -> str:
    """Return the rows of a sheet from the upper left corner; None is an empty cell."""
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = [
            cell(f"{chr(65 + column)}{number}", value)
            for column, value in enumerate(row)
            if value is not None
        ]
        lines.append(f'<row r="{number}">{"".join(cells)}</row>' if cells else "")
    return "".join(lines)


def build_xlsx(
    sheets: Mapping[str, str],
    *,
    hidden: Sequence[str] = (),
    formats: Sequence[str] = (),
    strings: Sequence[str] = (),
    core: str = "",
    from_1904: bool = False,
) -> bytes:
    """Return a workbook.

    Args:
        sheets: Rows in XML by name of the sheet.
        hidden: Names of hidden sheets.
        formats: Codes of the number formats of style 1 and so on.
        strings: Shared strings, each the XML inside `<si>`.
        core: Properties.
        from_1904: Whether days are counted from 1904.
    """
    links = {f"r{n}": ("worksheet", f"sheets/s{n}.xml") for n, _ in enumerate(sheets)}
    links |= {"st": ("styles", "styles.xml"), "ss": ("sharedStrings", "shared.xml")}
    entries = "".join(
        f'<sheet name="{name}" r:id="r{n}"{" state=" + repr("hidden") if name in hidden else ""}/>'
        for n, name in enumerate(sheets)
    )
    codes = "".join(
        f'<numFmt numFmtId="{164 + n}" formatCode="{code.replace(chr(34), "&quot;")}"/>'
        for n, code in enumerate(formats)
    )
    styles = "".join(f'<xf numFmtId="{164 + n}"/>' for n, _ in enumerate(formats))
    space = f'xmlns="{_SPREADSHEET}" xmlns:r="{_OFFICE}"'
    files = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": relations(
            {
                "d": ("officeDocument", "xl/workbook.xml"),
                "c": ("metadata/core-properties", "docProps/core.xml"),
            }
        ),
        "docProps/core.xml": core_properties(core),
        "xl/workbook.xml": (
            f'<workbook {space}><workbookPr date1904="{int(from_1904)}"/>'
            f"<sheets>{entries}</sheets></workbook>"
        ).encode(),
        "xl/_rels/workbook.xml.rels": relations(links),
        "xl/styles.xml": (
            f"<styleSheet {space}><numFmts>{codes}</numFmts>"
            f'<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>'
            f'<cellXfs><xf numFmtId="0"/>{styles}</cellXfs></styleSheet>'
        ).encode(),
        "xl/shared.xml": (
            f"<sst {space}>{''.join(f'<si>{text}</si>' for text in strings)}</sst>"
        ).encode(),
    }
    for number, rows in enumerate(sheets.values()):
        files[f"xl/sheets/s{number}.xml"] = (
            f"<worksheet {space}><sheetData>{rows}</sheetData></worksheet>"
        ).encode()
    return build_zip(files)


def build_xlsb(cells: Sequence[tuple[int, int, float]]) -> bytes:
    """Return a binary workbook of one sheet with numbers at these rows and columns."""

    def record(kind: int, data: bytes = b"") -> bytes:
        number = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
        return number + bytes([len(data)]) + data

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    rows = sorted({row for row, _, _ in cells})
    columns = [column for _, column, _ in cells]
    body = record(129) + record(
        148, struct.pack("<4I", rows[0], rows[-1], min(columns), max(columns))
    )
    body += record(145)
    for row in rows:
        body += record(0, struct.pack("<I", row) + bytes(21))
        for at, column, value in cells:
            if at == row:
                body += record(5, struct.pack("<IId", column, 0, value))
    body += record(146) + record(130)
    book = record(131) + record(143)
    book += record(156, struct.pack("<II", 0, 1) + text("rId1") + text("Numbers"))
    book += record(144) + record(132)
    return build_zip(
        {
            "[Content_Types].xml": CONTENT_TYPES,
            "_rels/.rels": relations({"d": ("officeDocument", "xl/workbook.bin")}),
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": relations(
                {"rId1": ("worksheet", "worksheets/sheet1.bin")}
            ),
            "xl/worksheets/sheet1.bin": body,
        }
    )


def build_xls(
    rows: Sequence[Sequence[str | float | date]], *, name: str = "Old", locked: bool = False
) -> bytes:
    """Return a workbook as Excel 97 wrote it: BIFF8 in an OLE container.

    Args:
        rows: Texts, numbers, days and truth values.
        name: Of its sheet.
        locked: Whether it says that it is encrypted.
    """

    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    start = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    start += record(0x2F, struct.pack("<HHH", 1, 1, 1)) if locked else b""
    for shape in (0, 14):  # a number as it is, a day
        start += record(0xE0, struct.pack("<HH16x", 0, shape))
    title = struct.pack("<BB", len(name), 0) + name.encode("latin-1")
    length = len(start) + 4 + 6 + len(title) + 4
    book = start + record(0x85, struct.pack("<IH", length, 0) + title) + record(0x0A, b"")
    book += record(0x809, struct.pack("<HHHHII", 0x600, 16, 0, 0, 0, 0))
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            head = struct.pack("<HHH", row, column, 0)
            if isinstance(value, str):
                data = struct.pack("<HB", len(value), 0) + value.encode("latin-1")
                book += record(0x204, head + data)
            elif isinstance(value, bool):
                book += record(0x205, head + bytes([value, 0]))
            elif isinstance(value, date):
                days = (value - date(1899, 12, 30)).days
                book += record(0x203, struct.pack("<HHHd", row, column, 1, days))
            else:
                book += record(0x203, head + struct.pack("<d", value))
    return _ole("Workbook", book + record(0x0A, b""))


def _ole(name: str, data: bytes) -> bytes:
    """Return an OLE container with one stream."""
    data = data.ljust(max(4096, -(-len(data) // 512) * 512), b"\0")
    sectors = len(data) // 512
    table = [*range(1, sectors), -2, -2, -3]  # the stream, the folder, the table itself
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIiIiI", 0, 1, sectors, 0, 4096, -2, 0, -2, 0)
    header += struct.pack("<109i", sectors + 1, *[-1] * 108)

    def entry(title: str, kind: int, child: int, first: int, size: int) -> bytes:
        text = title.encode("utf-16-le") + b"\0\0"
        return (
            text.ljust(64, b"\0")
            + struct.pack("<HBBiii", len(text), kind, 1, -1, -1, child)
            + bytes(36)
            + struct.pack("<iQ", first, size)
        )

    folder = entry("Root Entry", 5, 1, -2, 0) + entry(name, 2, -1, 0, len(data))
    fat = struct.pack(f"<{len(table)}i", *table).ljust(512, b"\xff")
    return header + data + folder.ljust(512, b"\0") + fat


_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_ODF_NAMESPACES = (
    "".join(
        f'xmlns:{name}="{_ODF}:{name}:1.0" '
        for name in ("office", "text", "table", "style", "presentation", "meta", "manifest")
    )
    + f'xmlns:draw="{_ODF}:drawing:1.0" xmlns:svg="{_ODF}:svg-compatible:1.0" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def build_odf(
    kind: str,
    body: str,
    *,
    automatic: str = "",
    styles: str = "",
    meta: str = "",
    manifest: str = "",
    objects: Mapping[str, str] | None = None,
) -> bytes:
    """Return an OpenDocument file.

    Args:
        kind: "text", "spreadsheet" or "presentation".
        body: Inside its body.
        automatic: Automatic styles.
        styles: Named styles.
        meta: Properties.
        manifest: Entries of the manifest.
        objects: Content of embedded objects by their folder.
    """
    files = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": (
            f"<office:document-content {_ODF_NAMESPACES}><office:automatic-styles>{automatic}"
            f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>"
        ).encode(),
    }
    for name, content in (("styles", styles), ("meta", meta), ("META-INF/manifest", manifest)):
        if content:
            files[f"{name}.xml"] = f"<office:x {_ODF_NAMESPACES}>{content}</office:x>".encode()
    for folder, content in (objects or {}).items():
        files[f"{folder}/content.xml"] = (
            f"<office:x {_ODF_NAMESPACES}>{content}</office:x>".encode()
        )
    return build_zip(files)


def build_epub(
    chapters: Mapping[str, str],
    *,
    contents: str = "",
    ncx: str = "",
    metadata: str = "",
    encryption: str = "",
) -> bytes:
    """Return a book.

    Args:
        chapters: Body of each chapter by file name, in reading order.
        contents: Inside of the navigation page.
        ncx: Inside of the older table of contents.
        metadata: Elements of Dublin Core.
        encryption: Inside of the list of encrypted parts.
    """
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(chapters)
    )
    items += '<item id="nav" href="nav.xhtml" properties="nav"/>' if contents else ""
    items += '<item id="ncx" href="toc.ncx"/>' if ncx else ""
    spine = "".join(f'<itemref idref="c{n}"/>' for n, _ in enumerate(chapters))
    files = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": (
            b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            b'<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
        ),
        "OEBPS/book.opf": (
            '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata>{metadata}</metadata><manifest>{items}</manifest>"
            f'<spine toc="ncx">{spine}</spine></package>'
        ).encode(),
    }
    if contents:
        files["OEBPS/nav.xhtml"] = (
            '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
            f"<body>{contents}</body></html>"
        ).encode()
    if ncx:
        files["OEBPS/toc.ncx"] = (
            '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z.dtd">'
            f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{ncx}</navMap></ncx>'
        ).encode()
    if encryption:
        files["META-INF/encryption.xml"] = f"<encryption>{encryption}</encryption>".encode()
    for name, body in chapters.items():
        files[f"OEBPS/{name}"] = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
            'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title></head>'
            f"<body>{body}</body></html>"
        ).encode()
    return build_zip(files)

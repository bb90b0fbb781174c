"""Small writers of PDF and DOCX files, so that tests make what they read."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "Bookmark",
    "bomb_pdf",
    "build_docx",
    "build_pdf",
    "build_zip",
    "compressed_pdf",
    "looping_pdf",
    "many_pages_pdf",
    "paragraph",
    "picture_pdf",
]

_PAD = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_FILE_ID = bytes(range(16))
_PERMISSIONS = -44


@dataclass(frozen=True)
class Bookmark:
    """An entry of a PDF outline; its children follow it, one level deeper."""

    title: str
    page: int
    children: tuple[Bookmark, ...] = ()


def build_pdf(
    pages: Sequence[str],
    *,
    properties: dict[str, str] | None = None,
    outline: Sequence[Bookmark] = (),
    labels: str = "",
    user_password: str | None = None,
    to_unicode: str = "",
    picture_pages: Sequence[int] = (),
) -> bytes:
    """Return a PDF of these pages, a line of text a line.

    Args:
        pages: Text of each page, Latin-1.
        properties: Title, Author and the like.
        outline: Bookmarks.
        labels: Body of the catalog's page label tree.
        user_password: Encrypts the file (RC4, 128 bits) with this password, "" included.
        to_unicode: What the letter "A" stands for, where it is not itself.
        picture_pages: Indices of pages that show a picture.
    """
    writer = _PdfWriter(user_password)
    catalog, tree, font, info = (writer.reserve() for _ in range(4))
    mapping = writer.stream(_to_unicode(to_unicode)) if to_unicode else None
    picture = writer.stream(
        b"\x00\xff",
        "/Type /XObject /Subtype /Image /Width 2 /Height 1 /BitsPerComponent 8 "
        "/ColorSpace /DeviceGray",
    )
    kids = []
    for number, text in enumerate(pages):
        content = _page_content(text, picture=number in picture_pages)
        body = writer.stream(content)
        kids.append(
            writer.add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> /XObject << /I {picture} 0 R >> >> >>"
            )
        )
    unicode = f" /ToUnicode {mapping} 0 R" if mapping else ""
    writer.put(
        font,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica "
        f"/Encoding /WinAnsiEncoding{unicode} >>",
    )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    writer.put(tree, f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>")
    fields = " ".join(
        f"/{name} {writer.string(value, info)}" for name, value in (properties or {}).items()
    )
    writer.put(info, f"<< {fields} >>")
    root = writer.outline(outline, kids) if outline else None
    extra = (f" /Outlines {root} 0 R" if root else "") + (
        f" /PageLabels {labels}" if labels else ""
    )
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R{extra} >>")
    return writer.finish(catalog, info)


def looping_pdf(pages: Sequence[str] = ("",)) -> bytes:
    """Return a PDF whose pages without text show a form XObject that paints itself.

    pdfium never returns from them.
    """
    writer = _PdfWriter(None)
    catalog, tree, form, font, info = (writer.reserve() for _ in range(5))
    writer.stream(
        b"/X Do /X Do",
        "/Type /XObject /Subtype /Form /BBox [0 0 100 100] "
        f"/Resources << /XObject << /X {form} 0 R >> >>",
        number=form,
    )
    writer.put(font, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for text in pages:
        body = writer.stream(_page_content(text, picture=False) if text else b"/X Do")
        kids.append(
            writer.add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> /XObject << /X {form} 0 R >> >> >>"
            )
        )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    writer.put(tree, f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>")
    writer.put(info, "<< >>")
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(catalog, info)


def many_pages_pdf(count: int) -> bytes:
    """Return a PDF with so many pages that share their content."""
    writer = _PdfWriter(None)
    catalog, tree, info = (writer.reserve() for _ in range(3))
    body = writer.stream(b"BT ET")
    page = f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R >>"
    kids = " ".join(f"{writer.add(page)} 0 R" for _ in range(count))
    writer.put(tree, f"<< /Type /Pages /Kids [{kids}] /Count {count} >>")
    writer.put(info, "<< >>")
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(catalog, info)


def compressed_pdf(
    pages: Sequence[str],
    *,
    user_password: str | None = None,
    font_file: bytes = b"",
    has_packed_table: bool = False,
) -> bytes:
    """Return a PDF whose contents are packed, as most are.

    Args:
        pages: Text of each page, Latin-1.
        user_password: Encrypts the file with this password, "" included.
        font_file: Packed TrueType font that the file brings along.
        has_packed_table: Whether the cross-reference table is a packed stream, which is never
            encrypted.
    """
    writer = _PdfWriter(user_password)
    catalog, tree, font, info = (writer.reserve() for _ in range(4))
    described = ""
    if font_file:
        program = writer.stream(font_file, "/Length1 1400 /Filter /FlateDecode")
        descriptor = writer.add(
            "<< /Type /FontDescriptor /FontName /Own /Flags 32 /FontBBox [0 0 1000 1000] "
            f"/ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 /FontFile2 {program} 0 R >>"
        )
        described = f"/FontDescriptor {descriptor} 0 R"
    kind = "TrueType /BaseFont /Own" if font_file else "Type1 /BaseFont /Helvetica"
    widths = f"/FirstChar 32 /LastChar 126 /Widths [{'500 ' * 95}]" if font_file else ""
    writer.put(
        font,
        f"<< /Type /Font /Subtype /{kind} /Encoding /WinAnsiEncoding {widths} {described} >>",
    )
    kids = []
    for text in pages:
        packed = zlib.compress(_page_content(text, picture=False))
        body = writer.stream(packed, "/Filter /FlateDecode")
        kids.append(
            writer.add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> >> >>"
            )
        )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    writer.put(tree, f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>")
    writer.put(info, "<< >>")
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(catalog, info, has_packed_table=has_packed_table)


def picture_pdf(pictures: Sequence[tuple[int, int, bytes]], *, stamp: str = "") -> bytes:
    """Return a PDF with a page for each picture: width and height in dots, packed grey dots."""
    writer = _PdfWriter(None)
    catalog, tree, font, info = (writer.reserve() for _ in range(4))
    writer.put(font, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for width, height, packed in pictures:
        picture = writer.stream(
            packed,
            f"/Type /XObject /Subtype /Image /Width {width} /Height {height} "
            "/BitsPerComponent 8 /ColorSpace /DeviceGray /Filter /FlateDecode",
        )
        shown = b"q 612 0 0 792 0 0 cm /I Do Q\n"
        body = writer.stream(shown + (_page_content(stamp, picture=False) if stamp else b""))
        kids.append(
            writer.add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> /XObject << /I {picture} 0 R >> >> >>"
            )
        )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    writer.put(tree, f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>")
    writer.put(info, "<< >>")
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(catalog, info)


def bomb_pdf(unpacked_bytes: int) -> bytes:
    """Return a small PDF with a page whose content unpacks to so many bytes of operators."""
    writer = _PdfWriter(None)
    catalog, tree, info = (writer.reserve() for _ in range(3))
    packer = zlib.compressobj(9)
    piece = b"0 0 m 1 1 l S " * 70_000
    packed = [packer.compress(piece) for _ in range(unpacked_bytes // len(piece))]
    body = writer.stream(b"".join(packed) + packer.flush(), "/Filter /FlateDecode")
    page = writer.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {body} 0 R >>"
    )
    writer.put(tree, f"<< /Type /Pages /Kids [{page} 0 R] /Count 1 >>")
    writer.put(info, "<< >>")
    writer.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(catalog, info)


def _page_content(text: str, *, picture: bool) -> bytes:
    lines = ["BT /F1 11 Tf 14 TL 72 740 Td"]
    for line in text.split("\n"):
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        lines.append(f"({escaped}) Tj T*")
    lines.append("ET")
    if picture:
        lines.append("q 400 0 0 400 72 72 cm /I Do Q")
    return "\n".join(lines).encode("latin-1")


def _to_unicode(text: str) -> bytes:
    target = text.encode("utf-16-be").hex()
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def "
        "1 begincodespacerange <00> <FF> endcodespacerange "
        f"1 beginbfchar <41> <{target}> endbfchar endcmap end end"
    ).encode("ascii")


class _PdfWriter:
    def __init__(self, user_password: str | None) -> None:
        self._objects: list[bytes] = []
        self._key: bytes | None = None
        self._encryption = ""
        if user_password is not None:
            self._set_password(user_password.encode("latin-1"))

    def reserve(self) -> int:
        self._objects.append(b"")
        return len(self._objects)

    def put(self, number: int, body: str) -> None:
        self._objects[number - 1] = body.encode("latin-1")

    def add(self, body: str) -> int:
        number = self.reserve()
        self.put(number, body)
        return number

    def stream(self, data: bytes, entries: str = "", *, number: int | None = None) -> int:
        number = number or self.reserve()
        data = self._encrypt(data, number)
        head = f"<< {entries} /Length {len(data)} >>\nstream\n".encode("latin-1")
        self._objects[number - 1] = head + data + b"\nendstream"
        return number

    def string(self, text: str, number: int) -> str:
        data = b"\xfe\xff" + text.encode("utf-16-be")
        return f"<{self._encrypt(data, number).hex()}>"

    def outline(self, bookmarks: Sequence[Bookmark], pages: Sequence[int]) -> int:
        root = self.reserve()
        first, last = self._entries(bookmarks, root, pages)
        self.put(root, f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R >>")
        return root

    def _entries(
        self, bookmarks: Sequence[Bookmark], parent: int, pages: Sequence[int]
    ) -> tuple[int, int]:
        numbers = [self.reserve() for _ in bookmarks]
        for place, (bookmark, number) in enumerate(zip(bookmarks, numbers, strict=True)):
            body = (
                f"<< /Title {self.string(bookmark.title, number)} /Parent {parent} 0 R "
                f"/Dest [{pages[bookmark.page]} 0 R /Fit]"
            )
            if place + 1 < len(numbers):
                body += f" /Next {numbers[place + 1]} 0 R"
            if bookmark.children:
                first, last = self._entries(bookmark.children, number, pages)
                body += f" /First {first} 0 R /Last {last} 0 R"
            self.put(number, f"{body} >>")
        return numbers[0], numbers[-1]

    def finish(self, catalog: int, info: int, *, has_packed_table: bool = False) -> bytes:
        result = bytearray(b"%PDF-1.7\n")
        places = []
        for number, body in enumerate(self._objects, start=1):
            places.append(len(result))
            result += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        table = len(result)
        identity = _FILE_ID.hex()
        trailer = (
            f"/Root {catalog} 0 R /Info {info} 0 R /ID [<{identity}> <{identity}>]"
            f"{self._encryption}"
        )
        if has_packed_table:
            result += _packed_table([*places, table], trailer)
        else:
            result += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
            for place in places:
                result += b"%010d 00000 n \n" % place
            result += f"trailer\n<< /Size {len(places) + 1} {trailer} >>\n".encode("latin-1")
        return bytes(result) + b"startxref\n%d\n%%%%EOF\n" % table

    def _set_password(self, password: bytes) -> None:
        """Make the keys of the standard security handler, revision 3."""
        padded = (password + _PAD)[:32]
        owner = hashlib.md5((b"owner" + _PAD)[:32]).digest()
        for _ in range(50):
            owner = hashlib.md5(owner).digest()
        entry = padded
        for turn in range(20):
            entry = _rc4(bytes(byte ^ turn for byte in owner), entry)
        key = hashlib.md5(
            padded + entry + _PERMISSIONS.to_bytes(4, "little", signed=True) + _FILE_ID
        ).digest()
        for _ in range(50):
            key = hashlib.md5(key).digest()
        check = hashlib.md5(_PAD + _FILE_ID).digest()
        for turn in range(20):
            check = _rc4(bytes(byte ^ turn for byte in key), check)
        self._key = key
        self._encryption = (
            " /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 "
            f"/O <{entry.hex()}> /U <{(check + bytes(16)).hex()}> /P {_PERMISSIONS} >>"
        )

    def _encrypt(self, data: bytes, number: int) -> bytes:
        if self._key is None:
            return data
        salted = self._key + number.to_bytes(3, "little") + b"\x00\x00"
        return _rc4(hashlib.md5(salted).digest()[:16], data)


def _packed_table(places: Sequence[int], trailer: str) -> bytes:
    """Return the cross-reference table as a stream, which is the last object."""
    rows = bytes(5) + b"".join(b"\x01" + place.to_bytes(4, "big") for place in places)
    packed = zlib.compress(rows)
    return (
        f"{len(places)} 0 obj\n<< /Type /XRef /Size {len(places) + 1} /W [1 4 0] {trailer} "
        f"/Filter /FlateDecode /Length {len(packed)} >>\nstream\n"
    ).encode("latin-1") + b"%b\nendstream\nendobj\n" % packed


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    result = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        result.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(result)


_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMESPACES = (
    f'xmlns:w="{_W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="urn:x-v" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    f'xmlns:r="{_RELATIONS}"'
)


def paragraph(text: str = "", *, properties: str = "", inside: str = "") -> str:
    """Return a paragraph of WordprocessingML: properties, a run with the text, other elements."""
    head = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    run = f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>' if text else ""
    return f"<w:p>{head}{run}{inside}</w:p>"


def build_docx(
    body: str,
    *,
    styles: str = "",
    numbering: str = "",
    footnotes: str = "",
    core: str = "",
    chart: str = "",
    namespaces: str = _NAMESPACES,
) -> bytes:
    """Return a DOCX of these XML fragments; the chart has the relation "rchart"."""
    parts = {"officeDocument": "word/document.xml"}
    inner: dict[str, str] = {}
    files = {"word/document.xml": f"<w:document {namespaces}><w:body>{body}</w:body></w:document>"}
    if core:
        parts["metadata/core-properties"] = "docProps/core.xml"
        files["docProps/core.xml"] = (
            '<p xmlns:dc="http://purl.org/dc/elements/1.1/" '
            f'xmlns:dcterms="http://purl.org/dc/terms/">{core}</p>'
        )
    own = (("styles", styles), ("numbering", numbering), ("footnotes", footnotes))
    for name, content in (*own, ("chart", chart)):
        if content:
            inner[name] = f"{name}.xml"
            files[f"word/{name}.xml"] = f"<w:{name} {_NAMESPACES}>{content}</w:{name}>"
    files["_rels/.rels"] = _relations(parts)
    files["word/_rels/document.xml.rels"] = _relations(inner)
    return build_zip(
        {name: f'<?xml version="1.0"?>{text}'.encode() for name, text in files.items()}
    )


def _relations(parts: dict[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="r{kind}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for kind, target in parts.items()
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{items}</Relationships>'


def build_zip(files: dict[str, bytes]) -> bytes:
    """Return a ZIP container of these files, always the same bytes."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    return result.getvalue()

"""Which format a document has: its content decides, not its extension.

An extension or a declared media type counts only where content cannot tell: Markdown from plain
text, and a fragment of HTML from text that has a tag in it.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Literal

from spanwise.errors import ParseError
from spanwise.parsers.archive import ZIP_DAMAGE
from spanwise.parsers.parsed import Source

__all__ = ["FormatName", "detect_format"]

FormatName = Literal["text", "markdown", "html", "pdf", "docx"]

_HEAD_BYTES = 1 << 16
_PDF_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*%PDF-")
_PDF_VERSION = re.compile(rb"%PDF-\d")
_MARKDOWN_EXTENSIONS = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")
_HTML_EXTENSIONS = (".html", ".htm", ".xhtml")
_HTML_MEDIA_TYPES = ("text/html", "application/xhtml+xml")
_HTML_START = re.compile(
    rb"(?:\s|(?><!--.*?-->)|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_SVG_START = re.compile(
    rb"(?:\s|(?><!--.*?-->)|<\?xml[^>]*>|<!doctype svg[^>]*>)*+<svg[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(rb"<[a-zA-Z!/]")
_MAIL_START = re.compile(
    rb"(?:[A-Za-z-]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?MIME-Version:", re.IGNORECASE
)
_HEAD_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

_SAVE_AS = "save it as PDF, DOCX, HTML, Markdown or plain text"
_EXTRACT = "unpack it and add its files"
_OCR = "run OCR on it first"
_UNREADABLE_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (rb"\{\\rtf", "an RTF document", _SAVE_AS),
    (rb"%!PS", "a PostScript document", "convert it to PDF"),
    (rb"AT&TFORM", "a DjVu document", "convert it to PDF"),
    (rb"\x89PNG\r\n", "a PNG image", _OCR),
    (rb"\xff\xd8\xff", "a JPEG image", _OCR),
    (rb"GIF8[79]a", "a GIF image", _OCR),
    (rb"II\*\x00|MM\x00\*", "a TIFF image", _OCR),
    (rb"RIFF.{4}WEBP", "a WebP image", _OCR),
    (rb".{4}ftyp(?:heic|heix|mif1|avif)", "a HEIC or AVIF image", _OCR),
    (rb"BM.{4}\x00{4}", "a BMP image", _OCR),
    (rb"\x1f\x8b\x08", "a gzip archive", _EXTRACT),
    (rb"BZh[1-9]1AY", "a bzip2 archive", _EXTRACT),
    (rb"\xfd7zXZ\x00", "an xz archive", _EXTRACT),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard archive", _EXTRACT),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _EXTRACT),
    (rb"Rar!\x1a\x07", "a RAR archive", _EXTRACT),
)
"""How the bytes begin (a regular expression), what that is, and what to do."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("WordDocument", "a Word 97-2003 document"),
    ("Workbook", "an Excel 97-2003 workbook"),
    ("PowerPoint Document", "a PowerPoint 97-2003 presentation"),
    ("__properties_version1.0", "an Outlook message"),
)
_ZIP_FOLDERS = (
    ("xl/", "an Excel workbook (XLSX)"),
    ("ppt/", "a PowerPoint presentation (PPTX)"),
    ("visio/", "a Visio drawing"),
)
_ZIP_MEDIA_TYPES = (
    ("application/epub+zip", "an EPUB book"),
    ("application/vnd.oasis.opendocument.text", "an OpenDocument text (ODT)"),
    ("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (ODS)"),
    ("application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (ODP)"),
)


def detect_format(source: Source) -> FormatName:
    """Return the format whose parser reads this source.

    Raises:
        ParseError: "empty" without any bytes; "unsupported" for a format that is known by name
            and read by no parser; "encrypted" for a protected Office file; "corrupt" for a damaged
            ZIP container; "unreadable" for a Git LFS pointer.
    """
    data = source.data
    if not data:
        raise source.error("empty", "it holds no bytes; was it copied or downloaded completely?")
    if data.startswith(b"version https://git-lfs"):
        raise source.error("unreadable", "it is a Git LFS pointer, not the file; run: git lfs pull")
    if _is_pdf(data):
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _detect_zip(source)
    if data.startswith(_OLE):
        raise _ole_error(source)
    for mark, name, advice in _UNREADABLE_FORMATS:
        if re.match(mark, data, re.DOTALL):
            raise source.error("unsupported", f"it is {name}, which no parser reads; {advice}")
    return _detect_text(source)


def _is_pdf(data: bytes) -> bool:
    """Return whether it begins as a PDF, or is one behind junk (text may well name `%PDF-1.7`)."""
    head = data[:_HEAD_BYTES]
    return bool(_PDF_START.match(head)) or bool(_PDF_VERSION.search(head) and b"endobj" in data)


def _detect_zip(source: Source) -> FormatName:
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = archive.namelist()
            media_type = _read_media_type(archive) if "mimetype" in names else ""
    except ZIP_DAMAGE as exc:
        raise source.error(
            "corrupt", f"it is a ZIP container (DOCX is one) that is damaged: {exc}"
        ) from exc
    if any(name.startswith("word/") for name in names):
        return "docx"
    kind = "a ZIP archive"
    advice = _EXTRACT
    for prefix, name in _ZIP_MEDIA_TYPES:
        if media_type.startswith(prefix):
            kind, advice = name, _SAVE_AS
    for folder, name in _ZIP_FOLDERS:
        if any(member.startswith(folder) for member in names):
            kind, advice = name, _SAVE_AS
    raise source.error("unsupported", f"it is {kind}, which no parser reads; {advice}")


def _read_media_type(archive: zipfile.ZipFile) -> str:
    with archive.open("mimetype") as member:
        return member.read(200).decode("latin-1")


def _ole_error(source: Source) -> ParseError:
    if "EncryptedPackage".encode("utf-16-le") in source.data:
        return source.error(
            "encrypted", "it is an Office file with a password; save a copy without one"
        )
    for stream, name in _OLE_STREAMS:
        if stream.encode("utf-16-le") in source.data:
            return source.error("unsupported", f"it is {name}, which no parser reads; {_SAVE_AS}")
    return source.error("unsupported", f"it is an old Office container; {_SAVE_AS}")


def _detect_text(source: Source) -> FormatName:
    head = source.data[:_HEAD_BYTES]
    if head.startswith(_HEAD_MARKS) or b"\x00" in head[:4]:
        head = head.replace(b"\x00", b"")
        for mark in _HEAD_MARKS:
            head = head.removeprefix(mark)
    name = source.name.lower().rstrip("/")
    if _SVG_START.match(head):
        raise source.error("unsupported", "it is an SVG image, which no parser reads; leave it out")
    if name.endswith(".eml") or _MAIL_START.match(head):
        raise source.error("unsupported", f"it is an e-mail, which no parser reads; {_SAVE_AS}")
    if _HTML_START.match(head):
        return "html"
    if (source.media_type in _HTML_MEDIA_TYPES or name.endswith(_HTML_EXTENSIONS)) and _TAG.search(
        head
    ):
        return "html"
    if source.media_type == "text/markdown" or name.endswith(_MARKDOWN_EXTENSIONS):
        return "markdown"
    return "text"

"""Detection of the format of a document by its content.

The extension or declared media type only decides where the content is ambiguous: between plain text
and Markdown, source code or CSV, and between a fragment of HTML and text with a tag.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from spanwise.parsers.formats import EXTENSIONS, LANGUAGES, MEDIA_TYPES, FormatName
from spanwise.parsers.images.header import image_kind, read_image_header
from spanwise.parsers.office_zip import ZIP_DAMAGE
from spanwise.parsers.parsed import Source

_HEAD_BYTES = 1 << 16
_TAIL_BYTES = 1 << 10
_PDF_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*%PDF-")
_PDF_VERSION = re.compile(rb"%PDF-\d")
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
_MAILBOX_START = re.compile(rb"From [^\n]{1,300}\n[A-Za-z-]+:[^\n]*\n")
_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+)?(?:python|bash|sh|node|ruby|perl)")
_TEXT_STARTS: tuple[tuple[re.Pattern[bytes], FormatName], ...] = (
    (_MAILBOX_START, "mailbox"),
    (_MAIL_START, "email"),
    (_HTML_START, "html"),
)
_HEAD_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

_SAVE_AS = "save it as PDF, DOCX, HTML, Markdown or plain text"
_EXTRACT = "unpack it and add its files"
_OCR = "save it as PNG, JPEG or PDF, which OCR can read"
_UNREADABLE_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (rb"%!PS", "a PostScript document", "convert it to PDF"),
    (rb"AT&TFORM", "a DjVu document", "convert it to PDF"),
    (rb".{4}ftyp(?:heic|heix|mif1|avif)", "a HEIC or AVIF image", _OCR),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard archive", _EXTRACT),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _EXTRACT),
    (rb"Rar!\x1a\x07", "a RAR archive", _EXTRACT),
)
"""Unsupported formats: regular expression of the first bytes, name, and advice."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("WordDocument", "a Word 97-2003 document"),
    ("PowerPoint Document", "a PowerPoint 97-2003 presentation"),
    ("__properties_version1.0", "an Outlook message"),
)
_STARTS: tuple[tuple[re.Pattern[bytes], FormatName], ...] = (
    (_PDF_START, "pdf"),
    (re.compile(rb"\x1f\x8b\x08|BZh[1-9]1AY|\xfd7zXZ\x00|.{257}ustar", re.DOTALL), "archive"),
    (re.compile(rb"\{\\rtf"), "rtf"),
)
_OFFICE_MARKS = frozenset(("[Content_Types].xml", "_rels/.rels"))
_ZIP_FOLDERS: Mapping[str, FormatName] = {"word/": "docx", "xl/": "workbook", "ppt/": "pptx"}
_ZIP_MEDIA_TYPES: Mapping[str, FormatName] = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "workbook",
    "application/vnd.oasis.opendocument.presentation": "odp",
}


def detect_format(source: Source) -> FormatName:
    """Return the format of a source.

    Raises:
        ParseError: "empty" without any bytes; "unsupported" for a known format without a
            parser, or an image of the size of an icon; "too_large" for an image with too many
            pixels; "encrypted" for a protected Office file; "corrupt" for a damaged ZIP container
            or header of an image; "unreadable" for a Git LFS pointer.
    """
    data = source.data
    if not data:
        raise source.error("empty", "it is empty; was it copied or downloaded completely?")
    if data.startswith(b"version https://git-lfs"):
        raise source.error("unreadable", "it is a Git LFS pointer, not the file; run: git lfs pull")
    for start, found in _STARTS:
        if start.match(data):
            return found
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _detect_zip(source)
    if data.startswith(_OLE):
        return _detect_ole(source)
    if _is_pdf_behind_junk(data):  # not in a container, which may contain a PDF
        return "pdf"
    if image_kind(data):
        read_image_header(source)
        return "image"
    _check_readable(source)
    return _detect_text(source)


def _check_readable(source: Source) -> None:
    """Raise for a known format without a parser."""
    for mark, name, advice in _UNREADABLE_FORMATS:
        if re.match(mark, source.data, re.DOTALL):
            raise source.error("unsupported", f"it is {name}, which no parser reads; {advice}")


def _is_pdf_behind_junk(data: bytes) -> bool:
    """Return whether a PDF follows after junk bytes (text may mention `%PDF-1.7` too).

    A PDF without its beginning is recognised by its end.
    """
    head, tail = data[:_HEAD_BYTES], data[-_TAIL_BYTES:]
    is_marked = _PDF_VERSION.search(head) or (b"startxref" in tail and b"%%EOF" in tail)
    return bool(is_marked) and b"endobj" in data


def _detect_zip(source: Source) -> FormatName:
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = archive.namelist()
            media_type = _read_media_type(archive) if "mimetype" in names else ""
    except ZIP_DAMAGE as exc:
        raise source.error(
            "corrupt",
            f"it is a ZIP container (DOCX is one) that is damaged: {exc}; fetch or export it again",
        ) from exc
    for start, found in _ZIP_MEDIA_TYPES.items():
        if media_type.startswith(start):
            return found
    if _OFFICE_MARKS.isdisjoint(names):
        return "archive"
    for folder, found in _ZIP_FOLDERS.items():
        if any(name.startswith(folder) for name in names):
            return found
    return "archive"


def _read_media_type(archive: zipfile.ZipFile) -> str:
    with archive.open("mimetype") as member:
        return member.read(200).decode("latin-1")


def _detect_ole(source: Source) -> FormatName:
    if "EncryptedPackage".encode("utf-16-le") in source.data:
        raise source.error(
            "encrypted", "it is an Office file with a password; save a copy without one"
        )
    if "Workbook".encode("utf-16-le") in source.data:
        return "workbook"
    for stream, name in _OLE_STREAMS:
        if stream.encode("utf-16-le") in source.data:
            raise source.error("unsupported", f"it is {name}, which no parser reads; {_SAVE_AS}")
    raise source.error("unsupported", f"it is an old Office container; {_SAVE_AS}")


def _detect_text(source: Source) -> FormatName:
    head = source.data[:_HEAD_BYTES]
    if head.startswith(_HEAD_MARKS) or b"\x00" in head[:4]:
        head = head.replace(b"\x00", b"")
        for mark in _HEAD_MARKS:
            head = head.removeprefix(mark)
    if _SVG_START.match(head):
        raise source.error("unsupported", "it is an SVG image, which no parser reads; leave it out")
    for start, found in _TEXT_STARTS:
        if start.match(head):
            return found
    named = _named_format(source)
    if named is None:
        return "code" if _SHEBANG.match(head) else "text"
    if named == "mailbox" or (named == "html" and not _TAG.search(head)):
        return "text"  # without the content of that format
    return named


def _named_format(source: Source) -> FormatName | None:
    """Return the format of a text by its declared media type, else by its extension."""
    name = urlsplit(source.name).path if "://" in source.name else source.name
    extension = PurePosixPath(name.lower().rstrip("/")).suffix
    declared = MEDIA_TYPES.get(source.media_type or "")
    return declared or EXTENSIONS.get(extension) or ("code" if extension in LANGUAGES else None)

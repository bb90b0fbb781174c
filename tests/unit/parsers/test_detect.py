"""Content decides which parser reads a file."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest
from tests.documents import build_docx, build_pdf, build_zip, paragraph
from tests.image_files import png_of_size

from spanwise.errors import ParseError
from spanwise.parsers.detect import detect_format
from spanwise.parsers.parsed import Source

PDF = build_pdf(["Text"])
DOCX = build_docx(paragraph("Text"))
STORED = BytesIO()
with ZipFile(STORED, "w") as archive:
    archive.writestr("a.pdf", PDF)
    archive.writestr("b.pdf", PDF)
OLE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (PDF, "wrong.txt", "pdf"),
        (b"\r\n" + PDF, "a.pdf", "pdf"),
        (b"mailbox junk " * 100 + PDF, "a", "pdf"),
        (PDF.replace(b"%PDF-1.7", b"XXXXXXXX", 1), "a", "pdf"),
        (DOCX, "wrong.pdf", "docx"),
        (b"<!DOCTYPE html><p>x", "wrong.md", "html"),
        (b"\xef\xbb\xbf<!-- c --><!-- d -->\n<HTML lang=en>", "a.txt", "html"),
        (b'<?xml version="1.0"?><html xmlns="x">', "a.xml", "html"),
        ("\ufeff<html>".encode("utf-16-le"), "a.txt", "html"),
        (b"A fragment with <b>a tag</b>", "a.html", "html"),
        (b"No tag at all, 1 < 2", "a.html", "text"),
        (b"# Title with <b>a tag</b>", "a.md", "markdown"),
        (b"# Title", "NOTES.MARKDOWN", "markdown"),
        (b"# Title with <b>a tag</b>", "a.txt", "text"),
        (b"A PDF begins with %PDF-1.7 and has objects", "a.txt", "text"),
        (b"From: me\nTo: you\n\nNo mail, a memo.", "a.txt", "text"),
        (b'{"json": 1}', "a.json", "json"),
        (b"a,b\n1,2", "https://a.org/b.csv?x=1", "csv"),
        (b"Title\n=====", "a.rst", "restructuredtext"),
        (b"= Title", "a.adoc", "asciidoc"),
        (b"def f(): ...", "a.py", "code"),
        (b"#!/usr/bin/env python\n", "run", "code"),
        (b"{\\rtf1 hello}", "a.doc", "rtf"),
        (png_of_size(400, 300), "a.txt", "image"),
        (b"Received: by x\n\tfrom y\nSubject: z\nMIME-Version: 1.0\n\nHi", "a", "email"),
        (b"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\nHi", "a", "mailbox"),
        (b"From here on it is text.\nThe end.", "a.mbox", "text"),
        (build_zip({"xl/workbook.xml": b"", "[Content_Types].xml": b""}), "a.docx", "workbook"),
        (build_zip({"ppt/presentation.xml": b"", "_rels/.rels": b""}), "a", "pptx"),
        (build_zip({"mimetype": b"application/epub+zip"}), "a", "epub"),
        (build_zip({"mimetype": b"application/vnd.oasis.opendocument.text"}), "a", "odt"),
        (build_zip({"word/list.txt": b"x"}), "a", "archive"),
        (b"\x1f\x8b\x08", "a.pdf", "archive"),
        (STORED.getvalue(), "a.zip", "archive"),
        (b"a.pdf".ljust(257, b"\x00") + b"ustar".ljust(255, b"\x00") + PDF, "a.tar", "archive"),
        (b"plain", "no-extension", "text"),
        (b"plain", "wrong.pdf", "text"),
    ],
)
def test_content_decides(data: bytes, name: str, expected: str) -> None:
    """The extension is a hint, no more."""
    assert detect_format(Source(data=data, name=name)) == expected


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [("text/html", "html"), ("application/xhtml+xml", "html"), ("text/markdown", "markdown")],
)
def test_declared_media_type_decides_where_content_cannot(media_type: str, expected: str) -> None:
    """A URL often has no extension."""
    source = Source(data=b"some <i>text</i>", name="https://a.org/b", media_type=media_type)
    assert detect_format(source) == expected


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "empty", "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "unreadable", "git lfs pull"),
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "corrupt", "export it again"),
        (b"\xff\xd8\xff\xe0", "corrupt", "JPEG"),
        (png_of_size(32, 32), "unsupported", "icon"),
        (b"\x00\x00\x00\x18ftypheic", "unsupported", "HEIC"),
        (b"<?xml version='1.0'?><svg width='1'>", "unsupported", "SVG"),
        (DOCX[: len(DOCX) // 2], "corrupt", "fetch or export it again"),
        (OLE + "WordDocument".encode("utf-16-le"), "unsupported", "Word 97-2003"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted", "password"),
        (OLE, "unsupported", "old Office"),
    ],
)
def test_what_no_parser_reads_is_named(data: bytes, code: str, words: str) -> None:
    """The error says what the file is and what to do."""
    with pytest.raises(ParseError, match=words) as caught:
        detect_format(Source(data=data, name="some/file.bin"))
    assert caught.value.code == code
    assert str(caught.value).startswith("some/file.bin: ")


def test_comments_without_end_are_decided_at_once() -> None:
    """Many comments before something that is no HTML take no exponential time."""
    data = b"<!-- a -->" * 6000 + b"text"
    assert detect_format(Source(data=data, name="a.md")) == "markdown"

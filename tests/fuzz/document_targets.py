"""Targets of documents: the parsers of all formats, called as the parsing process calls them."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tests.archives import build_mail, build_mailbox, build_tar
from tests.documents import Bookmark, build_docx, build_pdf, build_zip, paragraph, picture_pdf
from tests.fuzz.target import Target, check
from tests.image_files import image_file, picture, png_of_size
from tests.office_documents import (
    Slide,
    box,
    build_epub,
    build_odf,
    build_pptx,
    build_xls,
    build_xlsb,
    build_xlsx,
    sheet,
)

from spanwise.parsers.plugins import OWN_PARSERS
from spanwise.parsers.process.protocol import decode_parsed, decode_unpacked
from spanwise.parsers.process.worker import respond

__all__ = ["document_targets"]

_LIMITS: Mapping[str, Any] = {
    "kind": "bytes",
    "media_type": None,
    "charset": None,
    "timeout_seconds": 60.0,
    "max_file_bytes": 10_000_000,
    "max_unpacked_bytes": 50_000_000,
    "max_text_bytes": 10_000_000,
    "text_option": "max_text_bytes",
    "max_pages": 200,
    "skipped_pages": [],
    "ocr": "off",
    "leaves_pictures": False,
    "leaves_figures": False,
    "parser": OWN_PARSERS,
    "max_members": 200,
    "members_option": "max_members",
    "max_attachments": 50,
    "max_container_bytes": 50_000_000,
    "container_option": "max_container_bytes",
}


def _ignore(_: object) -> None:
    """Ignore a step of a parser."""


def _request(task: str, name: str, data: bytes, **more: Any) -> tuple[dict[str, Any], bytes]:
    """Return the answer of the parsing process, as the parent receives it."""
    header = {**_LIMITS, "task": task, "name": name, **more}
    answer, payload = respond(header, data, on_step=_ignore)
    json.dumps(answer, ensure_ascii=False).encode()  # nothing in it is a lone surrogate
    return json.loads(json.dumps(answer)), payload


def _parse(name: str, data: bytes) -> None:
    """Parse a document, and check the laws of its text."""
    answer, payload = _request("parse", name, data)
    parsed = decode_parsed(answer, payload.decode("utf-8"))
    check(parsed.text.strip(), "a document without text was returned")
    check(parsed.status == "ok" or parsed.warnings, "a loss without a warning")


def _unpack(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, "container")
        path.write_bytes(data)
        into = Path(folder, "members")
        into.mkdir()
        answer, _ = _request("unpack", name, str(path).encode(), kind="path", into=str(into))
        unpacked = decode_unpacked(answer)
        check({path, into} == set(Path(folder).iterdir()), "a file was written outside")
        names = {member.file_name for member in unpacked.members}
        check(names <= {file.name for file in into.iterdir()}, "a member without its file")


def _parse_image(data: bytes) -> None:
    """Parse an image for a vision model, which reads its text."""
    answer, payload = _request("parse", "a.png", data, leaves_pictures=True)
    decode_parsed(answer, payload.decode("utf-8"))


def _parser(name: str) -> Callable[[bytes], None]:
    return lambda data: _parse(name, data)


def _tasks(name: str, *tasks: str) -> Callable[[bytes], None]:
    """Return a function that carries out several tasks on one input, until one fails."""

    def run(data: bytes) -> None:
        for task in tasks:
            if task == "parse":
                _parse(name, data)
            elif task == "unpack":
                _unpack(name, data)
            else:
                _request(task, name, data)

    return run


_WORDS = "The pier is 30 m long. It was built in 1911."
_XML = (
    *b"<a> </a> <a/> <!-- <![CDATA[ ]]> <!DOCTYPE <!ENTITY &a; &#0; &#xD800; <?xml".split(),
    b" xmlns:a=''",
)


def _pdfs() -> list[bytes]:
    return [
        build_pdf(
            ["1 Pier\n" + _WORDS, "2 Dues\nDues    1910   1911\nTon    5   6"],
            properties={"Title": "Report", "CreationDate": "D:19110101"},
            outline=[Bookmark("Pier", 0, (Bookmark("Dues", 1),))],
            labels="<< /Nums [0 << /S /r /St 3 >>] >>",
        ),
        build_pdf([_WORDS], to_unicode="\ufb01", user_password=""),
        picture_pdf([(2, 2, b"\x00\xff\x00\xff")], stamp="Page 1"),
    ]


def _docx() -> list[bytes]:
    table = (
        "<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>"
        f"{paragraph('Year')}</w:tc></w:tr><w:tr><w:tc>{paragraph('1910')}</w:tc>"
        f"<w:tc>{paragraph('5')}</w:tc></w:tr></w:tbl>"
    )
    numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    return [
        build_docx(
            paragraph("Report", properties='<w:pStyle w:val="Heading1"/>')
            + paragraph(_WORDS, inside='<w:r><w:footnoteReference w:id="2"/></w:r>')
            + paragraph("One", properties=numbered)
            + table,
            styles='<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
            '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
            numbering='<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
            '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
            footnotes=f'<w:footnote w:id="2">{paragraph("A note.")}</w:footnote>',
            core="<dc:title>Report</dc:title><dcterms:created>1911-01-01</dcterms:created>",
        )
    ]


def _pptx() -> list[bytes]:
    slide = Slide(
        box("Pier", placeholder="title"),
        box(_WORDS, top=5, left=3),
        notes=box("Notes", placeholder="body"),
        layout=box("Layout", placeholder="title"),
    )
    return [build_pptx([slide, Slide(box("Dues"), hidden=True)], core="<dc:title>Talk</dc:title>")]


def _workbooks() -> list[bytes]:
    rows = sheet(("Year", "Dues", None), ("1910", 5, 0.25), (43_000, -1, 1e300))
    return [
        build_xlsx({"Dues": rows, "Old": rows}, hidden=["Old"], formats=["0.0%", "yyyy-mm-dd"]),
        build_xlsb([(0, 0, 5.0), (1, 2, 6.5)]),
        build_odf(
            "spreadsheet",
            '<table:table table:name="Dues"><table:table-row><table:table-cell><text:p>Year'
            '</text:p></table:table-cell><table:table-cell office:value-type="float" '
            'office:value="5"><text:p>5</text:p></table:table-cell></table:table-row>'
            "</table:table>",
        ),
    ]


def _odf() -> list[bytes]:
    table = (
        '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2">'
        "<text:p>5</text:p></table:table-cell></table:table-row></table:table>"
    )
    text = (
        '<text:h text:outline-level="1">Pier</text:h><text:list><text:list-item><text:p>One'
        f"</text:p></text:list-item></text:list><text:p>{_WORDS}<text:s text:c='2'/>"
        f"<text:note><text:note-body><text:p>N</text:p></text:note-body></text:note></text:p>{table}"
    )
    page = (
        '<draw:page draw:name="p1"><draw:frame presentation:class="title" svg:x="1cm" svg:y="1cm">'
        f"<draw:text-box><text:p>{_WORDS}</text:p></draw:text-box></draw:frame></draw:page>"
    )
    return [
        build_odf("text", text, meta="<office:meta><dc:title>R</dc:title></office:meta>"),
        build_odf("presentation", page),
    ]


def _epubs() -> list[bytes]:
    return [
        build_epub(
            {"a.xhtml": f"<h1 id='x'>Pier</h1><p>{_WORDS}</p>", "b.xhtml": "<p>Dues</p>"},
            contents='<nav epub:type="toc"><ol><li><a href="a.xhtml#x">Pier</a></ol></nav>',
            ncx="<navPoint><navLabel><text>Pier</text></navLabel><content src='a.xhtml'/>"
            "</navPoint>",
            metadata="<dc:title>Book</dc:title><dc:creator>Ann</dc:creator>",
        )
    ]


def _pages() -> list[bytes]:
    return [
        b"<!doctype html><html lang=en><head><title>Pier</title><base href='/a/'><meta "
        b"name=robots content=noindex><link rel=canonical href=x></head><body><h1>Pier</h1><p>The "
        b"pier&nbsp;is <b>30</b> m. <a href='b.html'>More</a><table><tr><th rowspan=2>Year<th "
        b"colspan=3>Dues<tr><td>5</table><ul><li>One<ol><li>Two</ol></ul><pre><code>x = 1\n"
        b"</code></pre><dl><dt>A<dd>B</dl><img alt='Chart' src=c.png></body></html>",
        b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url>"
        b"<loc>https://a.example/b</loc></url></urlset>",
    ]


def _lightweight(data: bytes) -> None:
    """Parse a text as each of the formats that only the extension identifies."""
    for name in ("a.md", "a.rst", "a.adoc"):
        _parse(name, data)


def _markups() -> list[bytes]:
    return [
        b"---\ntitle: Pier\n---\n# Pier\n\nThe *pier* is [30 m](a.md).\n\n| a | b |\n|---|---|\n| 1"
        b" | 2 |\n\n```py\nx = 1\n```\n\n1. one\n   - two\n\n> quoted\n\nDues\n----\n",
        b"Pier\n====\n\n.. image:: a.png\n   :alt: x\n\n.. code-block:: py\n\n   x = 1\n\n"
        b"+---+---+\n| a | b |\n+---+---+\n\n::\n\n  literal\n\n"
        b"===  ===\na    b\n===  ===\n1    2\n===  ===\n",
        b"= Pier\n:author: Ann\n\n== Dues\n\n[source,py]\n----\nx = 1\n----\n\n"
        b"|===\n|a |b\n|1 |2\n|===\n\n* one\n** two\n\n====\nExample\n====\n",
    ]


def _mails() -> list[bytes]:
    inner = build_mail("Inner text.", Subject="Inner", From="a@b.org")
    mail = build_mail(
        _WORDS,
        html=f"<p>{_WORDS}</p>",
        attachments={"../a.txt": b"A text.", "b.bin": b"\x00\x01"},
        messages=[inner],
        Subject="=?utf-8?q?Pi=C3=A9r?=",
        From="Ann <a@b.org>",
        To="Bob <b@b.org>",
        Date="Mon, 01 Jan 2018 00:00:00 +0000",
        Message_ID="<1@b.org>",
    )
    return [mail, inner]


def _archives() -> list[bytes]:
    files = {"a.txt": _WORDS.encode(), "../b/c.md": b"# Pier\n\nLong."}
    return [
        build_zip(dict(files)),
        build_tar({**files, "link": "a.txt"}),
        gzip.compress(_WORDS.encode(), mtime=0),
        build_tar(files, mode="w:gz"),
        build_tar(files, mode="w:bz2"),
        build_mailbox(_mails()),
    ]


def _images() -> list[bytes]:
    small = picture(size=(250, 170))
    bits = small.convert("1")
    return [
        *(image_file(kind, small) for kind in ("PNG", "JPEG", "GIF", "WEBP")),
        *(image_file(kind, bits) for kind in ("TIFF", "BMP")),
        png_of_size(300, 200, data=bytes(200)),
    ]


def _draw(name: str) -> Callable[[bytes], None]:
    """Return a function that draws the first page of a document."""

    def run(data: bytes) -> None:
        answer, payload = _request(
            "draw", name, data, page=1, dots_per_inch=20, for_model=False, highlight=None, box=None
        )
        check(payload and answer, "no picture was drawn")

    return run


def _code() -> list[bytes]:
    return [
        b'"""Pier."""\n\nimport os\n\n\nclass Pier:\n    """Long."""\n\n    def dues(self):\n'
        b"        return 5\n\n\ndef main():\n    if x:\n        pass\n"
    ]


def _json() -> list[bytes]:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Pier\n"]},
            {"cell_type": "code", "source": "x = 1", "outputs": [{"text": ["1"]}]},
        ],
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
    }
    return [
        b'[{"year": 1910, "text": "Pier", "deep": {"a": [1, null, true]}}, {"year": 1e5}]',
        b'{"a": "x"}\n{"a": 5, "b": "\\ud83d\\ude00"}\n',
        json.dumps(notebook).encode(),
        b'{"type": "FeatureCollection", "features": [{"properties": {"name": "Pier"}}]}',
    ]


def _target(
    name: str,
    run: Callable[[bytes], None],
    seeds: Callable[[], Sequence[bytes]],
    tokens: bytes = b"",
    *,
    is_zip: bool = False,
) -> Target:
    words = (*tokens.split(), *(_XML if is_zip else ()))
    return Target(name=name, run=run, seeds=seeds, tokens=words, is_zip=is_zip)


_HTML = (
    b"<table> <tr> <td colspan=9> <pre> <li> <ul> <h1> </p> <a href=> <br> <!-- <svg> <template>"
)


def _old_workbooks() -> list[bytes]:
    return [build_xls([["Year", "Dues"], [date(1910, 1, 2), 5.5], [True, 7.0]])]


_PDF = (
    b"obj endobj stream endstream xref trailer /Kids /Parent /Length /Filter /FlateDecode << >> Tj"
)
_RTF = rb"{ } \par \cell \row \u-3 \'e9 \bin9 \pict \fonttbl \f0 {\* \uc9 \trowd \ansicpg932"
_RTF_SEED = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Pier}}"
    rb"{\stylesheet{\s1 heading 1;}}"
    rb"\pard\s1\outlinelevel0 Pier\par\pard The pier \u8364? is \'e9 30 m.\par"
    rb"\trowd\cellx1\cellx2 a"
    rb"\intbl\cell b\cell\row{\*\unknown x}{\footnote Note.}{\field{\fldinst x}{\fldrslt y}}\par}"
)
_MAIL = (
    b"Content-Type: multipart/mixed; boundary=a --a base64 quoted-printable charset=x "
    b"=?utf-8?b?=== message/rfc822"
)


def document_targets() -> list[Target]:
    """Return the targets."""
    return [
        _target("pdf", _parser("a.pdf"), _pdfs, _PDF),
        _target("pdf-page", _draw("a.pdf"), _pdfs, _PDF),
        _target("docx", _parser("a.docx"), _docx, b"w:val= w:tbl w:tc w:p", is_zip=True),
        _target("pptx", _parser("a.pptx"), _pptx, b"a:p p:sp a:tbl", is_zip=True),
        _target("workbook", _parser("a.xlsx"), _workbooks, b'<c r="A9"> t="s"', is_zip=True),
        _target("xls", _parser("a.xls"), _old_workbooks),
        _target("odf", _parser("a.odt"), _odf, b"text:p text:list text:h", is_zip=True),
        _target("epub", _parser("a.epub"), _epubs, _HTML, is_zip=True),
        _target("rtf", _parser("a.rtf"), lambda: [_RTF_SEED], _RTF),
        _target("html", _tasks("a.html", "parse", "links"), _pages, _HTML),
        _target("sitemap", _tasks("a.xml", "sitemap"), _pages, b"<loc> <url> <sitemapindex>"),
        _target("markup", _lightweight, _markups, b"``` | --- .. :: ==== |=== \\ [ ]( $$ <div>"),
        _target("mail", _tasks("a.eml", "unpack", "parse"), _mails, _MAIL),
        _target("archive", _tasks("a.zip", "unpack"), _archives, b"PK\x03\x04 PK\x05\x06 ustar"),
        _target(
            "csv", _parser("a.csv"), lambda: [b'year;dues\n1910;"5,0"\n1911;"a\nb"\n'], b'" ; ,'
        ),
        _target("json", _parser("a.json"), _json, b'{ } [ ] " : , null 1e999 \\ud800 NaN'),
        _target("code", _parser("a.py"), _code, b"def class { } ''' # \\ ( ) async"),
        _target("text", _parser("a.txt"), lambda: [_WORDS.encode(), _WORDS.encode("utf-16")]),
        _target("image", _parse_image, _images),
        _target("image-page", _draw("a.png"), _images),
    ]

"""A small document of every format that is read, made here: what the broken ones are made from."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from collections.abc import Mapping

from tests.documents import build_docx, build_pdf, build_zip, paragraph

__all__ = ["SENTENCES", "small_documents"]

_SYLLABLES = "ba con der fi gal hor in jun ke lor man nes or pel qui ros sta tur ul ven".split()


def _sentence(chance: random.Random) -> str:
    """Return a sentence of words that no other holds: what repeats may be taken for a header."""
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(9)]
    return f"{words[0].capitalize()} {' '.join(words[1:])} {chance.randint(10, 9999)}."


SENTENCES = tuple(_sentence(random.Random(number)) for number in range(240))
"""All different."""
_OFFICE = "application/vnd.openxmlformats-officedocument"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def small_documents() -> Mapping[str, bytes]:
    """Return documents by file name; all but the code hold `SENTENCES`."""
    return {
        "report.docx": _docx(),
        "report.pptx": _pptx(),
        "report.xlsx": _xlsx(),
        "report.odt": _open_document("text", "".join(map(_odt_paragraph, SENTENCES))),
        "report.epub": _epub(),
        "report.rtf": ("{\\rtf1\\ansi " + "\\par ".join(SENTENCES) + "}").encode(),
        "report.html": _html().encode(),
        "report.md": ("# Report\n\n" + "\n\n".join(SENTENCES) + "\n").encode(),
        "report.rst": ("Report\n======\n\n" + "\n\n".join(SENTENCES) + "\n").encode(),
        "report.adoc": ("= Report\n\n" + "\n\n".join(SENTENCES) + "\n").encode(),
        "report.txt": "\n".join(SENTENCES).encode(),
        "wide.txt": "\n".join(SENTENCES).encode("utf-16"),
        "report.csv": ("year,text\n" + "\n".join(f'{n},"{s}"' for n, s in _numbered())).encode(),
        "report.json": json.dumps([{"year": n, "text": s} for n, s in _numbered()]).encode(),
        "report.jsonl": "\n".join(
            json.dumps({"year": n, "text": s}) for n, s in _numbered()
        ).encode(),
        "report.ipynb": _notebook().encode(),
        "report.py": _code().encode(),
        "report.eml": _mail("one").encode(),
        "report.mbox": ("From a@example.org Mon Jan  1 00:00:00 2024\n" + _mail("two")).encode(),
        "report.zip": build_zip(
            {"a.txt": SENTENCES[0].encode(), "b.md": "\n".join(SENTENCES).encode()}
        ),
        "report.tar": _tar(),
        "report.txt.gz": gzip.compress("\n".join(SENTENCES).encode(), mtime=0),
        "report.pdf": build_pdf(["\n".join(SENTENCES[n : n + 40]) for n in range(0, 240, 40)]),
    }


def _numbered() -> enumerate[str]:
    return enumerate(SENTENCES, start=1)


def _docx() -> bytes:
    head = paragraph("Report", properties='<w:outlineLvl w:val="0"/>')
    return build_docx(head + "".join(map(paragraph, SENTENCES)))


def _relations(items: Mapping[str, str]) -> bytes:
    rows = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(items.items(), start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'.encode()


def _content_types(parts: Mapping[str, str]) -> bytes:
    rows = "".join(
        f'<Override PartName="/{part}" ContentType="{_OFFICE}.{kind}+xml"/>'
        for part, kind in parts.items()
    )
    rels = f'<Default Extension="rels" ContentType="{_PACKAGE}.relationships+xml"/>'
    xml = '<Default Extension="xml" ContentType="application/xml"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{rels}{xml}{rows}</Types>'.encode()


def _xlsx() -> bytes:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><v>{n}</v></c>'
        f'<c r="B{n}" t="inlineStr"><is><t>{text}</t></is></c></row>'
        for n, text in _numbered()
    )
    return build_zip(
        {
            "[Content_Types].xml": _content_types(
                {
                    "xl/workbook.xml": "spreadsheetml.sheet.main",
                    "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
                }
            ),
            "_rels/.rels": _relations({"xl/workbook.xml": "officeDocument"}),
            "xl/workbook.xml": (
                f'<workbook xmlns="{_SHEETS}" xmlns:r="{_RELATIONS}"><sheets>'
                '<sheet name="Ships" sheetId="1" r:id="r1"/></sheets></workbook>'
            ).encode(),
            "xl/_rels/workbook.xml.rels": _relations({"worksheets/sheet1.xml": "worksheet"}),
            "xl/worksheets/sheet1.xml": (
                f'<worksheet xmlns="{_SHEETS}"><sheetData>{rows}</sheetData></worksheet>'
            ).encode(),
        }
    )


def _pptx() -> bytes:
    lines = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in SENTENCES)
    slide = (
        f'<p:sld xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree><p:sp>'
        f'<p:nvSpPr><p:cNvPr id="2" name="Text"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/>{lines}</p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    )
    return build_zip(
        {
            "[Content_Types].xml": _content_types(
                {
                    "ppt/presentation.xml": "presentationml.presentation.main",
                    "ppt/slides/slide1.xml": "presentationml.slide",
                }
            ),
            "_rels/.rels": _relations({"ppt/presentation.xml": "officeDocument"}),
            "ppt/presentation.xml": (
                f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_RELATIONS}"><p:sldIdLst>'
                '<p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>'
            ).encode(),
            "ppt/_rels/presentation.xml.rels": _relations({"slides/slide1.xml": "slide"}),
            "ppt/slides/slide1.xml": slide.encode(),
        }
    )


def _odt_paragraph(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def _open_document(kind: str, body: str) -> bytes:
    spaces = f'xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0"'
    content = (
        f"<office:document-content {spaces}><office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return build_zip({"mimetype": media_type.encode(), "content.xml": content.encode()})


def _epub() -> bytes:
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="c"/></spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    return build_zip(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "book.opf": book.encode(),
            "c.xhtml": _html().encode(),
        }
    )


def _html() -> str:
    paragraphs = "".join(f"<p>{text}</p>" for text in SENTENCES)
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Report</title></head>'
        f"<body><h1>Report</h1>{paragraphs}</body></html>"
    )


def _notebook() -> str:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [text]} for text in SENTENCES]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _code() -> str:
    return "\n\n".join(
        f'def ships_{n}() -> int:\n    """{text}"""\n    return {n}\n' for n, text in _numbered()
    )


def _mail(identity: str) -> str:
    head = (
        "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nSubject: Report\n"
        f"Message-ID: <{identity}@example.org>\nDate: Mon, 01 Jan 2024 00:00:00 +0000\n"
        "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n"
    )
    return head + "\n".join(SENTENCES) + "\n"


def _tar() -> bytes:
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        data = "\n".join(SENTENCES).encode()
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return result.getvalue()

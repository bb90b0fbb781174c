"""Small documents of our own come out as the golden files say (`make golden` writes them anew)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.documents import Bookmark, build_docx, build_pdf, paragraph
from tests.printed import build_annual_report

from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool

FOLDER = Path(__file__).parent

STYLES = """
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/>
  <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Klausel"><w:name w:val="Klausel"/>
  <w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
"""
NUMBERING = """
<w:abstractNum w:abstractNumId="0">
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
    <w:lvlText w:val="%1.(%2)"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
"""
CORE = (
    "<dc:title>Lease of a boat</dc:title><dc:creator>Notary Oar</dc:creator>"
    "<dcterms:created>2022-09-30T12:00:00Z</dcterms:created>"
)


def styled(style: str, text: str, inside: str = "") -> str:
    return paragraph(text, properties=f'<w:pStyle w:val="{style}"/>', inside=inside)


def cells(*texts: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(text)}</w:tc>' for text in texts)}</w:tr>"


def build_contract() -> bytes:
    """Return a contract with numbered clauses, tracked changes, a table and a note."""
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    change = (
        "<w:del><w:r><w:delText>monthly</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>weekly</w:t></w:r></w:ins>"
    )
    return build_docx(
        styled("Titel", "Lease of a boat")
        + styled("berschrift1", "Subject")
        + styled("Klausel", "The owner leases the boat ", inside=note)
        + styled("Klausel", "Rent is paid ", inside=change)
        + styled("berschrift1", "Rates")
        + f"<w:tbl>{cells('Season', 'Rent')}{cells('Summer', '120')}{cells('Winter', '')}</w:tbl>"
        + styled("Klausel", "Rates are net."),
        styles=STYLES,
        numbering=NUMBERING,
        core=CORE,
        footnotes=f'<w:footnote w:id="2">{paragraph("Hull number 7.")}</w:footnote>',
    )


def build_filing() -> bytes:
    """Return a PDF with an outline, page labels and a word that is parted at a line end."""
    return build_pdf(
        ["Cover of the filing", "Item 1. Business\nWe build har-\nbours.", "Item 2. Risks\nMany."],
        properties={"Title": "Filing for 2023", "Author": "Port Office", "CreationDate": "D:2023"},
        outline=[Bookmark("Item 1. Business", 1), Bookmark("Risks", 2)],
        labels="<< /Nums [0 << /S /r >> 1 << /P (F-) /S /D >>] >>",
    )


GUIDE = """\
====
Port
====

Calling
-------

Call on channel 12::

    CALL pilot

.. note:: Slow down.

=====  =====
Basin  Knots
=====  =====
North  6
=====  =====
"""
MANUAL = """\
= Manual of {port}
Ada Quill <ada@example.org>
v1.0, 2024-05-17
:port: the port

== Calling [[call]]

----
== CALL pilot
----

|===
|Basin |Knots
|North |6
|===
"""
STACK = '''\
"""A stack."""


# Grows without a limit.
@final
class Stack:
    """Last in, first out."""

    def push(self, item: int) -> None:
        """Add an item."""
        self.items.append(item)
'''
FAQ = """\
{"port": "North", "open": true, "answers": [
 {"question": "Who may call?", "votes": 12, "tags": ["rules", "radio"]},
 {"question": "When is it open?", "place": {"basin": "North", "knots": 6.0}}
]}
"""
BERTHS = """\
Berths of May

berth;ship;metres
1;"Ada; Quill";12,5
2;Northern Star;
"""
THREAD = """\
From: Ada Quill <ada@example.org>
To: Port Office <office@example.org>
Date: Fri, 17 May 2024 09:00:00 +0200
Subject: Re: Berth for =?utf-8?q?M=C3=B6we?=
Message-ID: <3@example.org>
References: <1@example.org> <2@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/plain; charset=utf-8

Berth 2 it is.

On Thu, May 16, 2024 at 4:00 PM Port Office
<office@example.org> wrote:
> Two are free.
>
> On Wed, May 15, 2024, Ada Quill wrote:
>> Is a berth free?

-----Original Message-----
From: Harbour Master
Sent: Tuesday
To: Port Office

Keep berth 1.
--b
Content-Type: text/csv; name="berths.csv"

1,2
--b--
"""
SOURCES = {
    "thread.eml": THREAD.encode,
    "port.rst": GUIDE.encode,
    "port.adoc": MANUAL.encode,
    "stack.py": STACK.encode,
    "faq.json": FAQ.encode,
    "berths.csv": BERTHS.encode,
    "handbook.md": (FOLDER / "handbook.md").read_bytes,
    "report.html": (FOLDER / "report.html").read_bytes,
    "contract.docx": build_contract,
    "filing.pdf": build_filing,
    "annual_report.pdf": build_annual_report,
}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_document_is_as_the_golden_file_says(
    name: str, tmp_path: Path, golden: Callable[[str, object], None]
) -> None:
    """Text, pages, headings, blocks and metadata."""
    (tmp_path / name).write_bytes(SOURCES[name]())
    with ParserPool(options=ParseOptions()) as pool:
        document = pool.parse(tmp_path / name, document_id=name, source=name, source_root="golden")
    fields = asdict(document)
    del fields["content_hash"]  # that of a ZIP container changes with the version of zlib
    golden(name, fields)

"""Small documents of our own come out as the golden files say (`make golden` writes them anew)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.documents import Bookmark, build_docx, build_pdf, paragraph

from spanwise.options import ParseOptions
from spanwise.parsers.isolation import ParserPool

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


SOURCES = {
    "handbook.md": (FOLDER / "handbook.md").read_bytes,
    "report.html": (FOLDER / "report.html").read_bytes,
    "contract.docx": build_contract,
    "filing.pdf": build_filing,
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

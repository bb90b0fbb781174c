"""Documents without a knowledge base equal those that `add` and `add_text` store."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.documents import build_docx, build_pdf, build_zip, paragraph

import spanwise
from spanwise import (
    ChunkOptions,
    Document,
    KnowledgeBase,
    ParseOptions,
    SectionOptions,
    document_language,
    parse,
    parse_text,
    split_chunks,
    split_sections,
)
from spanwise.errors import FetchError, OptionError, ParseError

PROSE = " ".join(
    f"Sentence {number} says that freight rates rose by {number} percent in the region."
    for number in range(40)
)
MARKDOWN = f"""---
title: Annual report
author: A. Writer
---
# Results

{PROSE}

| year | sales |
|---|---|
| 2018 | 32,765 |
| 2019 | 31,856 |

## People

{PROSE}
"""
CONTRACT = f"""MASTER SERVICES AGREEMENT

1. DEFINITIONS

"Services" means the work described in each order. {PROSE}

2. TERM AND TERMINATION

Either party may terminate this agreement with ninety days' written notice.
"""
FILING = f"""UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
Washington, D.C. 20549

FORM 10-K

ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934

For the fiscal year ended December 31, 2018

3M COMPANY
(Exact name of registrant as specified in its charter)

Item 1. Business

{PROSE}

Item 7. Management's Discussion and Analysis

{PROSE}
"""
CHINESE = "公司的收入在去年有所增长，因为市场需求很高。运费上涨导致毛利率下降。" * 40
FILES = {
    "report.md": MARKDOWN.encode(),
    "contract.txt": CONTRACT.encode(),
    "filing.txt": FILING.encode(),
    "chinese.txt": CHINESE.encode(),
    "page.html": f"<html lang=de><title>S</title><h1>A</h1><p>{PROSE}<h2>B</h2><p>{PROSE}".encode(),
    "table.csv": "\n".join(["year,sales", *(f"{1900 + n},{n * 7}" for n in range(200))]).encode(),
    "records.json": b'[{"name": "Aldera", "sales": 7}, {"name": "Birchwood", "sales": 9}]',
    "code.py": b'"""Module."""\n\n\ndef freight(rate):\n    return rate * 2\n',
    "mail.eml": b"From: a@example.org\nSubject: Freight\n\nRates rose in spring.\n",
    "report.pdf": build_pdf([CONTRACT[:600], PROSE[:900]], properties={"Title": "Agreement"}),
    "letter.docx": build_docx(
        paragraph("Part 1", properties='<w:outlineLvl w:val="0"/>') + paragraph(PROSE)
    ),
}


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


SECTIONS, CHUNKS = SectionOptions(max_chars=3_000), ChunkOptions(target=300, max=350)


@pytest.fixture(scope="module", name="base")
def make_base(folder: Path) -> KnowledgeBase:
    base = KnowledgeBase(":memory:", embedder=None, sections=SECTIONS, chunks=CHUNKS)
    for name in FILES:
        assert base.add(folder / name).failed == ()
    return base


def check_parts(document: Document, base: KnowledgeBase) -> None:
    """Check that the public functions divide a document as `add` does."""
    sections = split_sections(document, options=SECTIONS)
    kept = [replace(section, header_tokens=0) for section in base.sections(document.id)]
    assert list(sections) == kept
    chunks = split_chunks(
        document.text,
        sections,
        options=CHUNKS,
        blocks=document.blocks,
        language=document_language(document.text, metadata=document.metadata),
    )
    stored = base.chunks(document.id)
    assert [(c.start, c.end, c.section) for c in stored] == [tuple(chunk) for chunk in chunks]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_parsed_and_divided_as_add_does(
    base: KnowledgeBase, folder: Path, name: str
) -> None:
    document = parse(folder / name)
    assert document == base.get(name)
    check_parts(document, base)


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
@pytest.mark.parametrize("text", [MARKDOWN, CONTRACT, FILING, CHINESE])
def test_a_text_is_parsed_and_divided_as_add_text_does(text: str, media_type: str) -> None:
    with KnowledgeBase(":memory:", embedder=None, sections=SECTIONS, chunks=CHUNKS) as base:
        fields = {"year": 2018}
        base.add_text(text, document_id="a", media_type=media_type, title="T", metadata=fields)  # type: ignore[arg-type]
        document = parse_text(
            text,
            document_id="a",
            media_type=media_type,  # type: ignore[arg-type]
            title="T",
            metadata=fields,
        )
        assert document == base.get("a")
        check_parts(document, base)


def test_metadata_of_the_caller_takes_precedence(folder: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        fields = {"company": "Other", "form": "memo"}
        base.add(folder / "filing.txt", metadata=fields)
        document = parse(folder / "filing.txt", metadata=fields)
        assert document == base.get("filing.txt")
        assert document.given_fields == ("company", "form")


def test_the_limits_of_add_apply(folder: Path) -> None:
    with pytest.raises(FetchError, match="max_file_bytes"):
        parse(folder / "report.md", options=ParseOptions(max_file_bytes=10))
    with pytest.raises(ParseError, match="max_text_bytes"):
        parse(folder / "report.md", options=ParseOptions(max_text_bytes=10))


def test_what_is_no_single_document_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(build_zip({"a.txt": b"text"}))
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_bytes(b" \n")
    with pytest.raises(ParseError, match="container"):
        parse(tmp_path / "a.zip")
    for name in ("empty.txt", "blank.txt"):
        with pytest.raises(ParseError):
            parse(tmp_path / name)
    with pytest.raises(FetchError, match=r"missing\.txt"):
        parse(tmp_path / "missing.txt")
    for wrong in (tmp_path, "https://example.org/a.pdf", 3, ""):
        with pytest.raises(OptionError):
            parse(wrong)  # type: ignore[arg-type]
    for text in ("", " \n", 3, "half \ud800"):
        with pytest.raises((OptionError, ParseError)):
            parse_text(text)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="media_type"):
        parse_text("a", media_type="text/html")  # type: ignore[arg-type]


def test_lengths_depend_on_the_language_only_if_it_is_given() -> None:
    document = spanwise.parse_text(CHINESE)
    sections = split_sections(document)
    plain = split_chunks(document.text, sections)
    dense = split_chunks(document.text, sections, language="zh")
    assert len(dense) > 1.5 * len(plain)

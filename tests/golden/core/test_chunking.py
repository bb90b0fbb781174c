"""Sections, chunks and headers of two of our own documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.conftest import GoldenCheck

from spanwise.core.documents.chunks import split_chunks
from spanwise.core.documents.headers import chunk_header
from spanwise.core.documents.summary import summarise
from spanwise.core.documents.titles import title_words
from spanwise.options import ChunkOptions, HeaderOptions, SectionOptions
from spanwise.packs.known_kinds import document_title, split_sections
from spanwise.parsers.markup.markdown import parse_markdown
from spanwise.parsers.parsed import Source
from spanwise.types import Document

FOLDER = Path(__file__).parent


def read(name: str) -> Document:
    """Return a document of this folder."""
    data = (FOLDER / name).read_bytes()
    if not name.endswith(".md"):
        return Document(id=name, text=data.decode())
    parsed = parse_markdown(Source(data=data, name=name))
    return Document(id=name, text=parsed.text, headings=parsed.headings, blocks=parsed.blocks)


@pytest.mark.parametrize("name", ["manual.md", "contract.txt"])
def test_sections_chunks_and_headers(name: str, golden: GoldenCheck) -> None:
    """They equal the golden file."""
    document = read(name)
    sections = split_sections(document, options=SectionOptions(min_chars=300, max_chars=1_000))
    chunks = split_chunks(document.text, sections, options=ChunkOptions(), blocks=document.blocks)
    title = document_title(document)
    summary = summarise(document.text)
    found = {
        "title": title,
        "title_words": title_words(document, title=title),
        "summary": summary,
        "sections": [asdict(section) for section in sections],
        "headers": [
            chunk_header(title, summary=summary, section_path=section.path, options=HeaderOptions())
            for section in sections
        ],
        "chunks": [[chunk.section, document.text[chunk.start : chunk.end]] for chunk in chunks],
    }
    golden(name, found)

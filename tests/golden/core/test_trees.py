"""Section trees of our own documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import GoldenCheck

from spanwise.core.documents.titles import title_words
from spanwise.packs.known_kinds import cover_fields, document_title, split_sections
from spanwise.types import Document

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", ["charter.txt", "filing.txt"])
def test_sections_of_contracts_and_filings(name: str, golden: GoldenCheck) -> None:
    """Clauses and items make the tree; tables of contents and references do not."""
    text = (FOLDER / name).read_text("utf-8")
    document = Document(id=name, text=text, metadata=cover_fields(text))
    title = document_title(document)
    golden(
        name,
        {
            "fields": dict(document.metadata),
            "title": title,
            "title_words": title_words(document, title=title),
            "sections": [
                [" > ".join(section.path), text[section.start : section.end].strip()[:40]]
                for section in split_sections(document)
            ],
        },
    )

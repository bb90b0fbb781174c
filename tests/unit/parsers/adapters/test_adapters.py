"""Documents of Docling and elements of Unstructured become ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spanwise.parsers.docling import read_docling
from spanwise.parsers.unstructured import read_elements
from spanwise.types import Page

RECORDED = Path(__file__).parent / "recorded"


def test_docling_document_is_read_as_recorded() -> None:
    """`page.docling.json` is what Docling 2.143 made of a page of ours."""
    parsed = read_docling(json.loads((RECORDED / "page.docling.json").read_text("utf-8")))
    assert parsed.text == (
        "Harbour report\n\nShips from 31 countries called.\n\nCargo\n\nCargo in tons\n\n"
        "Kind | 2023\nGrain | 1,204\n\n- Slow down.\n- Six knots\n- Call the pilot.\n\nCALL pilot"
    )
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "Harbour report"), (2, "Cargo")]
    assert [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        ("table", "Kind | 2023\nGrain | 1,204"),
        ("code", "CALL pilot"),
    ]
    assert (parsed.media_type, parsed.pages, parsed.status) == ("text/html", (), "ok")


def docling_text(label: str, text: str, page: int, **fields: object) -> dict[str, Any]:
    return {"label": label, "text": text, "prov": [{"page_no": page}], **fields}


def test_docling_pages_cover_the_text() -> None:
    """Running headers are left out; a page without text is empty."""
    texts = [
        docling_text("page_header", "Report", 1),
        docling_text("title", "Main", 1),
        docling_text("text", "Second page is a picture.", 1),
        docling_text("text", "Third page.", 3),
        {"label": "text", "text": "b", "parent": {"$ref": "#/groups/0"}},
        {"label": "text", "text": "a", "parent": {"$ref": "#/groups/0"}},
        docling_text("caption", "Of the table", 3),
    ]
    cell = {"text": "wide", "start_row_offset_idx": 0, "start_col_offset_idx": 0}
    stored = {
        "body": {
            "children": [
                *({"$ref": f"#/texts/{place}"} for place in range(4)),
                {"$ref": "#/groups/0"},
                {"$ref": "#/tables/0"},
            ]
        },
        "texts": texts,
        "groups": [{"label": "inline", "children": [{"$ref": "#/texts/5"}, {"$ref": "#/texts/4"}]}],
        "tables": [
            {
                "label": "table",
                "captions": [{"$ref": "#/texts/6"}],
                "data": {
                    "grid": [[cell, cell], [{**cell, "start_row_offset_idx": 1, "text": "x"}, cell]]
                },
            }
        ],
    }
    parsed = read_docling(stored, is_whole=False, warnings=("page 2",))
    assert parsed.text == (
        "Main\n\nSecond page is a picture.\n\nThird page.\n\na b\n\nOf the table\n\nwide\nx"
    )
    third = parsed.text.index("Third")
    assert parsed.pages == (
        Page(start=0, end=third),
        Page(start=third, end=third),
        Page(start=third, end=len(parsed.text)),
    )
    assert (parsed.status, parsed.warnings) == ("partial", ("page 2",))


def test_elements_of_unstructured_are_read() -> None:
    """Titles by their depth, tables by their HTML, furniture left out."""

    def element(kind: str, text: str, **metadata: object) -> dict[str, Any]:
        return {"type": kind, "text": text, "metadata": metadata}

    table = "<table><tr><th>name</th><th>age</th></tr><tr><td>Ada</td><td>3</td></tr></table>"
    parsed = read_elements(
        [
            element("Header", "Report", page_number=1),
            element("Title", "Main", page_number=1, category_depth=0, filetype="text/html"),
            element("NarrativeText", "Some text.", page_number=1),
            element("Title", "Part", page_number=2, category_depth=1),
            element("ListItem", "one", page_number=2),
            element("ListItem", "two", page_number=2),
            element("Table", "name age Ada 3", page_number=2, text_as_html=table),
            element("Table", "words alone", page_number=2),
            element("CodeSnippet", "x = 1", page_number=2),
        ]
    )
    assert parsed.text == (
        "Main\n\nSome text.\n\nPart\n\n- one\n- two\n\nname | age\nAda | 3\n\nwords alone\n\nx = 1"
    )
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "Main"), (2, "Part")]
    assert [b.kind for b in parsed.blocks] == ["table", "table", "code"]
    assert [page.start for page in parsed.pages] == [0, parsed.text.index("Part")]
    assert parsed.media_type == "text/html"

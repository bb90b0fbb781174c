"""A text that a program gives, as a document."""

from __future__ import annotations

from typing import Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanwise.ingest.given_parts import given_document
from spanwise.types import Document

MARKDOWN = (
    "---\ntitle: Tides\nauthor: Ada\n---\n# One\r\n\ntext\n\n## Two\n\n| a | b |\n|---|---|\n"
)


def document(
    text: str, media_type: Literal["text/plain", "text/markdown"], *, title: str = ""
) -> Document:
    return given_document(
        text, document_id="d", title=title, metadata={"author": "Bob"}, media_type=media_type
    )


def test_markdown_is_read_where_it_is_said_to_be() -> None:
    read = document(MARKDOWN, "text/markdown")
    assert [heading.title for heading in read.headings] == ["One", "Two"]
    assert [block.kind for block in read.blocks] == ["table"]
    assert (read.title, read.media_type) == ("Tides", "text/markdown")
    plain = document(MARKDOWN, "text/plain")
    assert (plain.headings, plain.blocks, plain.title) == ((), (), "")


def test_what_is_given_goes_before_front_matter() -> None:
    read = document(MARKDOWN, "text/markdown", title="Mine")
    assert (read.title, read.metadata, read.given_fields) == (
        "Mine",
        {"author": "Bob"},
        ("author",),
    )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
@example("\ufeff# A\r\r\n\x0c\x00# B\n")
@settings(max_examples=100, deadline=None)
def test_the_text_stays_character_for_character(text: str) -> None:
    read = document(text, "text/markdown")
    assert read.text == text
    for heading in read.headings:
        assert 0 <= heading.start < heading.end <= len(text)
        assert "\n" not in heading.title


FILING = (
    "SECURITIES AND EXCHANGE COMMISSION\nFORM 10-K\nFor the fiscal year ended May 3, 2020\n"
    "Altby Harbour Inc.\n(Exact name of registrant as specified in its charter)\n"
)


def test_fields_of_the_first_page_stand_behind_those_that_are_given() -> None:
    for media_type in ("text/plain", "text/markdown"):
        read = given_document(
            FILING,
            document_id="d",
            title="",
            metadata={"company": "Mine"},
            media_type=media_type,
        )
        assert read.metadata == {
            "company": "Mine",
            "form": "10-K",
            "fiscal_year": 2020,
            "period_end": "2020-05-03",
            "date": "2020-05-03",
        }
        assert read.given_fields == ("company",)

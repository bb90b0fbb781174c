"""Titles and routing words of documents."""

from dataclasses import replace

import pytest

from spanwise.core.documents.outlines import DocumentKind
from spanwise.core.documents.titles import (
    document_title,
    is_file_name,
    summary_words,
    title_words,
)
from spanwise.types import Document, Heading, MetadataValue

HEADING = Heading(start=0, end=3, level=1, title="The  Heading")


@pytest.mark.parametrize(
    ("document", "title"),
    [
        (
            Document(id="a.txt", text="x", title=" Given\ntitle ", headings=(HEADING,)),
            "Given title",
        ),
        (Document(id="a.txt", text="x", headings=(HEADING,)), "The Heading"),
        (Document(id="docs/Acme_2020_10-K.pdf", text="x"), "Acme 2020 10-K"),
        (Document(id="docs/blue-bird.md", text="x"), "blue bird"),
        (Document(id="docs/pay/index.md", text="x"), "pay index"),
        (Document(id="mail.zip!/inbox/3", text="x"), "inbox 3"),
        (Document(id="https://www.example.org/a%20b/guide.html?x=1", text="x"), "guide"),
        (Document(id="///", text="x"), "///"),
        (Document(id="/", text="x", source="/tmp/From source.txt"), "From source"),
    ],
)
def test_title_comes_from_the_best_source(document: Document, title: str) -> None:
    """Metadata first, then the first heading, then the file name."""
    assert document_title(document) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('The "raise" statement\n*********************\n\nIt raises.\n', 'The "raise" statement'),
        ("\n\nMinutes of May\n==============\n\nPresent: Ann.\n", "Minutes of May"),
        ("SUPPLY AGREEMENT\n\nThis agreement is made.\n", "SUPPLY AGREEMENT"),
        ("CONFIDENTIAL\n\nEXHIBIT 10.1\n\nSUPPLY AGREEMENT\n\nMade in May.\n", "SUPPLY AGREEMENT"),
        ("Notes\n-----\n1. Buy\n", "Notes"),
    ],
)
def test_heading_that_opens_a_plain_text_is_its_title(text: str, title: str) -> None:
    """Stamps and numbers before the heading are skipped."""
    document = Document(id="docs/a.txt", text=text)
    assert document_title(document) == title
    assert title_words(document, title=title) == f"{title} docs" + ("" if " a" in title else " a")


@pytest.mark.parametrize(
    "text",
    [
        "Time: 2026-01-03 09:12\n\nAnn: Did you call the plumber?\n\nBen: Not yet.\n",
        "ANN: HELLO EVERYBODY\n\nBEN: HELLO\n\nANN: LET US BEGIN\n",
        "Ann: hello\n==========\nBen: hello\n",
        "[09:12] Ann joined\n\n[09:13] Ben joined\n",
        "Ann : Good morning everybody .\nBen : Good morning .\n\nANY OTHER BUSINESS\n\nNone.\n",
        "2026-01-03 09:12:11 INFO started\n--------------------------------\n",
        "EXHIBIT 10.1\n\nThis agreement is made.\n",
        "CONFIDENTIAL\n\nDear Ann,\n",
        "1. DEFINITIONS\n\nGoods means paper.\n",
        "Dear Ann,\n\nPRICE LIST\n\nPaper costs more.\n",
        "A first line of prose.\n\nAnother one.\n",
    ],
)
def test_other_first_lines_are_no_title(text: str) -> None:
    """Chats, transcripts, logs, letters and numbered parts are known by their file name."""
    assert document_title(Document(id="kitchen talk.txt", text=text)) == "kitchen talk"


def test_text_under_headings_of_its_parser_is_not_looked_at() -> None:
    """Parser headings take precedence, even if the first one is late."""
    late = Heading(start=9_000, end=9_003, level=1, title="Late")
    text = "TITLE PAGE\n\nSome text.\n" + "x" * 9_010
    assert document_title(Document(id="log.txt", text=text, headings=(late,))) == "log"


def test_late_heading_is_no_title() -> None:
    """A heading deep in the text is about a part of it."""
    late = Heading(start=9_000, end=9_003, level=1, title="Late")
    document = Document(id="log.txt", text="x" * 9_010, headings=(late,))
    assert document_title(document) == "log"


def test_title_words_add_file_name_and_path() -> None:
    """Words of id and source that the title lacks are appended once."""
    document = Document(
        id="finance/2020/Acme_10-K.pdf", text="x", source="/data/ann/finance/2020/Acme_final.pdf"
    )
    assert title_words(document, title="Acme annual report") == (
        "Acme annual report finance 2020 10 K final"
    )


def test_title_words_without_title() -> None:
    """A document without a title is known by its name."""
    assert title_words(Document(id="blue-bird.md", text=""), title="") == "blue bird"


FILING: dict[str, MetadataValue] = {"company": "Altby Harbour", "form": "10-K", "fiscal_year": 2021}


def test_a_kind_may_title_its_documents() -> None:
    """Before its headings; a title that is given goes before it."""
    kinds = [
        DocumentKind(
            cover_fields=lambda _: {},
            cover_title=lambda fields: str(fields.get("case", "")),
            header_line=lambda _fields, _title: "",
            kind_field="court",
            plain_headings=lambda _text, _headings: (),
            headings=lambda _text, _headings: (),
        )
    ]
    document = Document(id="a.pdf", text="x", headings=(HEADING,), metadata={"case": "A v. B"})
    assert document_title(document, kinds=kinds) == "A v. B"
    assert document_title(document) == "The Heading"
    assert document_title(replace(document, title="Given"), kinds=kinds) == "Given"
    given = replace(document, given_fields=("court",))
    assert document_title(given, kinds=kinds) == "The Heading"
    assert document_title(replace(document, metadata={}), kinds=kinds) == "The Heading"


@pytest.mark.parametrize(
    ("levels", "title"),
    [
        ((1, 2, 1), "0"),
        ((2, 2, 3), "0"),
        ((3, 2, 2), "keys faq"),
        ((3, 2, 3), "keys faq"),
        ((2, 1, 1), "keys faq"),
        ((3, 1, 2), "1"),
        ((3, 3, 1), "keys faq"),
    ],
)
def test_first_heading_is_no_title_below_the_level_of_a_later_one(
    levels: tuple[int, ...], title: str
) -> None:
    """Then the only heading of level 1 is the title, if it is near the start."""
    headings = tuple(
        Heading(start=start, end=start + 1, level=level, title=str(number))
        for number, (start, level) in enumerate(zip((0, 1_000, 9_000), levels, strict=True))
    )
    document = Document(id="docs/keys-faq.md", text="x" * 9_001, headings=headings)
    assert document_title(document) == title


def test_stamp_is_no_title() -> None:
    """A parser heading after it is the title."""
    stamp = Heading(start=0, end=3, level=1, title="Table of Contents")
    late = Heading(start=5, end=9, level=1, title="Guide")
    assert document_title(Document(id="a.md", text="x" * 9, headings=(stamp, late))) == "Guide"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("", "a Altby Harbour 10 K 2021"),
        ("Altby Harbour 10-K 2021", "Altby Harbour 10-K 2021 a"),
        ("ALT 10k 2021", "ALT 10k 2021 a Altby Harbour"),
        ("The Harbour", "The Harbour a 10 K 2021"),
    ],
)
def test_title_words_name_company_form_and_year(title: str, expected: str) -> None:
    """Only if title and file name have no word of it."""
    assert title_words(Document(id="a.pdf", text="", metadata=FILING), title=title) == expected


def test_only_new_words_of_a_summary_are_routing_words() -> None:
    """Inflected forms of words in the text are not new; each new word occurs once."""
    texts = ("The ships left a port.", "Leaves; departed")
    summary = "A fleet departing: a ship leaves the harbour, a fleet."
    assert summary_words(summary, texts=texts, language="en") == "fleet harbour"


def test_a_summary_that_was_extracted_has_no_routing_words() -> None:
    text = "It rained.  The fleet\nleft. " + "More. " * 2_000
    for summary in ("", "The fleet left.", "The fleet…"):
        assert summary_words(summary, texts=(text,), language="en") == ""


def test_each_party_of_a_contract_is_a_routing_word() -> None:
    """Unless the title has a word of it."""
    fields: dict[str, MetadataValue] = {
        "agreement": "Berth Lease",
        "parties": ("Altby Harbour", "Wide Waters"),
    }
    document = Document(id="a.pdf", text="", metadata=fields)
    assert title_words(document, title="Altby berths") == "Altby berths a Berth Lease Wide Waters"


@pytest.mark.parametrize(
    "title",
    [
        "lease_final",
        "Lease.docx",
        "EX-10.2",
        "Exhibit 10.2(a)",
        "ex10-2",
        "d4217dex102.htm",
        "dp123",
    ],
)
def test_file_name_is_no_title(title: str) -> None:
    """Nor is the number of an exhibit."""
    assert is_file_name(title)


@pytest.mark.parametrize(
    "title", ["Lease", "Exhibit A", "Lease of the berth_2", "3M 10-K 2018", ""]
)
def test_other_titles_are_no_file_names(title: str) -> None:
    """A title has words."""
    assert not is_file_name(title)

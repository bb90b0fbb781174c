"""Titles and headings of filings, through the kinds of documents that Spanwise knows."""

from dataclasses import replace

from spanwise.packs.known_kinds import document_headings, document_title
from spanwise.types import Document, Heading, Scalar

FILING: dict[str, Scalar] = {"company": "Altby Harbour", "form": "10-K", "fiscal_year": 2021}
HEADING = Heading(start=0, end=3, level=1, title="The  Heading")
BODY = "The harbour lets berths to the owners of boats, as it did in the year before. " * 6 + "\n"


def document(text: str, *marked: tuple[str, int]) -> Document:
    """Return a document whose parser found lines that begin with some words, at some levels."""
    headings, place = [], 0
    for words, level in marked:
        place = text.index(words, place)
        line = text[place:].split("\n", 1)[0]
        end = place + len(line)
        headings.append(Heading(start=place, end=end, level=level, title=line))
        place = end
    return Document(id="d", text=text, headings=tuple(headings))


def outline(found: Document) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in document_headings(found)]


def test_items_stand_above_what_a_parser_found() -> None:
    """Contents and references are no headings; what follows the last item is in none."""
    text = (
        f"COVER\nItem 1. One 3\nPART I\nItem 1. One\n{BODY}Trade\n{BODY}Item 2. Two\n{BODY}"
        f"Item 3. Three\n{BODY}Loss\n{BODY}SIGNATURES\n{BODY}"
    )
    parsed = document(
        text,
        ("COVER", 1), ("Item 1. One 3", 2), ("PART I", 2), ("Item 1. One", 3), ("Trade", 4),
        ("Item 2", 4), ("Loss", 1), ("SIGNATURES", 3),
    )  # fmt: skip
    assert outline(parsed) == [
        (3, "COVER"),
        (1, "PART I"),
        (2, "Item 1. One"),
        (6, "Trade"),
        (2, "Item 2. Two"),
        (2, "Item 3. Three"),
        (3, "Loss"),
        (1, "SIGNATURES"),
    ]


def test_items_of_a_plain_text() -> None:
    """Where no parser found any, the headings of the text stand below the items."""
    text = (
        f"PART I\nItem 1. One\n{BODY}\nTRADE OF BOATS\n\n{BODY}Item 2. Two\n{BODY}Item 3. C\n{BODY}"
    )
    assert outline(document(text)) == [
        (1, "PART I"),
        (2, "Item 1. One"),
        (5, "TRADE OF BOATS"),
        (2, "Item 2. Two"),
        (2, "Item 3. C"),
    ]


def test_filing_is_titled_by_its_first_page() -> None:
    """Before its headings, which are those of the form; a title that is given goes before it."""
    document = Document(id="a.pdf", text="x", headings=(HEADING,), metadata=FILING)
    assert document_title(document) == "Altby Harbour 10-K 2021"
    assert document_title(replace(document, title="Given")) == "Given"
    assert document_title(replace(document, given_fields=("company", "form"))) == "The Heading"

"""The headings of documents: of parsers, kinds and clauses together."""

from collections.abc import Callable, Sequence

import pytest

from spanwise.core.documents.outlines import DocumentKind, document_headings, merge_headings
from spanwise.errors import OptionError
from spanwise.types import Document, Heading

SAID = (
    "The parties agree that the Owner shall do so under this Agreement, notwithstanding what the"
    " harbour master says hereunder."
)
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


def test_the_first_kind_with_headings_decides_alone() -> None:
    """A kind gets the headings of the parser, or those of the text where there are none."""
    seen: list[tuple[str, tuple[Heading, ...]]] = []

    def chapters(text: str, headings: Sequence[Heading]) -> tuple[Heading, ...]:
        seen.append((text, tuple(headings)))
        return merge_headings([Heading(start=0, end=9, level=1, title="Chapter 1")], headings)

    def none(_text: str, _headings: Sequence[Heading]) -> tuple[Heading, ...]:
        return ()

    text = f"Chapter 1\n{BODY}Boats\n1. Use. {SAID}\n2. Law. {SAID}\n"
    parsed = document(text, ("Chapter", 3), ("Boats", 2))
    kinds = [kind(none), kind(chapters), kind(none)]
    found = document_headings(parsed, kinds=kinds)
    assert [(heading.level, heading.title) for heading in found] == [(1, "Chapter 1"), (2, "Boats")]
    assert seen == [(text, parsed.headings)]
    assert document_headings(parsed, kinds=[kind(none)]) == document_headings(parsed)


def kind(headings: Callable[[str, Sequence[Heading]], tuple[Heading, ...]]) -> DocumentKind:
    """Return a kind of documents without a cover."""
    return DocumentKind(
        cover_fields=lambda _: {},
        cover_title=lambda _: "",
        header_line=lambda _fields, _title: "",
        kind_field="kind",
        plain_headings=headings,
        headings=headings,
    )


def test_clauses_are_below_parser_headings() -> None:
    """A heading that is a clause too is the clause; others keep their levels."""
    text = (
        f"Charter\n1. Use. {SAID}\n1.1 Sails. {SAID}\nNotes\n{SAID}\n2. Law. {SAID}\n(a) {SAID}\n"
    )
    assert outline(document(text, ("Charter", 1), ("1. Use", 1), ("Notes", 2))) == [
        (1, "Charter"),
        (2, "1 Use"),
        (3, "1.1 Sails"),
        (2, "Notes"),
        (3, "2 Law"),
        (4, "2(a)"),
    ]


def test_clauses_of_a_plain_text() -> None:
    """They take the place of the headings that begin with them."""
    text = (
        f"CHARTER AGREEMENT\n\n1. USE\n\n{SAID}\n\n2. LAW\n\n{SAID}\n\nSCHEDULE A\n\n3. END\n{SAID}"
    )
    assert outline(document(text)) == [
        (3, "CHARTER AGREEMENT"),
        (3, "1 USE"),
        (3, "2 LAW"),
        (1, "SCHEDULE A"),
        (3, "3 END"),
    ]


def test_other_documents_have_the_headings_of_their_parser() -> None:
    """Nothing is added, nothing is lost."""
    text = f"Harbour\n{BODY}Boats\n{BODY}"
    parsed = document(text, ("Harbour", 1), ("Boats", 2))
    assert document_headings(parsed) == parsed.headings
    assert document_headings(Document(id="d", text="")) == ()


@pytest.mark.parametrize("start", [-1, 3, 5])
def test_headings_must_be_in_order_and_inside_the_text(start: int) -> None:
    """As those of a caller may not be."""
    first = Heading(start=4, end=5, level=1, title="a")
    second = Heading(start=start, end=start + 1, level=1, title="b")
    with pytest.raises(OptionError, match="headings must be in order"):
        document_headings(Document(id="d", text="abcde", headings=(first, second)))

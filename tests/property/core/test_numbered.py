"""Laws of clauses, items, covers and their trees."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.texts import DOCUMENTS, TEXTS

from spanwise.core.documents.clauses import find_clauses
from spanwise.packs.filing_covers import company_name, cover_fields, cover_title
from spanwise.packs.filing_items import find_items
from spanwise.packs.known_kinds import document_headings, split_sections
from spanwise.types import Document

SAID = "The parties agree that the Owner shall do so hereunder. "
_PARTS = st.sampled_from(
    [
        SAID, SAID * 2, "\n", "\n\n", "   ", "Fees. ", "USE\n", "ARTICLE I ", "ARTICLE II\n", "1. ",
        "2. ", "3 Law\n", "1.1 ", "1.2 ", "2.1 ", "(a) ", "(b) ", "(i) ", "(ii) ", "A. ", "B. ",
        "RECITALS\n", "(A) ", "Section 2.2 ", "PART I\n", "Item 1. One\n", "Item 2. Two\n",
        "Item 3. Three 4\n", "SCHEDULE A\n\n", "FORM 10-K\nSecurities and Exchange Commission\n",
        "(Exact name of registrant)\n", "fiscal year ended May 3, 2020\n", "ACME CORP.\n",
    ]
)  # fmt: skip
NUMBERED = st.lists(_PARTS, max_size=60).map("".join)


@given(NUMBERED | TEXTS)
def test_clauses_and_items_are_in_order_at_their_offsets(text: str) -> None:
    """Starts rise, ends lie inside the text, levels are of the scale of all headings."""
    for found in (find_clauses(text), find_items(text)):
        assert all(a.start < b.start for a, b in pairwise(found))
        for heading in found:
            assert 0 <= heading.start < heading.end <= len(text)
            assert heading.level >= 1
            assert heading.title == heading.title.strip() != ""


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=3, max_size=6))
def test_tree_that_was_written_is_read(counts: list[list[int]]) -> None:
    """A contract of clauses, their parts and letters has just these, at their levels."""
    written: list[tuple[int, str]] = []
    lines: list[str] = []
    for number, parts in enumerate(counts, start=1):
        written.append((3, f"{number} Fees"))
        lines.append(f"{number}. Fees. {SAID * 2}")
        for part, letters in enumerate(parts, start=1):
            written.append((4, f"{number}.{part}"))
            lines.append(f"{number}.{part} {SAID * 2}")
            for letter in "abcd"[:letters]:
                written.append((5, f"{number}.{part}({letter})"))
                lines.append(f"({letter}) {SAID * 2}")
    found = find_clauses("\n".join(lines))
    assert [(heading.level, heading.title) for heading in found] == written


@given(NUMBERED, DOCUMENTS)
def test_outline_of_any_document_can_be_cut(text: str, document: Document) -> None:
    """Headings are in order, and the sections that they make are the text."""
    for found in (Document(id="d", text=text), document):
        headings = document_headings(found)
        assert list(headings) == sorted(headings, key=lambda heading: heading.start)
        sections = split_sections(found)
        assert "".join(found.text[s.start : s.end] for s in sections) == found.text


@given(NUMBERED | TEXTS)
def test_covers_are_of_simple_values(text: str) -> None:
    """Fields are those that are documented, and the same for the same text."""
    fields = cover_fields(text)
    assert fields.keys() <= {"company", "form", "fiscal_year", "period_end", "date"}
    assert fields == cover_fields(text)
    assert ("form" in fields) == bool(fields)
    assert bool(cover_title(fields)) == ("company" in fields)


@given(st.text(max_size=100), TEXTS)
def test_name_of_a_company_is_one_line(written: str, text: str) -> None:
    """Short, without spaces around it, and its own name."""
    name = company_name(written, text=text)
    assert name == " ".join(name.split())
    assert len(name) <= 80

"""Statements and notes in the plain text of filings."""

from spanwise.packs.filing_notes import find_captions
from spanwise.packs.known_kinds import document_headings
from spanwise.types import Document

ROWS = "".join(f"Row {row} of the table $ {row},417 {row},308 {row},299\n" for row in range(1, 8))
SAID = "The mill is leased, and the lease ends with the tide. " * 6


def filing(*, head: str = "NOTES TO CONSOLIDATED FINANCIAL STATEMENTS\n") -> str:
    """Return a filing whose statements and notes have no blank lines around them."""
    items = f"PART I\nItem 1. Business\n{SAID}\nItem 2. Properties\n{SAID}\nPART II\n"
    listed = "Consolidated Statements of Income 41\nNOTE 1 — POLICIES 44\nNOTE 2 — LEASES 45\n"
    statements = (
        f"CONSOLIDATED STATEMENTS OF INCOME\n{ROWS}CONSOLIDATED BALANCE SHEETS\n{ROWS}"
        f"CONSOLIDATED STATEMENTS OF COMPREHENSIVE\nINCOME\n{ROWS}"
    )
    notes = "".join(
        f"NOTE {number} — {title}\n{SAID}\nNote {number} to our statements says more.\n"
        for number, title in enumerate(("POLICIES", "LEASES", "INCOME TAXES"), start=1)
    )
    return f"{items}Item 8. Financial Statements\n{listed}{SAID}\n{statements}{head}{notes}"


def test_statements_and_notes_are_headings_of_a_filing() -> None:
    """They are below their item; notes are below the heading of all notes."""
    headings = document_headings(Document(id="report", text=filing()))
    assert [(heading.level, heading.title) for heading in headings][4:] == [
        (2, "Item 8. Financial Statements"),
        (3, "CONSOLIDATED STATEMENTS OF INCOME"),
        (3, "CONSOLIDATED BALANCE SHEETS"),
        (3, "CONSOLIDATED STATEMENTS OF COMPREHENSIVE INCOME"),
        (3, "NOTES TO CONSOLIDATED FINANCIAL STATEMENTS"),
        (4, "NOTE 1 — POLICIES"),
        (4, "NOTE 2 — LEASES"),
        (4, "NOTE 3 — INCOME TAXES"),
    ]


def test_notes_without_a_common_heading_follow_the_statements() -> None:
    """They are then on the level of the statements."""
    captions = find_captions(filing(head=""))
    assert {caption.level for caption in captions} == {1}
    assert len(captions) == 6


def test_a_name_without_figures_is_no_statement() -> None:
    """A list of statements and a sentence about one are not statements."""
    text = f"CONSOLIDATED BALANCE SHEETS\nCONSOLIDATED STATEMENTS OF INCOME\n{SAID}"
    assert find_captions(text) == ()


def test_two_notes_are_too_few() -> None:
    """Fewer than three notes are not a sequence."""
    assert find_captions(f"NOTE 1 — POLICIES\n{SAID}\nNOTE 2 — LEASES\n{SAID}\n") == ()


def test_a_text_that_is_no_filing_keeps_its_own_headings() -> None:
    """Statements are headings of filings only."""
    text = f"CONSOLIDATED BALANCE SHEETS\n{ROWS}"
    assert document_headings(Document(id="sheet", text=text)) == ()

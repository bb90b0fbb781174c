"""Parts and items of filings."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.growth import assert_linear_time

from spanwise.packs.filing_items import filing_headings, find_items, is_after_items, is_item
from spanwise.packs.known_kinds import split_sections
from spanwise.types import Document, Heading

BODY = "The harbour lets berths to the owners of boats, as it did in the year before. " * 6 + "\n"
CONTENTS = """PART I Page
Item 1. Business 3
Item 1A. Risk Factors | 5
PART II
Item 7. Management's Discussion 12
Item 8. Financial Statements 20
"""


def titles(text: str) -> list[str]:
    """Return level and title of each part and item."""
    return [f"{heading.level} {heading.title}" for heading in find_items(text)]


def document_of(parts: Sequence[tuple[str, int, str]]) -> Document:
    """Return a document with the headings of a parser: title, level and text of each part."""
    text, headings = "", []
    for title, level, body in parts:
        start = len(text)
        headings.append(Heading(start=start, end=start + len(title), level=level, title=title))
        text += f"{title}\n{body}"
    return Document(id="a", text=text, headings=tuple(headings))


def test_parts_and_items_are_found_behind_the_contents() -> None:
    """Lines with the number of a page, and those before them, are no items."""
    text = (
        f"{CONTENTS}PART I\nItem 1. Business\n{BODY}ITEM 1A - RISK FACTORS\n{BODY}"
        f"  Part II\nItem 7.\n{BODY}Item 8. | Financial Statements\n{BODY}"
    )
    assert titles(text) == [
        "1 PART I",
        "2 Item 1. Business",
        "2 ITEM 1A - RISK FACTORS",
        "1 Part II",
        "2 Item 7.",
        "2 Item 8. Financial Statements",
    ]
    for heading in find_items(text):
        line = text[heading.start : heading.end]
        assert line == line.strip()
        assert " ".join(line.replace("|", " ").split()) == heading.title


def test_contents_without_pages_have_no_text_under_them() -> None:
    """Of several that are in order, those with the most text are taken."""
    contents = "PART I\nItem 1. Business\nItem 2. Properties\nPART II\nItem 5. Market\n"
    text = f"{contents}{contents.replace('Item', BODY + 'ITEM')}{BODY}"
    assert titles(text)[1:3] == ["2 ITEM 1. Business", "2 ITEM 2. Properties"]
    assert len(titles(text)) == 5


def test_long_aside_behind_a_title_makes_it_no_sentence() -> None:
    """Numbers inside statements are not items."""
    aside = f"({'amounts in millions, except per share and warehouse data, ' * 3}and so on)"
    title = f"2 Item 7. Discussion and Analysis {aside}"
    text = f"PART II\nItem 6. [Reserved]\n{title[2:]}\n{BODY}Item 8. Statements\n{BODY}"
    assert title in titles(text)


def test_part_whose_line_is_missing_begins_before_its_first_item() -> None:
    """Of an annual report, whose items are numbered through all parts."""
    text = (
        f"PART I\nItem 1. Business\n{BODY}Item 4. Mine Safety\n{BODY}Item 5. Market\n{BODY}"
        f"Item 9A. Controls\n{BODY}Item 10. Directors\n{BODY}PART IV\nItem 15. Exhibits\n{BODY}"
    )
    assert titles(text) == [
        "1 PART I",
        "2 Item 1. Business",
        "2 Item 4. Mine Safety",
        "1 PART II",
        "2 Item 5. Market",
        "2 Item 9A. Controls",
        "1 PART III",
        "2 Item 10. Directors",
        "1 PART IV",
        "2 Item 15. Exhibits",
    ]
    document = Document(id="report", text=text, headings=find_items(text))
    paths = [section.path for section in split_sections(document)]
    assert ("PART II", "Item 5. Market") in paths
    assert ("PART III", "Item 10. Directors") in paths


def test_statements_and_notes_are_siblings_whatever_their_type() -> None:
    """A parser ranks headings by type, and the names of statements are set in several."""
    rows = "".join(f"Ships of kind {kind} | {kind * 7} | {kind * 9}\n" for kind in range(10, 18))
    parts = [
        ("PART II", 1, BODY),
        ("Item 7. Discussion", 2, BODY),
        ("Item 8. Financial Statements", 2, BODY),
        ("Report of Management", 1, BODY),
        ("CONSOLIDATED BALANCE SHEETS", 2, rows),
        ("Consolidated statements of income (unaudited)", 3, rows),
        ("Notes to Consolidated Financial Statements", 2, BODY),
        ("Note 1. Ships", 4, BODY),
        ("Derivative Impact on the Statements of Income", 6, rows),
        ("Note 2. Boats, net", 5, BODY),
        ("Item 9. Controls", 2, BODY),
    ]
    document = document_of(parts)
    headings = filing_headings(document.text, document.headings)
    found = {heading.title: heading.level for heading in headings}
    statements = ("CONSOLIDATED BALANCE SHEETS", "Consolidated statements of income (unaudited)")
    assert [found[title] for title in (*statements, parts[6][0])] == [3, 3, 3]
    assert found["Note 1. Ships"] == found["Note 2. Boats, net"] == 4
    assert found["Derivative Impact on the Statements of Income"] > 4


@pytest.mark.parametrize("index", ["", "Index to Consolidated Financial Statements"])
def test_statements_after_the_signatures_are_not_below_them(index: str) -> None:
    """The head of a table of signatures is no signature."""
    rows = "".join(f"Ships of kind {kind} | {kind * 7} | {kind * 9}\n" for kind in range(10, 18))
    parts = [
        ("PART IV", 1, BODY),
        ("Item 14. Fees", 2, BODY),
        ("Item 15. Exhibits", 2, BODY),
        ("Item 16. Summary", 2, BODY),
        ("Signatures", 1, BODY),
        ("Signature Capacity", 1, BODY),
        *([(index, 2, BODY)] if index else []),
        ("Report of Independent Registered Public Accounting Firm", 2, BODY),
        ("CONSOLIDATED BALANCE SHEETS", 3, rows),
        ("Notes to Consolidated Financial Statements", 2, BODY),
        ("Note 1. Ships", 4, BODY),
        ("Exhibit 99.2", 1, BODY),
        ("CONSOLIDATED STATEMENTS OF INCOME", 2, rows),
    ]
    document = document_of(parts)
    document = replace(document, headings=filing_headings(document.text, document.headings))
    above = {section.path[-1]: section.path[:-1] for section in split_sections(document)}
    expected = (index,) if index else ()
    assert above["Report of Independent Registered Public Accounting Firm"] == expected
    assert above["CONSOLIDATED BALANCE SHEETS"] == expected
    notes = "Notes to Consolidated Financial Statements"
    assert above["Note 1. Ships"] == (*expected, notes)
    assert above["Signature Capacity"] == ("Signatures",)


def test_items_restart_in_each_part_of_a_quarterly_report() -> None:
    """The part of an item follows from the order of the form."""
    part = f"Item 1. One\n{BODY}Item 2. Two\n{BODY}"
    text = f"PART I\n{part}PART II\n{part}"
    items = ["2 Item 1. One", "2 Item 2. Two"]
    assert titles(text) == ["1 PART I", *items, "1 PART II", *items]


def test_items_may_precede_the_first_named_part() -> None:
    """The first part may have no line."""
    text = f"Item 1. One\n{BODY}Item 2. Two\n{BODY}PART II\nItem 1. Law\n{BODY}"
    assert titles(text)[-2:] == ["1 PART II", "2 Item 1. Law"]
    assert len(titles(text)) == 4


def test_items_of_events_have_decimals() -> None:
    """As those of current reports do."""
    text = f"Item 2.02 Results\n{BODY}Item 5.07 Votes\n{BODY}Item 9.01 Exhibits\n{BODY}"
    assert [title[:11] for title in titles(text)] == ["2 Item 2.02", "2 Item 5.07", "2 Item 9.01"]


def test_items_of_foreign_companies_have_more_letters() -> None:
    """Their yearly form counts up to 16K."""
    text = f"Item 16J. Trading\n{BODY}Item 16K. Safety\n{BODY}Item 17. Statements\n{BODY}"
    assert titles(text)[:2] == ["2 Item 16J. Trading", "2 Item 16K. Safety"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"Item 1. One\n{BODY}Item 2. Two\n{BODY}",
        f"PART I\n{BODY}PART II\n{BODY}PART III\n{BODY}",
        f"as said in\nItem 8 of this report\n{BODY}\nItem 9, above\n{BODY}\nItem 10 and\n",
        f"item one\n{BODY}\nitemise\n{BODY}\npartly\n",
        "Item 1. One\n" * 2_001,
        "".join(f"Item {at // 99 + 1}.{at % 99:02d} One\n{BODY}" for at in range(101)),
        f"Item 0.01 Nil\n{BODY}Item 1. One\n{BODY}Item 2.02 Two\n{BODY}",
        f"Item 1. Minutes\n{BODY}Item 2. Budget\n{BODY}Item 3. Boats\n{BODY}",
        CONTENTS,
        "Item 1. " + "Long " * 40 + "\nItem 2. " + "Long " * 40 + "\nItem 3. " + "Long " * 40,
    ],
)
def test_other_texts_have_no_items(text: str) -> None:
    """Fewer than three, references, and lists without an end or order are no filing."""
    assert find_items(text) == ()


def test_headings_of_items_are_recognised() -> None:
    """Headings of items, and headings after the last item."""
    assert is_item("Item 7. Management's Discussion")
    assert is_item("PART IV")
    assert not is_item("Item 8 of this report")
    assert not is_item("Properties")
    assert is_after_items("SIGNATURES")
    assert is_after_items("Exhibit 21")
    assert not is_after_items("Notes")


@pytest.mark.parametrize(
    "line", ["Item 1. One\n", "PART I\n", "PART I\nItem 1. A 1\n", "Item ", "\n "]
)
def test_time_is_linear_in_the_text(line: str) -> None:
    """For repeated text."""
    assert_linear_time(find_items, lambda chars: line * (chars // len(line)), size=25_000)

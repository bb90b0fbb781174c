"""Headings of plain text."""

import pytest
from tests.growth import assert_linear_time

from spanwise.core.documents.headings import find_headings

CONTRACT = """NON-DISCLOSURE AGREEMENT

This Agreement is made by the parties.

ARTICLE I. DEFINITIONS

1.1 Confidential Information

As used herein, Section 5 of the Act applies.

1.2 Term of the Agreement

It ends.

ARTICLE II
OBLIGATIONS

Schedule A - Fees
The fees are these.

Governing Law
=============
English law.
"""


def test_headings_of_a_contract() -> None:
    """Named, numbered, capital and underlined headings are found with their levels."""
    found = [(heading.level, heading.title) for heading in find_headings(CONTRACT)]
    assert found == [
        (3, "NON-DISCLOSURE AGREEMENT"),
        (2, "ARTICLE I. DEFINITIONS"),
        (4, "1.1 Confidential Information"),
        (4, "1.2 Term of the Agreement"),
        (2, "ARTICLE II"),
        (1, "Schedule A - Fees"),
        (1, "Governing Law"),
    ]


def test_rules_of_stars_are_the_outermost_level() -> None:
    """Without rules of stars, the others start at the top level."""
    lower = "Names\n=====\nOf things.\n\nScopes\n------\nOf names.\n"
    found = [(heading.level, heading.title) for heading in find_headings(lower)]
    assert found == [(1, "Names"), (2, "Scopes")]
    text = f"Execution model\n***************\n\n{lower}"
    found = [(heading.level, heading.title) for heading in find_headings(text)]
    assert found == [(1, "Execution model"), (2, "Names"), (3, "Scopes")]


def test_heading_ranges_are_whole_lines() -> None:
    """The range of a heading is its line without the line break."""
    text = "PART I\r\n\r\n  ITEM 1. Business\r\n\r\nWe sell.\r\n"
    lines = [text[heading.start : heading.end] for heading in find_headings(text)]
    assert lines == ["PART I", "  ITEM 1. Business"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n\n",
        "One line of text.",
        "We refer to\nSection 5 of the Agreement, which\nsays so.",
        "item 4 of the list\n\nis here",
        "1. Buy milk\n2. Buy eggs\n3. Go home\n",
        "\n1. The seller shall deliver the goods on time.\n\n",
        "\n\nITEM 1. Business ........ 4\n\n",
        "\n\nITEM 7. Management   34\n\n",
        "\n\nEXHIBIT A - LEASE EXHIBIT B - BOATS\n\n",
        "\n\n12 Main Street\n\n",
        "\n\nFOO_BAR = 1\n\n",
        "\n\n10.5 12.7\n\n",
        "\n\nA | B | C\n\n",
        "\n\n---\n\n",
        "name\n-----|----\n",
        "\n\n* * *\n\n***\n\n",
        "Hello\n*=*=*\n",
        "A sentence that stands over a rule that is much longer.\n-----\n",
        "text before it\nTitle\n=====\n",
        "x" * 500 + "\n=====\n",
    ],
)
def test_text_is_no_heading(text: str) -> None:
    """Doubtful lines are text: lists, contents, addresses, code, tables, references."""
    assert find_headings(text) == ()


def test_heads_of_pages_are_no_headings() -> None:
    """Upper-case lines that repeat are page headers."""
    page = "\n\nANNUAL REPORT\n\nSome text.\n"
    assert len(find_headings(page * 3)) == 3
    assert find_headings(page * 4) == ()


def test_a_list_of_exhibits_is_no_heading() -> None:
    """It is part of the contents; the exhibits themselves come at the end."""
    names = ("Schedule 1.16 Calendar", "Exhibit A Brand Plan", "Exhibit B Fees")
    listed = "\n\n".join(names)
    body = "ARTICLE I. DEFINITIONS\n\n" + "The parties agree on it. " * 30
    exhibits = "\n\n".join(f"{name}\n\nSome text." for name in names)
    text = f"{listed}\n\n\nBRAND AGREEMENT\n\n{body}\n\n{exhibits}"
    titles = [heading.title for heading in find_headings(text)]
    assert titles == ["BRAND AGREEMENT", "ARTICLE I. DEFINITIONS", *names]
    omitted = f"BRAND AGREEMENT\n\n{body}\n\n{listed}"
    assert [heading.title for heading in find_headings(omitted)][2:] == list(names)


@pytest.mark.parametrize(
    "line", ["a\n", "\n", "1. FOO BAR\n\n", "A", " ", "\n ", "=====\n", "ARTICLE I\n", ". "]
)
def test_time_is_linear_in_the_text(line: str) -> None:
    """For repeated text."""
    assert_linear_time(find_headings, lambda chars: line * (chars // len(line)), size=25_000)

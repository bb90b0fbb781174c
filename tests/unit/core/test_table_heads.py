"""Table heads are searched with each part of a table."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spanwise.core.documents.chunks import ChunkSpan
from spanwise.core.documents.headers import column_heads, searched_text, table_heads
from spanwise.types import Block, Section


def heads(text: str, *, cuts: tuple[str, ...], kind: str = "table", before: str = "") -> list[str]:
    """Return the table heads of the chunks of one section "Ships"."""
    whole = f"{before}{text}"
    section = Section(start=0, end=len(whole), title="Ships", path=("Ships",))
    block = Block(start=len(before), end=len(whole), kind="table" if kind == "table" else "code")
    places = [0, *(whole.index(cut) for cut in cuts), len(whole)]
    spans = [ChunkSpan(a, b, 0) for a, b in pairwise(places)]
    return table_heads(whole, sections=[section], blocks=[block], chunks=spans)


def test_later_parts_get_title_and_head() -> None:
    """The first part contains both."""
    text = "Fleet\n(in thousands)\nYear | 2022 | 2021\nBoats | 12 | 14\nBarges | 1,577 | 4"
    assert heads(text, cuts=("Barges",)) == ["", "Ships\nFleet\n(in thousands)\nYear | 2022 | 2021"]


def test_a_table_below_text_gets_the_section_title() -> None:
    """Its head is in the chunk."""
    text = " | 2022\nBoats | 12"
    found = heads(text, cuts=(" | 2022",), before="Words of the section.\n\n")
    assert found == ["", "Ships"]


def test_a_table_without_a_head_has_an_empty_head() -> None:
    """Its first line is a row."""
    assert heads("Boats | 12\nBarges | 4", cuts=("Barges",)) == ["", "Ships"]


@pytest.mark.parametrize("row", ["Boats | wood", "- | oak"])
def test_the_first_line_heads_a_table_of_words(row: str) -> None:
    """Without a figure, the start of the rows is unknown."""
    lines = "\n".join([row] * 9)
    assert heads(f"Kind | Made of\n{lines}\nLast | iron", cuts=("Last",)) == [
        "",
        "Ships\nKind | Made of",
    ]


def test_code_and_text_have_no_table_head() -> None:
    """A name precedes its use."""
    assert heads("a = 1\nb = 2", cuts=("b",), kind="code") == ["", ""]
    assert table_heads("", sections=[], blocks=[], chunks=[]) == []


def test_long_heads_are_cut() -> None:
    """One line of a thousand words is no head."""
    text = f"{'word ' * 500}\nBoats | 12\nBarges | 4"
    _, head = heads(text, cuts=("Barges",))
    assert len(head) < 420


@pytest.mark.parametrize(
    ("opening", "head"),
    [
        ("Fleet\n | 2022 | 2021\nAt sea\nSmall:\nBoats | 12 | 14\n", "Fleet\n | 2022 | 2021"),
        ("Fleet\n | 12/31/2022 | 12/31/2021\nBoats | 12 | 14", "Fleet\n | 12/31/2022 | 12/31/2021"),
        ("| Boat | Oars |\n|---|---|\n| Kiff | 4 |", "| Boat | Oars |\n|---|---|"),
        ("(in thousands)\nBoats | 12 | 14", "(in thousands)"),
        ("Boats | 12 | 14\nBarges | 4 | 5", ""),
        ("+---+---+\n| a | b |\n+---+---+", ""),
        ("", ""),
    ],
)
def test_the_head_for_a_reader_ends_with_its_columns(opening: str, head: str) -> None:
    """Names of the first rows are left out, and lines that only draw."""
    assert column_heads(opening) == head


def test_search_sees_the_head_before_the_text() -> None:
    """On lines of their own, so that no word runs into another."""
    assert searched_text("12", table_head="Ships", context="") == "Ships\n12"
    assert searched_text("12", table_head="", context="") == "12"
    assert searched_text("12", table_head="Ships", context="Of 1900.") == "Of 1900.\nShips\n12"

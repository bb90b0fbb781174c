"""Text, headings and tables from a model's Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.documents.page_markdown import (
    PageText,
    name_pages,
    pages_read_from_images,
    read_markdown,
)

PAGE = """
# Results

## Revenue by **region**

The *north* grew by **4 per cent**.


| Region | 2019 | 2020 |
|:-------|-----:|-----:|
| North  | 1,000 | 1,040 |
| South  | 900 |  |
Total above | not a row

After the table. a \\| b
"""


def marked(page: PageText) -> list[str]:
    return [page.text[one.start : one.end] for one in page.headings]


def tables(page: PageText) -> list[str]:
    return [page.text[one.start : one.end] for one in page.blocks]


def test_headings_tables_and_paragraphs_are_found() -> None:
    page = read_markdown(PAGE)
    assert page.text == (
        "Results\n\nRevenue by region\n\nThe *north* grew by 4 per cent.\n\n"
        "Region | 2019 | 2020\nNorth | 1,000 | 1,040\nSouth | 900\nTotal above | not a row\n\n"
        "After the table. a | b"
    )
    assert [(one.level, one.title) for one in page.headings] == [
        (1, "Results"), (2, "Revenue by region")
    ]  # fmt: skip
    assert marked(page) == ["Results", "Revenue by region"]
    assert tables(page) == ["Region | 2019 | 2020\nNorth | 1,000 | 1,040\nSouth | 900"]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("", ""),
        ("\n \n", ""),
        ("```markdown\nInside\n```", "Inside"),
        ("| a |  | c |", "a |  | c"),
        ("|---|---|", ""),
        ("| | |", ""),
        ("a\x0bb\r\nc", "a\nb\nc"),
        ("#hashtag", "#hashtag"),
        ("# ---", "---"),
    ],
)
def test_odd_lines(markdown: str, text: str) -> None:
    page = read_markdown(markdown)
    assert (page.text, page.headings, page.blocks) == (text, (), ())


def test_text_between_tables_separates_them() -> None:
    page = read_markdown("| a | b |\n| c | d |\n\n| e | f |\n| g | h |\n# H\n| alone |")
    assert tables(page) == ["a | b\nc | d", "e | f\ng | h"]
    assert marked(page) == ["H"]


LINES = st.sampled_from(
    [
        "# A",
        "## B b",
        "",
        " ",
        "text",
        "| a | b |",
        "|---|",
        "||",
        "| |",
        "```",
        "**",
        "# ",
        "**x**",
    ]
)


@given(st.lists(LINES | st.text(max_size=8), max_size=30))
def test_headings_and_tables_are_in_order_and_inside_the_text(lines: list[str]) -> None:
    page = read_markdown("\n".join(lines))
    assert page.text == page.text.strip("\n")
    for ranges in (page.headings, page.blocks):
        last = 0
        for one in ranges:
            assert last <= one.start < one.end <= len(page.text)
            last = one.end
    for heading in page.headings:
        assert page.text[heading.start : heading.end] == heading.title == heading.title.strip()


@pytest.mark.parametrize("numbers", [[3], [1, 2, 3], [2, 4, 5, 9], list(range(1, 40, 2))])
def test_pages_named_in_a_warning_are_found_again(numbers: list[int]) -> None:
    read = f"{name_pages(numbers)} of 50 read by OCR (tesseract)"
    others = ["page 50 of 50 not read by OCR", "page 49 of 50 cannot be read", "read by me"]
    assert pages_read_from_images([*others, read]) == frozenset(numbers)
    assert pages_read_from_images(others) == frozenset()

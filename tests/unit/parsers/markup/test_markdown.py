"""Markdown keeps its source; headings and blocks point into it."""

from __future__ import annotations

import pytest

from spanwise.parsers.markup.markdown import parse_markdown
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str) -> Parsed:
    return parse_markdown(Source(data=text.encode(), name="a.md"))


def headings(text: str) -> list[tuple[int, str, str]]:
    parsed = parse(text)
    return [(h.level, h.title, parsed.text[h.start : h.end]) for h in parsed.headings]


def test_text_is_the_source() -> None:
    """Nothing is changed, line ends included."""
    text = "---\r\ntitle: x\r\n---\r\n# A\r\n\r\ntext  \r\n"
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# One\n\n### Three ###\n", [(1, "One", "# One"), (3, "Three", "### Three ###")]),
        ("Two lines\nof it\n===\n", [(1, "Two lines of it", "Two lines\nof it\n===")]),
        ("## A *b* `c` [d](e) ![f](g)", [(2, "A b c d f", "## A *b* `c` [d](e) ![f](g)")]),
        ("# A &amp; B \\# {#id .x}", [(1, "A & B #", "# A &amp; B \\# {#id .x}")]),
        ("# \n\ntext", []),
        ("```\n# code\n```\n", []),
        ("> # quoted\n\n- # item\n", []),
        ("a\r# B\rc", [(1, "B", "# B")]),
        ("x\x0bx\u2028y\x0cz\x85\n# B", [(1, "B", "# B")]),
        ("   # Indented", [(1, "Indented", "# Indented")]),
    ],
)
def test_headings_are_found_where_they_stand(
    source: str, expected: list[tuple[int, str, str]]
) -> None:
    """Level, words without markup, and the line as it is."""
    assert headings(source) == expected


def test_front_matter_is_metadata_and_no_heading() -> None:
    """Its closing line would make a setext heading of the field above it."""
    parsed = parse(
        "---\ntitle: \"A: b\" # c\nauthor: 'M. E.'\ndate: 2018-02-12T10:00\ntags: [a]\n---\n# H\n"
    )
    assert parsed.title == "A: b"
    assert parsed.metadata == {"author": "M. E.", "date": "2018-02-12", "tags": "a"}
    assert [h.title for h in parsed.headings] == ["H"]


@pytest.mark.parametrize(
    "source", ["---\ntitle: x\n\n# H\n", "text\n---\ntitle: x\n---\n", "----\ntitle: x\n----\n"]
)
def test_what_only_looks_like_front_matter_is_text(source: str) -> None:
    """It must be the first line, three hyphens, and end."""
    assert parse(source).title == ""


@pytest.mark.parametrize("value", ["[a, b]", "|", "&x y", '"open', "# comment", '""'])
def test_front_matter_that_is_no_plain_scalar_is_left_alone(value: str) -> None:
    """A title is one scalar on one line."""
    assert parse(f"---\ntitle: {value}\n---\ntext").title == ""


def test_front_matter_alone_is_text_too() -> None:
    """A file of nothing else keeps its characters."""
    parsed = parse("---\ntitle: x\n---")
    assert (parsed.text, parsed.title, parsed.headings) == ("---\ntitle: x\n---", "x", ())


def test_tables_and_code_are_blocks_of_whole_lines() -> None:
    """Fences belong to their block; nested ones are found too."""
    table = "| x | y |\n|---|---|\n| 1 | 2 |"
    text = f"a\n\n{table}\n\n```py\nb\n\nc\n```\n\n- item\n\n  ```\n  d\n  ```\n"
    parsed = parse(text)
    assert [(b.kind, text[b.start : b.end]) for b in parsed.blocks] == [
        ("table", table),
        ("code", "```py\nb\n\nc\n```"),
        ("code", "  ```\n  d\n  ```"),
    ]


def test_byte_order_mark_does_not_hide_the_first_heading() -> None:
    """The text begins after the mark."""
    parsed = parse("\ufeff# A")
    assert (parsed.text, parsed.headings[0].start) == ("# A", 0)

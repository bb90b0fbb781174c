"""AsciiDoc keeps its source; headings and blocks point into it."""

from __future__ import annotations

import pytest

from spanwise.parsers.markup.lightweight_markup import parse_asciidoc
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str) -> Parsed:
    return parse_asciidoc(Source(data=text.encode(), name="a.adoc"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("= Main\n\n== Part\n\n=== Deep ===\n", [(1, "Main"), (2, "Part"), (3, "Deep")]),
        ("# Main\n\n## Part", [(1, "Main"), (2, "Part")]),
        ("Main\n====\n\nPart\n----\n\nDeep\n~~~~\n", [(1, "Main"), (2, "Part"), (3, "Deep")]),
        ("[[lend]]\nPart\n----\n", [(2, "Part")]),
        ("a line of text\nPart\n----\nx\n----\n", []),
        ("[[id]]\n== Lend *it* {x} <<a,b>> https://a.b[link] [[y]]", [(2, "Lend it {x} b link")]),
        ("= The {product}\n:product: Boat\n", [(1, "The Boat")]),
        ("----\n== code\n----\n== Part", [(2, "Part")]),
        ("|===\n== cell\n|===", []),
        ("====\n== in an example\n====\n", []),
        ("```ruby\n== code\n```\n", []),
        ("////\n== comment\n////\n", []),
        ("----\n== never ended\n", [(2, "never ended")]),
        ("==no space", []),
    ],
)
def test_titles_have_levels(source: str, expected: list[tuple[int, str]]) -> None:
    """By their signs or their underline; inside a block they are none."""
    assert [(h.level, h.title) for h in parse(source).headings] == expected


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("----\nx\n----", "code"),
        ("....\nx\n....", "code"),
        ("```\nx\n```", "code"),
        ("|===\n|a |b\n\n|1 |2\n|===", "table"),
        (",===\na,b\n,===", "table"),
    ],
)
def test_blocks_are_whole_lines(source: str, kind: str) -> None:
    """With their delimiters."""
    parsed = parse(f"text\n\n{source}\n\ntext\n")
    assert [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks] == [(kind, source)]


def test_other_blocks_are_text() -> None:
    """Examples and sidebars hold paragraphs."""
    assert parse("****\nx\n****\n\n--\ny\n--\n").blocks == ()


@pytest.mark.parametrize(
    "source",
    [
        "= Main\nAda Quill <a@b.c>\nv1.0, 2024-05-01: first\n\ntext",
        "= Main\n:author: Ada Quill\n:revdate: 2024-05-01\n\ntext",
    ],
)
def test_header_is_metadata(source: str) -> None:
    """Author and date, as lines or as attributes."""
    assert parse(source).metadata == {"author": "Ada Quill", "date": "2024-05-01"}


def test_text_under_a_title_is_no_author() -> None:
    """A blank line ends the header, and a sentence is no name."""
    assert parse("= Main\n\nAda Quill\n").metadata == {}
    assert parse("= Main\nIt floats, 3 of them.\n").metadata == {}


def test_nothing_is_included() -> None:
    """A macro that names a file is text."""
    assert parse("include::/etc/passwd[]\n").text == "include::/etc/passwd[]\n"


def test_blocks_that_never_end_take_linear_time() -> None:
    """Each would be looked for to the end of the file; what comes below is read."""
    lines = [sign * length for sign in "-.*_+/" for length in range(5, 1000)]
    parsed = parse("\n".join([*lines, *["x"] * 20_000, "", "== Below"]))
    assert [heading.title for heading in parsed.headings] == ["Below"]

"""reStructuredText keeps its source; headings and blocks point into it."""

from __future__ import annotations

import pytest

from spanwise.parsers.markup.lightweight_markup import parse_restructuredtext
from spanwise.parsers.parsed import Parsed, Source


def parse(text: str) -> Parsed:
    return parse_restructuredtext(Source(data=text.encode(), name="a.rst"))


def headings(text: str) -> list[tuple[int, str, str]]:
    parsed = parse(text)
    return [(h.level, h.title, parsed.text[h.start : h.end]) for h in parsed.headings]


def blocks(text: str) -> list[tuple[str, str]]:
    parsed = parse(text)
    return [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A\n=\n\nBee\n---\n\nCee\n===\n", [(1, "Bee"), (2, "Cee")]),
        (
            "====\nMain\n====\n\nPart\n====\n\nDeep\n----\n\nNext\n====\n",
            [(1, "Main"), (2, "Part"), (3, "Deep"), (2, "Next")],
        ),
        ("*****\n Set\n*****\n", [(1, "Set")]),
        ("A long title\n------\n", [(1, "A long title")]),
        ("A long title\n---\n", []),
        ("a paragraph\nof two lines\n------------\n", []),
        ("text\n\n----------\n\ntext\n", []),
        ("Literal::\n\n    Title\n    =====\n", []),
        (".. note::\n\n   Title\n   =====\n", []),
        ("Use :ref:`the port <p>` of *x* ``y`` `z`_\n" + "=" * 50, [(1, "Use the port of x y z")]),
        (".. _label:\n\nTitle\n=====\n", [(1, "Title")]),
    ],
)
def test_adornments_make_titles(source: str, expected: list[tuple[int, str]]) -> None:
    """Levels in order of first appearance; what is indented is none."""
    assert [(level, title) for level, title, _ in headings(source)] == expected


def test_heading_holds_its_adornment() -> None:
    """The lines as they stand."""
    assert headings("text\n\n====\nMain\n====\n") == [(1, "Main", "====\nMain\n====")]


GRID = "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+"
SIMPLE = "===  ===\na    b\n===  ===\n1    2\n\n3    4\n===  ==="
LIST = ".. list-table::\n\n   * - a\n     - b"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"text\n\n{GRID}\n\ntext", [("table", GRID)]),
        (f"{SIMPLE}\n\ntext\n\n{SIMPLE}\n", [("table", SIMPLE), ("table", SIMPLE)]),
        (f"{LIST}\n\ntext", [("table", LIST)]),
        (
            ".. code-block:: python\n\n   x = 1\n\n   y = 2\ntext",
            [("code", ".. code-block:: python\n\n   x = 1\n\n   y = 2")],
        ),
        ("Like this::\n\n   x = 1\n\ntext", [("code", "   x = 1")]),
        (
            ".. note:: see\n\n   .. code::\n\n      x\n\n   text",
            [("code", "   .. code::\n\n      x")],
        ),
        (".. note::\n\n   text", []),
        ("..\n   x::\n\n      commented out", []),
        ("Nothing follows::\n\ntext", []),
        ("===  ===\na    b\n", []),
    ],
)
def test_blocks_are_whole_lines(source: str, expected: list[tuple[str, str]]) -> None:
    """Tables and code, inside directives too."""
    assert blocks(source) == expected


def test_fields_under_the_title_are_metadata() -> None:
    """Author and date."""
    parsed = parse("Title\n=====\n\n:Author: Ada Quill\n:Date: 2024-01-02\n:Other: x\n\ntext")
    assert parsed.metadata == {"author": "Ada Quill", "date": "2024-01-02"}


def test_nothing_is_included() -> None:
    """A directive that names a file is text."""
    source = ".. include:: /etc/passwd\n"
    assert parse(source).text == source

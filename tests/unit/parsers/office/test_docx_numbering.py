"""Numbers are written as Word writes them."""

from __future__ import annotations

import pytest
from tests.documents import build_docx, paragraph

from spanwise.parsers.office.docx import parse_docx
from spanwise.parsers.parsed import Source


def level(number: int, kind: str, text: str, *, start: int = 1, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{text}"/>{more}</w:lvl>'
    )


def number(levels: str, *items: int, overrides: str = "") -> list[str]:
    """Return the lines of a list with items at these levels."""
    numbering = (
        f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="0"/>{overrides}</w:num>'
    )
    body = "".join(
        paragraph(
            "x",
            properties=f'<w:numPr><w:ilvl w:val="{item}"/><w:numId w:val="1"/></w:numPr>',
        )
        for item in items
    )
    data = build_docx(body, numbering=numbering)
    return parse_docx(Source(data=data, name="a.docx")).text.split("\n")


@pytest.mark.parametrize(
    ("kind", "start", "expected"),
    [
        ("decimal", 9, "9."),
        ("decimalZero", 9, "09."),
        ("lowerLetter", 26, "z."),
        ("lowerLetter", 28, "bb."),
        ("upperLetter", 1, "A."),
        ("lowerRoman", 1994, "mcmxciv."),
        ("upperRoman", 4, "IV."),
        ("upperRoman", 4000, "4000."),
        ("none", 3, "."),
        ("chineseCounting", 3, "3."),
    ],
)
def test_formats(kind: str, start: int, expected: str) -> None:
    """Formats that are not known here are decimal."""
    assert number(level(0, kind, "%1.", start=start), 0) == [f"{expected} x"]


@pytest.mark.parametrize("written", ["999999999", "1" * 5000, "-1", "x"])
def test_level_that_word_does_not_know_is_none(written: str) -> None:
    """It would indent by a gigabyte, or has more digits than Python reads."""
    levels = (
        level(0, "bullet", "") + f'<w:lvl w:ilvl="{written}"><w:numFmt w:val="bullet"/></w:lvl>'
    )
    marks = f'<w:numPr><w:ilvl w:val="{written}"/><w:numId w:val="1"/></w:numPr>'
    numbering = (
        f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    styles = f'<w:style w:styleId="a"><w:pPr><w:outlineLvl w:val="{written}"/></w:pPr></w:style>'
    data = build_docx(paragraph("x", properties=marks), numbering=numbering, styles=styles)
    assert parse_docx(Source(data=data, name="a.docx")).text == "- x"


def test_label_does_not_outgrow_its_paragraph() -> None:
    """It stands before each of them."""
    assert len(number(level(0, "decimal", "%1" * 10_000), 0)[0]) < 1000


def test_level_may_go_on_after_a_higher_one() -> None:
    """A restart of 0 means never; of 1 it means after the first level alone."""
    levels = (
        level(0, "decimal", "%1")
        + level(1, "decimal", "%2)", more='<w:lvlRestart w:val="0"/>')
        + level(2, "decimal", "%3]", more='<w:lvlRestart w:val="1"/>')
    )
    assert number(levels, 0, 1, 2, 1, 2, 0, 1, 2) == [
        "1 x",
        "1) x",
        "1] x",
        "2) x",
        "2] x",
        "2 x",
        "3) x",
        "1] x",
    ]


def test_list_may_replace_a_level() -> None:
    """An override with a level of its own."""
    override = f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1:")}</w:lvlOverride>'
    assert number(level(0, "decimal", "%1."), 0, 0, overrides=override) == ["A: x", "B: x"]


def test_level_without_text_or_definition_has_no_number() -> None:
    """Nothing stands before it."""
    assert number(level(0, "decimal", ""), 0, 5) == ["x", "", "x"]


def test_definitions_that_point_in_a_circle_end() -> None:
    """A style whose list is defined by that style."""
    styles = (
        '<w:style w:type="paragraph" w:styleId="S"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:numStyleLink w:val="S"/></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    data = build_docx(
        paragraph("x", properties='<w:pStyle w:val="S"/>'), styles=styles, numbering=numbering
    )
    assert parse_docx(Source(data=data, name="a.docx")).text == "x"

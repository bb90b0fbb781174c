"""Laws of the parsers of Office formats, for any input."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape, unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.documents import build_docx, paragraph
from tests.office_documents import (
    Slide,
    box,
    build_epub,
    build_odf,
    build_pptx,
    build_xls,
    build_xlsb,
    build_xlsx,
    sheet,
)

from spanwise.errors import ParseError
from spanwise.parsers.markup.epub import parse_epub
from spanwise.parsers.office.docx import parse_docx
from spanwise.parsers.office.number_formats import NumberFormat
from spanwise.parsers.office.odf import parse_odp, parse_odt
from spanwise.parsers.office.pptx import parse_pptx
from spanwise.parsers.office.rtf import parse_rtf
from spanwise.parsers.office.workbook import parse_workbook
from spanwise.parsers.parsed import Parsed, Source

LAW = settings(max_examples=30, deadline=None)
WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S")) | st.just(" "), min_size=1
).filter(lambda text: bool(text.strip()))
ROWS = st.lists(
    st.lists(WORDS.map(escape) | st.integers(0, 10**9) | st.none(), min_size=2, max_size=6),
    min_size=1,
    max_size=8,
)
PARAGRAPHS = st.lists(WORDS, min_size=1, max_size=8)


def read(parse: Callable[[Source], Parsed], data: bytes) -> Parsed:
    return parse(Source(data=data, name="a"))


def attempt(parse: Callable[[Source], Parsed], data: bytes) -> str:
    """Return the text, or the kind of the refusal; nothing else may be raised."""
    try:
        return read(parse, data).text
    except ParseError as error:
        return error.code


def squeeze(text: str) -> str:
    return "".join(text.replace("|", "").split())


def has_in_order(line: str, row: list[str | int | None]) -> bool:
    """Return whether a line holds the cells of a row in order."""
    place = 0
    for value in row:
        if value is not None:
            wanted = squeeze(unescape(str(value)))
            place = line.find(wanted, place)
            if place < 0:
                return False
            place += len(wanted)
    return True


@LAW
@given(ROWS)
@example([[None, 1], [2, None]])
def test_row_of_a_sheet_is_a_line(rows: list[list[str | int | None]]) -> None:
    """With all of its cells in order; rows without any are not there."""
    filled = [row for row in rows if any(value is not None for value in row)]
    if filled:
        parsed = read(parse_workbook, build_xlsx({"S": sheet(*rows)}))
        lines = [squeeze(line) for line in parsed.text.split("\n")[1:] if line]
        assert len(lines) == len(filled)
        assert all(map(has_in_order, lines, filled))


@LAW
@given(st.floats(allow_nan=False, allow_infinity=False), st.text('0#?.,%;$-() E+"yhdm[]/@_*\\'))
def test_number_is_always_written(value: float, code: str) -> None:
    """Whatever the code."""
    assert isinstance(NumberFormat(code).write(value), str)


@LAW
@given(st.floats(-1e9, 1e9), st.integers(0, 8))
def test_fixed_number_is_near_its_value(value: float, decimals: int) -> None:
    """Within half of its last place."""
    code = "#,##0" + ("." + "0" * decimals if decimals else "")
    written = float(NumberFormat(code).write(value).replace(",", ""))
    assert abs(written - value) <= 0.5 * 10**-decimals + 1e-12 * abs(value)


@LAW
@given(PARAGRAPHS)
def test_paragraphs_of_a_text_come_in_order(paragraphs: list[str]) -> None:
    """From OpenDocument and RTF, no character lost."""
    expected = [text.strip() for text in paragraphs]
    body = "".join(f"<text:p>{escape(text)}</text:p>" for text in paragraphs)
    assert read(parse_odt, build_odf("text", body)).text.split("\n\n") == expected
    units = [text.encode("utf-16-le") for text in paragraphs]
    body = "".join(
        "".join(
            rf"\u{int.from_bytes(unit[at : at + 2], 'little', signed=True)}?"
            for at in range(0, len(unit), 2)
        )
        + r"\par "
        for unit in units
    )
    assert read(parse_rtf, rf"{{\rtf1 {body}}}".encode()).text.split("\n\n") == expected


@LAW
@given(st.lists(st.tuples(PARAGRAPHS, st.permutations(range(3))), min_size=1, max_size=4))
def test_shapes_come_by_their_place(slides: list[tuple[list[str], list[int]]]) -> None:
    """Whatever order they are stored in; the pages are the slides."""
    made = []
    for paragraphs, order in slides:
        shapes = [box(*map(escape, paragraphs), f"end {n}", top=n * 10**6) for n in range(3)]
        made.append(Slide(box("T", placeholder="title"), *(shapes[n] for n in order)))
    parsed = read(parse_pptx, build_pptx(made))
    assert len(parsed.pages) == len(slides)
    for page, (paragraphs, _) in zip(parsed.pages, slides, strict=True):
        text = parsed.text[page.start : page.end].strip()
        body = "\n".join(map(str.strip, paragraphs))
        assert text == "\n\n".join(["T", *(f"{body}\nend {n}" for n in range(3))])


TEXT = "<text:h text:outline-level='1'>Head</text:h><text:p>text</text:p>"
SHAPE = "<draw:page><draw:frame svg:x='1cm'><text:p>text</text:p></draw:frame></draw:page>"
TABLE = "<table:table table:name='S'><table:table-row><table:table-cell><text:p>x</text:p>"
TABLE += "</table:table-cell></table:table-row></table:table>"
SAMPLES: dict[str, tuple[Callable[[Source], Parsed], bytes]] = {
    "docx": (parse_docx, build_docx(paragraph("text"))),
    "pptx": (parse_pptx, build_pptx([Slide(box("text"), notes=box("n", placeholder="body"))])),
    "xlsx": (parse_workbook, build_xlsx({"S": sheet(["a", 1])}, formats=["0.0"])),
    "xlsb": (parse_workbook, build_xlsb([(0, 0, 1.0)])),
    "xls": (parse_workbook, build_xls([["a", 1]])),
    "ods": (parse_workbook, build_odf("spreadsheet", TABLE)),
    "odt": (parse_odt, build_odf("text", TEXT, meta="<dc:title>T</dc:title>")),
    "odp": (parse_odp, build_odf("presentation", SHAPE)),
    "epub": (parse_epub, build_epub({"a.xhtml": "<h1>x</h1>"}, contents="<nav/>")),
    "rtf": (parse_rtf, rb"{\rtf1{\fonttbl{\f0\fcharset0 A;}}\pard\intbl a\cell b\cell\row}"),
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
@LAW
@given(data=st.data())
def test_damaged_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """No other exception leaves a parser; what is read is text."""
    parse, sample = SAMPLES[name]
    changed = bytearray(sample)
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)) | st.just(len(changed)))
    assert attempt(parse, bytes(changed[:cut]))


@LAW
@given(st.binary(max_size=200))
def test_any_bytes_of_rtf_are_read_or_refused(body: bytes) -> None:
    """Any group may hold anything."""
    assert attempt(parse_rtf, b"{\\rtf1" + body)


MARKS = (
    r"\par|\cell|\row|\nestcell|\nestrow|\intbl|\itap2|{|}|{\footnote |{\shptxt |\'e9|\u8212?|x "
    r"|\pard|\bin3|{\*\x|\v|\f1|\s1|{\listtext 1|\*"
).split("|")


@LAW
@given(st.lists(st.sampled_from(MARKS)).map("".join))
def test_any_order_of_marks_is_read_or_refused(body: str) -> None:
    """Cells outside of tables, notes that never end, rows in notes."""
    assert attempt(parse_rtf, rf"{{\rtf1 {body}}}".encode()).strip()

"""OpenDocument texts come out as a reader sees them."""

from __future__ import annotations

import pytest
from tests.documents import build_zip
from tests.office_documents import build_odf

from spanwise.errors import ParseError
from spanwise.parsers.office.odf import parse_odt
from spanwise.parsers.parsed import Parsed, Source


def parse(data: bytes) -> Parsed:
    return parse_odt(Source(data=data, name="a.odt", max_unpacked_bytes=10_000_000))


def text_of(body: str, *, automatic: str = "") -> str:
    return parse(build_odf("text", body, automatic=automatic)).text


def p(inside: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{inside}</text:p>'


def cell(*inside: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{''.join(inside)}</table:table-cell>"


def table(*rows: str) -> str:
    lines = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return f"<table:table>{lines}</table:table>"


HIDDEN = """<style:style style:name="H"><style:text-properties text:display="none"/></style:style>
<style:style style:name="H2" style:parent-style-name="H"/>"""


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('a<text:s text:c="3"/>b<text:s/>c', "a   b c"),
        ("a<text:tab/>b<text:line-break/>c", "a\tb\nc"),
        ("a<text:span>b</text:span><text:a>c</text:a><text:soft-page-break/>d", "abcd"),
        ("a<office:annotation><text:p>no</text:p></office:annotation>b", "ab"),
        ('a<text:span text:style-name="H2">no</text:span>b', "ab"),
        (
            "a<text:ruby><text:ruby-base>b</text:ruby-base><text:ruby-text>no</text:ruby-text></text:ruby>",
            "ab",
        ),
        ("a<draw:frame><svg:title>no</svg:title><svg:desc>no</svg:desc></draw:frame>", "a"),
        (
            "a<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>b",
            "box\n\nab",
        ),
        ("a<text:page-number>7</text:page-number>", "a7"),
    ],
)
def test_what_a_reader_sees_is_kept(inside: str, expected: str) -> None:
    """Spaces, links, boxes and fields show; comments, hidden text and descriptions do not."""
    assert text_of(p(inside), automatic=HIDDEN) == expected


def test_deleted_text_is_left_out() -> None:
    """It stands before the text, apart from it."""
    changes = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>no</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
    )
    assert text_of(changes + p("a<text:change/>b")) == "ab"


STYLES = """<style:style style:name="Heading_20_2"/><style:style style:name="Title"/>
<style:style style:name="Own" style:default-outline-level="3"/>
<style:style style:name="Loop" style:parent-style-name="Loop2"/>
<style:style style:name="Loop2" style:parent-style-name="Loop"/>"""
AUTOMATIC = '<style:style style:name="P1" style:parent-style-name="{}"/>'


@pytest.mark.parametrize(
    ("parent", "level"),
    [("Heading_20_2", 2), ("Title", 1), ("Own", 3), ("Loop", None), ("Standard", None)],
)
def test_heading_is_known_by_its_style(parent: str, level: int | None) -> None:
    """Also where it is a paragraph to the file."""
    data = build_odf(
        "text", p("Scope", "P1") + p("x"), styles=STYLES, automatic=AUTOMATIC.format(parent)
    )
    assert [h.level for h in parse(data).headings] == ([level] if level else [])


def test_headings_are_numbered_as_the_outline_says() -> None:
    """But for those that are said to have no number."""
    outline = """<text:outline-style><text:outline-level-style text:level="1"
      style:num-format="1" style:num-suffix="."/><text:outline-level-style text:level="2"
      style:num-format="a" text:display-levels="2"/><text:outline-level-style text:level="3"/>
      </text:outline-style>"""

    def heading(level: int, attributes: str = "") -> str:
        return f'<text:h text:outline-level="{level}" {attributes}>H{level}</text:h>'

    body = heading(1) + heading(2) + heading(2) + heading(3) + heading(1) + heading(2)
    body += heading(1, 'text:is-list-header="true"')
    parsed = parse(build_odf("text", body, styles=outline))
    assert [h.title for h in parsed.headings] == [
        *("1. H1", "1.a H2", "1.b H2", "H3", "2. H1", "2.a H2", "H1")
    ]
    assert [h.level for h in parsed.headings] == [1, 2, 2, 3, 1, 2, 1]


LISTS = """<text:list-style style:name="N"><text:list-level-style-number text:level="1"
  style:num-format="1" style:num-suffix="." text:start-value="3"/><text:list-level-style-bullet
  text:level="2"/><text:list-level-style-number text:level="3" style:num-format="i"
  style:num-prefix="(" style:num-suffix=")"/></text:list-style>"""


def items(*inside: str, attributes: str = 'text:style-name="N"') -> str:
    lines = "".join(f"<text:list-item>{item}</text:list-item>" for item in inside)
    return f"<text:list {attributes}>{lines}</text:list>"


def test_lists_are_numbered_as_their_styles_say() -> None:
    """Levels, starts, a second paragraph of an item; lists go on or begin anew."""
    deep = items(p("c") + items(p("d"), attributes=""), attributes="")
    body = items(p("a"), p("b") + p("more") + deep, "<text:list-header/>", p("e"))
    body += p("between") + items(
        p("f"), attributes='text:style-name="N" text:continue-numbering="true"'
    )
    body += p("between") + items(p("g"))
    body += items(p("h"), attributes='text:style-name="unknown"')
    assert [line for line in text_of(body, automatic=LISTS).split("\n") if line] == [
        *("3. a", "4. b", "more", "  - c", "(i) d", "6. e", "between", "7. f", "between", "3. g"),
        "- h",
    ]


def test_lists_in_lists_are_indented_only_so_far() -> None:
    """Otherwise a file grows a hundred times in size."""
    body = ""
    for _ in range(300):
        body = items(p("a") + body, attributes="")
    assert text_of(body).split("\n")[-1] == "  " * 9 + "- a"


def test_row_is_a_line_and_nested_table_follows_it() -> None:
    """Merged cells keep their columns; repeated ones are repeated."""
    nested = table(cell(p("x")) + cell(p("y")))
    rows = (
        cell(p("wide"), attributes='table:number-columns-spanned="2"')
        + "<table:covered-table-cell/>"
        + cell(p("c")),
        cell(p("a"), p("b"))
        + cell(nested)
        + cell(p("d"), attributes='table:number-columns-repeated="2"'),
    )
    parsed = parse(build_odf("text", p("before") + table(*rows)))
    assert parsed.text == "before\n\nwide |  | c\na b |  | d | d\nx | y"
    assert [block.kind for block in parsed.blocks] == ["table"]


def test_caption_above_a_table_is_part_of_it() -> None:
    """What is kept together then says what it is; other captions are paragraphs."""
    automatic = (
        '<style:style style:name="Table"/>'
        '<style:style style:name="P1" style:parent-style-name="Table"/>'
    )
    caption = p("Table 1: Rates", "P1")
    body = caption + table(cell(p("a")) + cell(p("b"))) + caption + p("x") + caption
    parsed = parse(build_odf("text", body, automatic=automatic))
    assert parsed.text == ("Table 1: Rates\na | b\n\nTable 1: Rates\n\nx\n\nTable 1: Rates")
    assert [(block.start, block.end) for block in parsed.blocks] == [(0, 20)]


def test_frame_of_one_cell_is_text() -> None:
    """A table of one column is there for its border."""
    parsed = parse(build_odf("text", table(cell(p("one"), p("two")))))
    assert parsed.text == "one\ntwo"
    assert not parsed.blocks


def test_absurd_repeat_is_told() -> None:
    """A few bytes may ask for a million rows."""
    rows = cell(p("x" * 20_000), attributes='table:number-columns-repeated="1000"') + cell(p("y"))
    parsed = parse(build_odf("text", table(rows)))
    assert parsed.text == f"{'x' * 20_000} | y"
    assert parsed.status == "partial"


def test_notes_stand_at_the_end() -> None:
    """Each with the number that marks its place, those of a note in a note too."""

    def note(inside: str) -> str:
        return (
            "<text:note><text:note-citation>i</text:note-citation>"
            f"<text:note-body>{p(inside)}</text:note-body></text:note>"
        )

    inner = note("inner")
    body = p(f"one{note(f'first{inner}')} two{note('second')}")
    assert text_of(body) == "one[1] two[3]\n\n[1] first[2]\n\n[2] inner\n\n[3] second"


def test_embedded_chart_is_read() -> None:
    """Its data is a table; an object that is not there, or is the file itself, is none."""
    chart = p("Growth") + table(cell() + cell(p("Q1")), cell(p("East")) + cell(p("5")))
    body = "".join(
        f'<draw:frame><draw:object xlink:href="{address}"/></draw:frame>'
        for address in ("./Object 1", "./Object 2", ".", "../..")
    )
    data = build_odf("text", p("text") + body, objects={"Object 1": chart})
    assert parse(data).text == "text\n\nGrowth\n\n | Q1\nEast | 5"


def test_properties_are_metadata() -> None:
    """The first author and the day it was made."""
    meta = (
        "<dc:title>Lease of a boat</dc:title><meta:initial-creator>A. B.</meta:initial-creator>"
        "<dc:creator>C. D.</dc:creator><dc:date>2022-01-01T00:00:00</dc:date>"
        "<meta:creation-date>2021-02-03T04:05:06</meta:creation-date><dc:language>en-GB</dc:language>"
    )
    parsed = parse(build_odf("text", p("x"), meta=meta))
    assert parsed.title == "Lease of a boat"
    assert parsed.metadata == {"author": "A. B.", "file_date": "2021-02-03", "language": "en"}


def test_text_before_a_damage_is_kept() -> None:
    """And said to be partial."""
    rows = table(cell(p("a")) + cell(p("b")), cell(p("c")))
    parsed = parse(build_odf("text", p("kept") + rows.replace("</table:table>", "")))
    assert parsed.text == "kept\n\na | b\nc"
    assert parsed.status == "partial"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (build_odf("text", p(" ")), "no_text"),
        (build_odf("text", "<text:p>"), "corrupt"),
        (build_odf("text", " " * 11_000_000), "too_large"),
        (build_odf("text", "", manifest="<manifest:encryption-data/>"), "encrypted"),
        (build_zip({"content.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}), "corrupt"),
        (build_zip({"other.xml": b"<a/>"}), "corrupt"),
        (build_odf("text", p("x"))[:200], "corrupt"),
    ],
)
def test_bad_file_is_refused(data: bytes, code: str) -> None:
    """With the kind of the cause."""
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert caught.value.code == code

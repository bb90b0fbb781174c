"""DOCX comes out as Word shows it."""

from __future__ import annotations

import pytest
from tests.documents import build_docx, build_zip, paragraph

from spanwise.errors import ParseError
from spanwise.parsers.office.docx import parse_docx
from spanwise.parsers.parsed import Parsed, Source


def parse(data: bytes) -> Parsed:
    return parse_docx(Source(data=data, name="a.docx", max_unpacked_bytes=10_000_000))


def text_of(body: str, **parts: str) -> str:
    return parse(build_docx(body, **parts)).text


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def cell(*content: str, span: int = 1) -> str:
    return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>{"".join(content)}</w:tc>'


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (f"<w:ins>{run('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>", "new"),
        (f"<w:moveFrom>{run('old')}</w:moveFrom><w:moveTo>{run('new')}</w:moveTo>", "new"),
        (f"<w:hyperlink>{run('link')}</w:hyperlink>", "link"),
        (f"<w:sdt><w:sdtContent>{run('control')}</w:sdtContent></w:sdt>", "control"),
        (run("a") + "<w:r><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>", "a\tb\nc"),
        (run("hidden", "<w:vanish/>") + run("shown", '<w:vanish w:val="0"/>'), "shown"),
        ("<w:r><w:instrText>PAGE</w:instrText></w:r>" + run("7"), "7"),
        ("<m:oMath><m:r><m:t>x+y</m:t></m:r></m:oMath>", "x+y"),
        ("<w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r>", "non-stop"),
        (f"<w:smartTag>{run('tag')}</w:smartTag>", "tag"),
        (run("25 m") + run("2", '<w:vertAlign w:val="superscript"/>') + run("3"), "25 m²3"),
        (
            "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>",
            "1/2",
        ),
        ("<m:sSup><m:e><m:t>10</m:t></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup>", "10⁶"),
        ('<w:r><w:sym w:font="Symbol" w:char="F0B1"/><w:t>5</w:t></w:r>', "±5"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:char="xyz"/></w:r>', "✓"),
        ('<w:r><w:t>a</w:t><w:ptab w:alignment="right"/><w:t>b</w:t></w:r>', "a\tb"),
    ],
)
def test_what_a_reader_sees_is_kept(inside: str, expected: str) -> None:
    """Insertions, links, controls and fields show; deletions, codes and hidden text do not."""
    assert text_of(paragraph(inside=inside)) == expected


def test_a_row_that_begins_later_has_empty_cells() -> None:
    rows = [
        row(cell(paragraph("Region")), cell(paragraph("2022"))),
        row(cell(paragraph("3")), properties='<w:gridBefore w:val="1"/>'),
    ]
    assert text_of(f"<w:tbl>{''.join(rows)}</w:tbl>") == "Region | 2022\n | 3"


def test_text_box_is_read_once() -> None:
    """Word stores it twice, for old and for new programs."""
    box = f"<w:txbxContent>{paragraph('box')}</w:txbxContent>"
    inside = (
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    assert text_of(paragraph("around", inside=inside)) == "box\n\naround"


def test_deleted_paragraph_end_joins_what_follows() -> None:
    """A tracked change may delete the mark alone."""
    mark = "<w:rPr><w:del/></w:rPr>"
    assert text_of(paragraph("one ", properties=mark) + paragraph("line")) == "one line"


def test_row_is_a_line_and_nested_table_follows_it() -> None:
    """Merged cells keep their columns."""
    nested = f"<w:tbl>{row(cell(paragraph('x')), cell(paragraph('y')))}</w:tbl>"
    table = "<w:tbl>" + "".join(
        (
            row(cell(paragraph("wide"), span=2), cell(paragraph("c"))),
            row(
                cell(paragraph("a"), paragraph("b")),
                cell(nested, paragraph()),
                cell(paragraph("d")),
            ),
            row(cell(paragraph("gone")), cell(paragraph("gone")), properties="<w:del/>"),
        )
    )
    parsed = parse(build_docx(f"{paragraph('before')}{table}</w:tbl>{paragraph('after')}"))
    (block,) = parsed.blocks
    assert parsed.text[block.start : block.end] == "wide |  | c\na b |  | d\nx | y"
    assert parsed.text == "before\n\nwide |  | c\na b |  | d\nx | y\n\nafter"


def test_table_of_one_column_is_a_frame() -> None:
    """Its paragraphs stay paragraphs, and it is no block."""
    table = f"<w:tbl>{row(cell(paragraph('one'), paragraph('two')))}</w:tbl>"
    parsed = parse(build_docx(table))
    assert (parsed.text, parsed.blocks) == ("one\ntwo", ())


STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="My Clause"/>
  <w:basedOn w:val="Level2"/></w:style>
<w:style w:type="paragraph" w:styleId="Level2"><w:name w:val="Level 2"/>
  <w:basedOn w:val="Clause"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Quiet"><w:name w:val="heading 3"/>
  <w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
"""


@pytest.mark.parametrize(
    ("properties", "level"),
    [
        ('<w:pStyle w:val="berschrift1"/>', 1),
        ('<w:pStyle w:val="Clause"/>', 2),
        ('<w:outlineLvl w:val="3"/>', 4),
        ('<w:pStyle w:val="berschrift1"/><w:outlineLvl w:val="9"/>', None),
        ('<w:pStyle w:val="Quiet"/>', None),
        ('<w:pStyle w:val="Missing"/>', None),
        ("", None),
    ],
)
def test_heading_is_known_by_its_level(properties: str, level: int | None) -> None:
    """Localised and custom styles count by outline level, also an inherited one."""
    parsed = parse(build_docx(paragraph("Scope", properties=properties), styles=STYLES))
    assert [(h.level, h.title) for h in parsed.headings] == ([(level, "Scope")] if level else [])


def test_a_former_format_does_not_count() -> None:
    """A tracked change of the format keeps it in the properties."""
    former = '<w:pPrChange><w:pPr><w:pStyle w:val="{}"/></w:pPr></w:pPrChange>'
    now = '<w:pStyle w:val="berschrift1"/>' + former.format("Standard")
    body = paragraph("Scope", properties=now) + paragraph(
        "before", properties=former.format("berschrift1")
    )
    assert [one.title for one in parse(build_docx(body, styles=STYLES)).headings] == ["Scope"]


NUMBERING = """
<w:abstractNum w:abstractNumId="7">
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
    <w:lvlText w:val="%1."/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
    <w:lvlText w:val="%1.%2"/></w:lvl>
  <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
    <w:pStyle w:val="Letter"/><w:lvlText w:val="(%3)"/></w:lvl>
  <w:lvl w:ilvl="3"><w:start w:val="3"/><w:numFmt w:val="upperRoman"/><w:isLgl/>
    <w:lvlText w:val="%1-%4"/><w:suff w:val="nothing"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="8">
  <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="9"><w:numStyleLink w:val="Letter"/></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="7"/>
  <w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="8"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="9"/></w:num>
"""
LETTER_STYLE = """<w:style w:type="paragraph" w:styleId="Letter"><w:name w:val="Letter"/>
  <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>"""


def item(text: str, list_id: int, level: int = 0) -> str:
    properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return paragraph(text, properties=properties)


def lines_of(*items: str) -> list[str]:
    return text_of("".join(items), styles=LETTER_STYLE, numbering=NUMBERING).split("\n")


def test_clauses_are_numbered_as_word_numbers_them() -> None:
    """Deeper levels start again, levels show their ancestors, a style has its place."""
    assert lines_of(
        item("Definitions", 1),
        item("Terms", 1, 1),
        paragraph("sub", properties='<w:pStyle w:val="Letter"/>'),
        paragraph("sub", properties='<w:pStyle w:val="Letter"/>'),
        item("Scope", 1, 1),
        paragraph("sub", properties='<w:pStyle w:val="Letter"/>'),
        item("Term", 1),
        item("Start", 1, 1),
        item("", 1),
        item("deep", 1, 3),
    ) == [
        "1. Definitions",
        "1.1 Terms",
        "(a) sub",
        "(b) sub",
        "1.2 Scope",
        "(a) sub",
        "2. Term",
        "2.1 Start",
        "3-3deep",
    ]


def test_lists_share_counters_until_one_starts_anew() -> None:
    """A list that overrides the start counts from there."""
    assert lines_of(item("a", 1), item("b", 2), item("c", 2), item("d", 1)) == [
        "1. a",
        "5. b",
        "6. c",
        "7. d",
    ]


def test_bullets_links_and_no_list() -> None:
    """A bullet is a hyphen; a definition may point to a style; 0 takes the number away."""
    off = '<w:pStyle w:val="Letter"/><w:numPr><w:numId w:val="0"/></w:numPr>'
    assert lines_of(item("a", 3), item("b", 4), paragraph("c", properties=off), item("d", 99)) == [
        "- a",
        "1. b",
        "",
        "c",
        "",
        "d",
    ]


def test_numbered_heading_has_its_number_in_the_title() -> None:
    """People cite clauses by number."""
    properties = (
        '<w:outlineLvl w:val="0"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    )
    parsed = parse(build_docx(paragraph("Scope", properties=properties), numbering=NUMBERING))
    assert [h.title for h in parsed.headings] == ["1. Scope"]


def test_notes_stand_at_the_end() -> None:
    """Each with the number that marks its place; separators are no notes."""
    reference = '<w:r><w:footnoteReference w:id="4"/></w:r>'
    notes = (
        f'<w:footnote w:id="-1">{paragraph("line")}</w:footnote>'
        f'<w:footnote w:id="4">{paragraph("The note.")}</w:footnote>'
    )
    assert (
        text_of(paragraph("Said", inside=reference), footnotes=notes) == "Said[1]\n\n[1] The note."
    )


def test_properties_are_metadata() -> None:
    """Title, author and the day it was made; file names are no titles."""
    core = (
        "<dc:title>Supply Agreement</dc:title><dc:creator>M. E.</dc:creator>"
        "<dcterms:created>2021-03-04T05:06:07Z</dcterms:created>"
    )
    parsed = parse(build_docx(paragraph("text"), core=core))
    assert parsed.title == "Supply Agreement"
    assert parsed.metadata == {"author": "M. E.", "file_date": "2021-03-04"}


def test_strict_namespace_is_read() -> None:
    """ISO's strict variant has other names for the same elements."""
    space = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    assert parse(build_docx(paragraph("text"), namespaces=space)).text == "text"


CAPTION_STYLE = """<w:style w:type="paragraph" w:styleId="Beschriftung">
  <w:name w:val="caption"/></w:style>"""
CHART = """<c:chart><c:plotArea><c:ser><c:tx><c:v>Rent</c:v></c:tx><c:cat><c:pt idx="0">
  <c:v>May</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>120.0</c:v></c:pt></c:val></c:ser>
  </c:plotArea></c:chart>"""


def test_caption_above_a_table_is_part_of_it() -> None:
    """What is kept together then says what it is; other captions are paragraphs."""
    caption = paragraph("Table 1: Rates", properties='<w:pStyle w:val="Beschriftung"/>')
    table = f"<w:tbl>{row(cell(paragraph('a')), cell(paragraph('b')))}</w:tbl>"
    parsed = parse(
        build_docx(paragraph("x") + caption + table + caption + caption, styles=CAPTION_STYLE)
    )
    assert parsed.text == "x\n\nTable 1: Rates\na | b\n\nTable 1: Rates\n\nTable 1: Rates"
    assert [parsed.text[block.start : block.end] for block in parsed.blocks] == [
        "Table 1: Rates\na | b"
    ]


def test_chart_is_a_table() -> None:
    """Before the paragraph that it stands in, or in its cell; a missing one is none."""
    drawing = '<w:r><w:drawing><c:chart r:id="rchart"/></w:drawing></w:r>'
    other = '<w:r><w:drawing><c:chart r:id="other"/></w:drawing></w:r>'
    table = f"<w:tbl>{row(cell(paragraph('a', inside=drawing)), cell(paragraph('b')))}</w:tbl>"
    body = paragraph("text", inside=drawing + other) + table
    assert text_of(body, chart=CHART) == " | Rent\nMay | 120\n\ntext\n\n| Rent May | 120 a | b"


def test_damaged_lists_leave_the_text() -> None:
    """What styles and properties would have said is missing, and that is said."""
    broken = "<w:a>"
    parsed = parse(
        build_docx(paragraph("text"), styles=broken, numbering=broken, core="<dc:title>Lease")
    )
    assert parsed.text == "text"
    assert [warning.split(" could ")[0] for warning in parsed.warnings] == [
        "the list of styles",
        "the numbering of lists",
        "its list of properties",
    ]


def test_text_before_a_damage_is_kept() -> None:
    """And said to be partial."""
    table = f"<w:tbl>{row(cell(paragraph('a')), cell(paragraph('b')))}<w:tr>"
    parsed = parse(build_docx(paragraph("kept") + table, footnotes="<w:footnote>"))
    assert parsed.text == "kept\n\na | b"
    assert parsed.status == "partial"
    assert [warning.split(" could ")[0] for warning in parsed.warnings] == [
        "the text",
        "the list of notes",
    ]


BOMB = build_zip({"word/document.xml": b"<w:p>" + b" " * 11_000_000})
DTD = b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (BOMB, "too_large"),
        (build_zip({"word/document.xml": DTD}), "corrupt"),
        (build_zip({"word/document.xml": b"<a><b></a>"}), "corrupt"),
        (build_zip({"word/other.xml": b"<a/>"}), "corrupt"),
        (build_docx(paragraph(" ")), "no_text"),
        (b"PK\x03\x04 no container", "corrupt"),
    ],
)
def test_bad_file_is_refused(data: bytes, code: str) -> None:
    """Bombs, entities and damage end in an error that says which."""
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert caught.value.code == code


def test_ratio_of_a_bomb_is_refused_below_the_limit() -> None:
    """Text does not pack a thousand times."""
    bomb = build_zip({"word/document.xml": b" " * 60_000_000})
    with pytest.raises(ParseError) as caught:
        parse_docx(Source(data=bomb, name="a.docx"))
    assert caught.value.code == "too_large"


def test_parts_are_counted_together_while_they_are_read() -> None:
    """A part that several relations name is unpacked more than once."""
    part = "<w:footnotes/>" + " " * 600
    data = build_docx(paragraph("text"), footnotes=part, styles=part, numbering=part)
    with pytest.raises(ParseError) as caught:
        parse_docx(Source(data=data, name="a.docx", max_unpacked_bytes=1000))
    assert caught.value.code == "too_large"


def test_lying_header_is_found_out_while_reading() -> None:
    """The directory says 10 bytes, the part has millions."""
    data = bytearray(BOMB)
    size = (11_000_005).to_bytes(4, "little")
    while size in data:
        place = data.index(size)
        data[place : place + 4] = (10).to_bytes(4, "little")
    with pytest.raises(ParseError) as caught:
        parse(bytes(data))
    assert caught.value.code == "corrupt"


def test_damaged_part_is_corrupt() -> None:
    """A wrong byte in the packed data fails its check."""
    data = bytearray(build_docx(paragraph("text " * 100)))
    place = data.index(b"word/document.xml") + len(b"word/document.xml") + 10
    data[place] ^= 0xFF
    with pytest.raises(ParseError) as caught:
        parse(bytes(data))
    assert caught.value.code == "corrupt"


def test_password_on_parts_is_encrypted() -> None:
    """The flag of ZIP encryption."""
    data = bytearray(build_docx(paragraph("text")))
    place = data.index(b"PK\x01\x02")
    data[place + 8] |= 1
    with pytest.raises(ParseError) as caught:
        parse(bytes(data))
    assert caught.value.code == "encrypted"

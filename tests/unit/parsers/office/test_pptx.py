"""PPTX comes out slide by slide, as a reader's eye goes over it."""

from __future__ import annotations

import pytest
from tests.documents import build_zip
from tests.office_documents import Slide, box, build_pptx

from spanwise.errors import ParseError
from spanwise.parsers.office.pptx import parse_pptx
from spanwise.parsers.parsed import Parsed, Source

INCH = 914_400


def parse(*slides: Slide, core: str = "") -> Parsed:
    return parse_pptx(Source(data=build_pptx(slides, core=core), name="a.pptx"))


def pages(parsed: Parsed) -> list[str]:
    return [parsed.text[page.start : page.end].strip() for page in parsed.pages]


def title(text: str) -> str:
    return box(text, placeholder="title", top=5 * INCH)


def test_slide_is_a_page_and_its_title_a_heading() -> None:
    """The title comes first wherever it stands; a slide without text is an empty page."""
    parsed = parse(
        Slide(box("below", top=0), title("One")), Slide(), Slide(title("Three")), Slide()
    )
    assert parsed.text == "One\n\nbelow\n\nThree"
    assert pages(parsed) == ["One\n\nbelow", "", "Three", ""]
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "One"), (1, "Three")]


@pytest.mark.parametrize(
    ("slide", "expected"),
    [
        (Slide(box("Short line", top=0), box("rest", top=INCH)), "Short line"),
        (Slide(box("two", "lines", top=0)), "Slide 1"),
        (Slide(box("long " * 30, top=0)), "Slide 1"),
    ],
)
def test_slide_without_title_has_a_heading_all_the_same(slide: Slide, expected: str) -> None:
    """Its first short line, else its number."""
    assert [heading.title for heading in parse(slide).headings] == [expected]


def test_shapes_follow_from_top_to_bottom_and_left_to_right() -> None:
    """Those of nearly the same height stand beside each other."""
    parsed = parse(
        Slide(
            title("T"),
            box("low", top=3 * INCH),
            box("right", top=INCH, left=5 * INCH),
            box("left", top=INCH + 9, left=INCH),
        )
    )
    assert parsed.text == "T\n\nleft\n\nright\n\nlow"


def test_group_places_what_it_holds() -> None:
    """It may be moved and scaled, and stand in another group."""
    inner = box("grouped", top=1000, left=0)
    frame = (
        "<p:grpSpPr><a:xfrm><a:off x='0' y='{}'/><a:ext cx='10' cy='{}'/>"
        "<a:chOff x='0' y='0'/><a:chExt cx='10' cy='1000'/></a:xfrm></p:grpSpPr>"
    )
    group = f"<p:grpSp>{frame.format(INCH, 1000)}{inner}</p:grpSp>"
    group = f"<p:grpSp>{frame.format(0, 2000)}{group}</p:grpSp>"
    parsed = parse(Slide(title("T"), box("after", top=3 * INCH), group, box("before", top=INCH)))
    assert parsed.text == "T\n\nbefore\n\ngrouped\n\nafter"


def test_placeholder_has_the_place_of_its_layout() -> None:
    """By its index, else by its kind."""
    layout = box("layout", placeholder="body", index=1, top=2 * INCH) + box(
        "x", placeholder="pic", index=9, top=INCH
    )
    parsed = parse(
        Slide(
            title("T"),
            box("second", placeholder="body", index=1),
            box("first", placeholder="pic", index=5),
            layout=layout,
        )
    )
    assert parsed.text == "T\n\nfirst\n\nsecond"


def test_lists_are_marked_as_they_are_shown() -> None:
    """Bullets, numbers of each kind, levels."""

    def item(text: str, properties: str) -> str:
        return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"

    number = '<a:pPr><a:buAutoNum type="alphaLcParenR"/></a:pPr>'
    start = '<a:pPr><a:buAutoNum type="arabicPeriod" startAt="4"/></a:pPr>'
    parsed = parse(
        Slide(
            title("T"),
            box(
                item("a", '<a:pPr><a:buChar char="x"/></a:pPr>'),
                item("b", '<a:pPr lvl="1"/>'),
                item("c", '<a:pPr lvl="1"><a:buNone/></a:pPr>'),
                item("d", number),
                item("e", number),
                "plain",
                item("f", start),
                "<a:p><a:r><a:t>one</a:t></a:r><a:br/><a:fld><a:t>two</a:t></a:fld></a:p>",
            ),
        )
    )
    assert parsed.text.split("\n")[2:] == [
        *("- a", "  - b", "c", "a) d", "b) e", "plain", "4. f", "one", "two")
    ]


def test_table_is_rows() -> None:
    """A cell is one line; merged cells keep their columns."""

    def row(*cells: str) -> str:
        texts = "".join(
            f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
            for text in cells
        )
        return f"<a:tr>{texts}</a:tr>"

    table = f"<p:graphicFrame><a:tbl>{row('a', '', 'c')}{row('d')}</a:tbl></p:graphicFrame>"
    parsed = parse(Slide(title("T"), table))
    assert parsed.text == "T\n\na |  | c\nd"
    assert [block.kind for block in parsed.blocks] == ["table"]


CHART = """<c:chartSpace><c:chart><c:title><a:p><a:r><a:t>Growth</a:t></a:r></a:p></c:title>
<c:plotArea><c:ser><c:tx><c:strRef><c:f>S!B1</c:f><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt>
</c:strCache></c:strRef></c:tx><c:cat><c:strCache><c:pt idx="0"><c:v>East</c:v></c:pt>
<c:pt idx="1"><c:v>West</c:v></c:pt></c:strCache></c:cat><c:val><c:numCache>
<c:formatCode>0.0%</c:formatCode><c:pt idx="0"><c:v>0.123</c:v></c:pt><c:pt idx="1"><c:v>0.5</c:v>
</c:pt></c:numCache></c:val></c:ser><c:ser><c:val><c:numCache><c:pt idx="1"><c:v>7</c:v></c:pt>
</c:numCache></c:val></c:ser></c:plotArea></c:chart></c:chartSpace>"""
DIAGRAM = """<dgm:dataModel><dgm:ptLst><dgm:pt type="doc"><dgm:t><a:p><a:r><a:t>no</a:t></a:r></a:p>
</dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt>
<dgm:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"""


def frame(inside: str) -> str:
    return f"<p:graphicFrame><a:graphicData>{inside}</a:graphicData></p:graphicFrame>"


def test_charts_and_diagrams_are_read() -> None:
    """The data of a chart as rows, as it shows them; the texts of a diagram as lines."""
    parsed = parse(
        Slide(
            title("T"),
            frame('<c:chart r:id="rc"/>'),
            frame('<dgm:relIds r:dm="rd"/>'),
            parts={"rc": CHART, "rd": DIAGRAM},
        )
    )
    assert parsed.text == "T\n\nGrowth\n\n | Q1\nEast | 12.3%\nWest | 50.0% | 7\n\nPlan\nDo"


def test_notes_and_hidden_slides_are_said_to_be_that() -> None:
    """What the audience did not see is read all the same."""
    notes = box("thumbnail", placeholder="sldImg") + box("say this", "and that", placeholder="body")
    parsed = parse(Slide(title("T"), box("text"), notes=notes, hidden=True))
    assert parsed.text == "T\n\n(hidden slide)\n\ntext\n\nSpeaker notes:\nsay this\nand that"


def test_what_is_no_content_is_left_out() -> None:
    """Footers, dates, numbers, hidden shapes, what old programs are shown."""
    parsed = parse(
        Slide(
            title("T"),
            box("foot", placeholder="ftr"),
            box("date", placeholder="dt"),
            box("7", placeholder="sldNum"),
            box("hidden", hidden=True),
            f"<mc:AlternateContent><mc:Choice>{box('new')}</mc:Choice>"
            f"<mc:Fallback>{box('old')}</mc:Fallback></mc:AlternateContent>",
        )
    )
    assert parsed.text == "T\n\nnew"


def test_damaged_slide_leaves_the_others() -> None:
    """And its own shapes before the damage."""
    broken = Slide(title("Two"), box("kept"), "<p:sp>")
    parsed = parse(Slide(title("One")), broken, Slide(title("Three")))
    assert parsed.text == "One\n\nTwo\n\nkept\n\nThree"
    assert parsed.status == "partial"
    assert parsed.warnings[0].startswith(
        "slide 2 could not be read completely: its part ppt/slides/slide1.xml"
    )


def test_missing_chart_is_told() -> None:
    """The rest of the slide is there."""
    parsed = parse(Slide(title("T"), frame('<c:chart r:id="rc"/>'), parts={"rc": "<a>"}))
    assert parsed.text == "T"
    assert parsed.warnings[0].startswith(
        "the chart ppt/slides/rc0.xml could not be read completely"
    )


def test_properties_are_metadata() -> None:
    """Title, author, date, language."""
    core = (
        "<dc:title>Plan for 2022</dc:title><dc:creator>A. B.</dc:creator>"
        "<dc:language>de-DE</dc:language><dcterms:created>2021-03-04T05:06:07Z</dcterms:created>"
    )
    parsed = parse(Slide(title("T")), core=core)
    assert parsed.title == "Plan for 2022"
    assert parsed.metadata == {"author": "A. B.", "file_date": "2021-03-04", "language": "de"}


MAIN = "http://schemas.openxmlformats.org/presentationml/2006/main"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (build_pptx([Slide()]), "no_text"),
        (build_pptx([Slide("<p:sp>")]), "corrupt"),
        (build_pptx([Slide(box("x")), Slide(box("y")), Slide(box("z"))]), "too_large"),
        (build_zip({"ppt/presentation.xml": b" " * 11_000_000}), "too_large"),
        (build_zip({"ppt/presentation.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}), "corrupt"),
        (build_zip({"ppt/other.xml": b"<a/>"}), "corrupt"),
        (build_pptx([Slide(box("x"))])[:400], "corrupt"),
    ],
)
def test_bad_file_is_refused(data: bytes, code: str) -> None:
    """With the kind of the cause."""
    source = Source(data=data, name="a.pptx", max_unpacked_bytes=10_000_000, max_pages=2)
    with pytest.raises(ParseError) as caught:
        parse_pptx(source)
    assert caught.value.code == code

"""OpenDocument slides come out as those of PowerPoint."""

from __future__ import annotations

import pytest
from tests.office_documents import build_odf

from spanwise.errors import ParseError
from spanwise.parsers.office.odf import parse_odp
from spanwise.parsers.parsed import Parsed, Source


def parse(*slides: str, automatic: str = "") -> Parsed:
    data = build_odf("presentation", "".join(slides), automatic=automatic)
    return parse_odp(Source(data=data, name="a.odp", max_pages=3))


def slide(*shapes: str, notes: str = "", style: str = "") -> str:
    page = f"<presentation:notes>{notes}</presentation:notes>" if notes else ""
    return f'<draw:page draw:style-name="{style}">{"".join(shapes)}{page}</draw:page>'


def frame(text: str, *, y: str = "0cm", x: str = "0cm", kind: str = "", more: str = "") -> str:
    return (
        f'<draw:frame svg:x="{x}" svg:y="{y}" presentation:class="{kind}" {more}>'
        f"<draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"
    )


def test_shapes_follow_in_reading_order_below_the_title() -> None:
    """Whatever the unit of their places; a turned shape has its place elsewhere."""
    turned = (
        '<draw:custom-shape draw:transform="rotate (1) translate (1cm 60mm)">'
        "<text:p>turned</text:p></draw:custom-shape>"
    )
    parsed = parse(
        slide(
            frame("low", y="3.5in"),
            frame("right", y="2cm", x="10cm"),
            f"<draw:g>{frame('left', y='20.5mm', x='72pt')}</draw:g>",
            turned,
            frame("T", y="9cm", kind="title"),
        )
    )
    assert parsed.text == "T\n\nleft\n\nright\n\nturned\n\nlow"
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "T")]


def test_slide_is_a_page() -> None:
    """An empty one too."""
    parsed = parse(slide(frame("A", kind="title")), slide(), slide(frame("C", kind="title")))
    pages = [parsed.text[page.start : page.end].strip() for page in parsed.pages]
    assert pages == ["A", "", "C"]


def test_notes_and_hidden_slides_are_said_to_be_that() -> None:
    """What the audience did not see is read all the same."""
    automatic = (
        '<style:style style:name="dp1"><style:drawing-page-properties '
        'presentation:visibility="hidden"/></style:style>'
    )
    notes = frame("say this", kind="notes") + frame("7", kind="page-number")
    parsed = parse(slide(frame("T", kind="title"), notes=notes, style="dp1"), automatic=automatic)
    assert parsed.text == "T\n\n(hidden slide)\n\nSpeaker notes:\nsay this"


def test_what_is_no_content_is_left_out() -> None:
    """Footers, dates, numbers, places that nobody filled."""
    parsed = parse(
        slide(
            frame("T", kind="title"),
            *(frame("no", kind=kind) for kind in ("footer", "header", "date-time", "page-number")),
            frame("Click to add text", kind="outline", more='presentation:placeholder="true"'),
        )
    )
    assert parsed.text == "T"


def test_slides_before_a_damage_are_kept() -> None:
    """And said to be partial."""
    parsed = parse(slide(frame("A", kind="title")), "<draw:page>" + frame("B") + "<draw:frame>")
    assert parsed.text == "A\n\nB"
    assert parsed.status == "partial"


@pytest.mark.parametrize(
    ("slides", "code"),
    [([slide()], "no_text"), ([slide(frame("x"))] * 4, "too_large"), (["<draw:page>"], "corrupt")],
)
def test_bad_file_is_refused(slides: list[str], code: str) -> None:
    """With the kind of the cause."""
    with pytest.raises(ParseError) as caught:
        parse(*slides)
    assert caught.value.code == code

"""PDF text page by page, from whole and damaged files."""

from __future__ import annotations

import pytest
from tests.documents import Bookmark, build_pdf
from tests.printed import HEBREW, build_backward, build_scaled, build_turned

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Parsed, Source, Step
from spanwise.parsers.pdf.reader import parse_pdf
from spanwise.types import Page


def parse(data: bytes, *, max_pages: int = 100) -> Parsed:
    return parse_pdf(Source(data=data, name="a.pdf", max_pages=max_pages))


def fail(data: bytes, *, max_pages: int = 100) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(data, max_pages=max_pages)
    return caught.value


def test_pages_cover_the_text() -> None:
    """What parts two pages belongs to the first; an empty one has no characters."""
    parsed = parse(build_pdf(["One.\nThe second line", "", "Three"]))
    assert parsed.text == "One.\nThe second line\nThree"
    assert parsed.pages == (
        Page(start=0, end=21),
        Page(start=21, end=21),
        Page(start=21, end=26),
    )


def test_empty_pages_at_the_end_are_kept() -> None:
    """They count, though they hold nothing."""
    assert parse(build_pdf(["One", "", ""])).pages == (
        Page(start=0, end=3),
        Page(start=3, end=3),
        Page(start=3, end=3),
    )


def test_printed_labels_are_kept_where_they_differ_from_the_number() -> None:
    """Roman front matter, then 1: the label is what people see."""
    labels = "<< /Nums [0 << /S /r >> 1 << /S /D /St 2 >>] >>"
    parsed = parse(build_pdf(["a", "b", "c"], labels=labels))
    assert [page.label for page in parsed.pages] == ["i", None, None]


def test_outline_becomes_headings() -> None:
    """Titles are found on their page: whole, over two lines, and after a number.

    What stands on the page is the title, as it stands.
    """
    pages = [
        "Contents 1 2",
        "Chapter One\nText one.",
        "Chapter Two on\ntwo lines\n2.1 Scope\nMore.",
    ]
    outline = [
        Bookmark("Part 0: nowhere", 0),
        Bookmark("CHAPTER  ONE", 1),
        Bookmark("Chapter two on two lines", 2, (Bookmark("Scope", 2), Bookmark("Scope", 2))),
    ]
    parsed = parse(build_pdf(pages, outline=outline))
    assert [(h.level, h.title, parsed.text[h.start : h.end]) for h in parsed.headings] == [
        (1, "Chapter One", "Chapter One"),
        (1, "Chapter Two on two lines", "Chapter Two on two lines"),
        (2, "2.1 Scope", "2.1 Scope"),
    ]


def test_properties_are_metadata() -> None:
    """Title, author and the day it was made."""
    parsed = parse(
        build_pdf(
            ["text"],
            properties={"Title": "Annual  Report", "Author": "Ä. B.", "CreationDate": "D:20180212"},
        )
    )
    assert parsed.title == "Annual Report"
    assert parsed.metadata == {"author": "Ä. B.", "file_date": "2018-02-12"}
    assert parsed.media_type == "application/pdf"


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["a recur-\nring loss"], "a recurring loss"),
        (["forward-looking, forward-\nlooking"], "forward-looking, forward-looking"),
        (["well known, well-\nknown"], "well known, well-known"),
        (["the COVID-\n19 virus"], "the COVID-19 virus"),
        (["non-\nUS firms"], "non-US firms"),
    ],
)
def test_hyphens_at_line_ends_are_resolved_by_the_document(pages: list[str], expected: str) -> None:
    """A word that stands elsewhere in the document tells whether the hyphen is its own."""
    assert parse(build_pdf(pages)).text.replace("\n", " ") == expected


def test_characters_outside_the_basic_plane_are_whole() -> None:
    """They take two places in pdfium's answer."""
    assert parse(build_pdf(["A or A"], to_unicode="😀")).text == "😀 or 😀"


def test_font_without_meaning_is_said() -> None:
    """Private characters instead of letters are a warning."""
    parsed = parse(build_pdf(["AAAA"], to_unicode="\ue001"))
    assert "no meaning" in parsed.warnings[0]


def test_empty_password_opens_silently() -> None:
    """Half of all filings are encrypted so."""
    parsed = parse(build_pdf(["locked"], user_password="", properties={"Title": "Filing"}))
    assert (parsed.text, parsed.title, parsed.warnings) == ("locked", "Filing", ())


def test_password_is_asked_for() -> None:
    """What needs one cannot be read."""
    error = fail(build_pdf(["locked"], user_password="secret"))
    assert error.code == "encrypted"
    assert "password" in str(error)


def test_scan_needs_ocr() -> None:
    """A file of pictures wants OCR."""
    error = fail(build_pdf(["", ""], picture_pages=[0, 1]))
    assert error.code == "needs_ocr"
    assert "OCR" in str(error)


def test_blank_file_is_no_text() -> None:
    """A blank page is no scan."""
    error = fail(build_pdf([""]))
    assert error.code == "no_text"
    assert "OCR" not in str(error)


def test_scanned_pages_among_others_are_named() -> None:
    """The rest is read."""
    parsed = parse(build_pdf(["text", "", "", "text", ""], picture_pages=[1, 2, 4]))
    assert parsed.warnings[0].startswith("no text on pages 2-3, 5 of 5, only images; OCR is off")
    assert parsed.status == "needs_ocr"


def test_too_many_pages_are_refused() -> None:
    """The limit is an option."""
    error = fail(build_pdf(["a", "b"]), max_pages=1)
    assert error.code == "too_large"


WHOLE = build_pdf(["First page of the report.", "Second page of the report."])


@pytest.mark.parametrize("share", [0.6, 0.75, 0.9, 0.99])
def test_truncated_file_is_saved(share: float) -> None:
    """The catalog stands before the cut; what follows it is what is lost."""
    parsed = parse(WHOLE[: int(len(WHOLE) * share)])
    assert parsed.text.startswith("First page")


def test_saved_file_says_so() -> None:
    """Nothing degrades in silence."""
    parsed = parse(WHOLE[: int(len(WHOLE) * 0.6)])
    assert "damaged or truncated" in parsed.warnings[0]


def test_truncated_beyond_saving_is_corrupt() -> None:
    """Without a catalog nothing leads to the pages."""
    error = fail(b"%PDF-1.7\n1 0 obj\n<< /Length 10000 >>\nstream\n" + b"x" * 500)
    assert error.code == "corrupt"
    assert "a.pdf" in str(error)


def test_junk_before_the_header_is_cut_off() -> None:
    """Mail programs and web servers put lines there."""
    assert parse(b"HTTP/1.1 200 OK\r\n" * 200 + WHOLE).text.startswith("First page")


def test_page_that_cannot_be_read_is_named() -> None:
    """The other pages are read."""
    parsed = parse(WHOLE.replace(b"/Kids [7 0 R", b"/Kids [99 0 R"))
    assert "page 1 of 2 cannot be read" in parsed.warnings


def test_pages_that_say_they_are_something_else_are_read() -> None:
    """pdfium refuses them, though all of them is there."""
    parsed = parse(WHOLE.replace(b"/Type /Page /Parent", b"/Type /Leaf /Parent"))
    assert (parsed.text, parsed.status) == (parse(WHOLE).text, "ok")


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_turned_pages_are_read_as_people_see_them(rotation: int) -> None:
    """Whatever way their content lies: headings, paragraphs, and cells in their columns."""
    parsed = parse(build_turned(rotation))
    heading, paragraph, _, *rows = parsed.text.split("\n")
    assert [h.title for h in parsed.headings] == [heading] == ["The Harbour"]
    assert paragraph.startswith("Ships are counted at the gate by two clerks")
    assert rows == ["Ships | 12 | 14", "Boats |  | 4", "Rafts | 3 | 7"]


def test_a_page_that_is_read_from_right_to_left() -> None:
    """Words, lines and cells begin at the right; Latin words keep their order."""
    *lines, blank, first, second, third = parse(build_backward()).text.split("\n")
    assert (lines, blank) == (HEBREW, "")
    assert [row.split(" | ")[1:] for row in (first, second, third)] == [
        ["12", "14"],
        ["", "4"],
        ["3", "7"],
    ]


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_headings_of_shrunk_pages_stand_on_the_same_levels(share: float) -> None:
    """The type of a page is measured on the page."""
    found = [(h.level, h.title) for h in parse(build_scaled(share)).headings]
    assert found == [(1, "The Harbour"), (2, "Ships"), (1, "The Quay"), (2, "Cargo")]


def test_file_without_its_header_is_whole() -> None:
    """It gets another one."""
    parsed = parse(WHOLE.replace(b"%PDF-1.7", b"XXXXXXXX", 1))
    assert parsed.text.startswith("First page")
    assert parsed.status == "ok"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (WHOLE, "ok"),
        (b"HTTP/1.1 200 OK\r\n" * 200 + WHOLE, "ok"),
        (WHOLE[: int(len(WHOLE) * 0.6)], "partial"),
        (WHOLE.replace(b"/Kids [7 0 R", b"/Kids [99 0 R"), "partial"),
        (build_pdf(["AAAA"], to_unicode="\ue001"), "partial"),
        (build_pdf(["A One\nA Two\nA Six"], to_unicode="\uf0b7"), "ok"),
        (build_pdf(["text", ""], picture_pages=[1]), "needs_ocr"),
    ],
)
def test_status_says_whether_the_text_is_whole(data: bytes, status: str) -> None:
    """Junk is no loss; what cannot be read is."""
    assert parse(data).status == status


def test_pages_of_an_earlier_attempt_are_left_out() -> None:
    """Those on which it hung or died."""
    parsed = parse_pdf(Source(data=WHOLE, name="a.pdf", skipped_pages=frozenset({1})))
    assert parsed.text == "Second page of the report."
    assert parsed.status == "partial"
    assert parsed.warnings == ("page 1 of 2 left out: the parser failed on them",)


def test_each_page_is_told_before_it_is_read() -> None:
    """And the rest of the work after them."""
    steps: list[Step] = []
    parse_pdf(Source(data=WHOLE, name="a.pdf", on_step=steps.append))
    assert [(step.page, step.pages, step.of) for step in steps] == [
        (1, 1, 2),
        (2, 1, 2),
        (None, 2, 2),
    ]

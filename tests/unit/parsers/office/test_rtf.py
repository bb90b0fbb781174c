"""RTF comes out as a reader sees it."""

from __future__ import annotations

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.office.rtf import parse_rtf
from spanwise.parsers.parsed import Parsed, Source

FONTS = (
    r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Cyr;}{\f2\fcharset128 Mincho;}"
    r"{\f3\fcharset2 Symbol;}{\f4\cpg1253 Greek;}{\f5\fcharset99 Odd;}}"
)


def parse(body: str, *, head: str = FONTS) -> Parsed:
    data = rf"{{\rtf1\ansi\ansicpg1252\deff0{head}{body}}}".encode("latin-1")
    return parse_rtf(Source(data=data, name="a.rtf"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"Caf\'e9 \'80", "Café €"),
        (r"{\f1\'cf\'f0\'e8} x \f4\'e1", "При x α"),
        (r"\f2\'83e\'83X\'83g", "テスト"),
        (r"\f5\'e9", "é"),
        (r"\u8212? and \uc0\u8211 x{\uc2\u8226\'b7\'b7y}", "— and –x•y"),
        (r"\u-10179?\u-8704?", "😀"),
        (r"\u8212\bullet x", "—x"),
        (r"a\tab b\line c\emdash d\~e\_f\-g", "a\tb\nc—d\xa0e-fg"),
        (r"\{a\}\\b", "{a}\\b"),
        ("a\\\nb", "a\n\nb"),
        (r"a{\v hidden}{\deleted gone}\v x\v0 b\plain c", "abc"),
        (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}", "link"),
        (r"a{\*\unknown no {deep} no}{\header no}{\pict 0a0b}b", "ab"),
        (r"a{\*\bin5 }}}{{}b", "ab"),
        (r"{\object{\*\objdata 00}{\result shown}}", "shown"),
        ("one\r\n two\\par\r\nthree", "one two\n\nthree"),
    ],
)
def test_what_a_reader_sees_is_kept(body: str, expected: str) -> None:
    """Characters of every kind; hidden text, unknown destinations and pictures are left out."""
    assert parse(body).text == expected


def test_code_page_of_the_file() -> None:
    """Where the font has none."""
    for mark, page in ((r"\ansicpg1251", "\xcf"), (r"\mac", "\x8e"), (r"\pc", "\x82")):
        data = rf"{{\rtf1{mark} {page}}}".encode("latin-1")
        assert parse_rtf(Source(data=data, name="a")).text in {"П", "é"}
    assert parse(r"\ansicpg99999\'e9", head="").text == "é"


STYLES = (
    r"{\stylesheet{\ql Normal;}{\s1\sbasedon9 heading 1;}{\s2\outlinelevel2 Own;}"
    r"{\s3\sbasedon2 Sub;}"
    r"{\s4 Title;}{\s5\sbasedon6 A;}{\s6\sbasedon5 B;}{\s7\outlinelevel9 heading 3;}"
    r"{\*\cs10 Character;}}"
)


@pytest.mark.parametrize(
    ("mark", "level"),
    [
        (r"\s1", 1),
        (r"\s2", 3),
        (r"\s3", 3),
        (r"\s4", 1),
        (r"\s5", None),
        (r"\s7", None),
        (r"\outlinelevel1", 2),
        (r"\s1\outlinelevel9", None),
        ("", None),
    ],
)
def test_heading_is_known_by_its_level(mark: str, level: int | None) -> None:
    """Of the paragraph, of its style, of the style that is based on."""
    parsed = parse(rf"\pard{mark} Scope\par\pard text", head=FONTS + STYLES)
    assert [(h.level, h.title) for h in parsed.headings] == ([(level, "Scope")] if level else [])


def test_lists_have_the_labels_that_stand_in_the_file() -> None:
    """Bullets of any kind are hyphens; short items stand line by line."""
    body = (
        r"{\listtext\f3\'b7\tab}one\par{\pntext 2.\tab}two\par{\listtext (iii)\tab}"
        + "long " * 30
        + r"\par\pard end"
    )
    assert parse(body).text == f"- one\n2. two\n\n(iii) {'long ' * 29}long\n\nend"


def test_row_is_a_line_and_nested_table_follows_it() -> None:
    """Paragraphs of a cell are joined; text after the table is none of it."""
    body = (
        r"before\par\trowd\cellx1\cellx2\pard\intbl A\cell B\par b\cell\row"
        r"\pard\intbl C\cell\pard\intbl\itap2 x\nestcell y\nestcell"
        r"{\*\nesttableprops\trowd\nestrow}{\nonesttables no}\pard\intbl D\cell\row\pard after"
    )
    parsed = parse(body)
    assert parsed.text == "before\n\nA | B b\nC | D\nx | y\n\nafter"
    assert [block.kind for block in parsed.blocks] == ["table"]


def test_frame_of_one_cell_is_text() -> None:
    """A table of one column is there for its border."""
    parsed = parse(r"\pard\intbl one\par two\cell\row\pard after")
    assert parsed.text == "one\ntwo\n\nafter"
    assert not parsed.blocks


def test_notes_and_boxes_stand_apart() -> None:
    """A note at the end, a box before the paragraph that it is anchored in."""
    body = (
        r"Said{\footnote\pard\plain{\super\chftn} The note.\par more} and"
        r"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard box\par}}} on\par"
        r"\pard\intbl A{\shp{\*\shpinst{\shptxt in cell}}}\cell B\cell\row"
    )
    assert parse(body).text == ("box\n\nSaid[1] and on\n\nin cell A | B\n\n[1] The note.\n\nmore")


def test_properties_are_metadata() -> None:
    """Title, author, the day it was made."""
    information = (
        r"{\info{\title Lease of \'e9t\'e9}{\author A. B.}{\creatim\yr2021\mo3\dy4\hr5}"
        r"{\company no}}"
    )
    parsed = parse("x", head=FONTS + information.replace("A. B.", r"A. \u-10179?"))
    assert parsed.metadata["author"] == "A. \ufffd"
    parsed = parse("x", head=FONTS + information)
    assert parsed.text == "x"
    assert parsed.title == "Lease of été"
    assert parsed.metadata == {"author": "A. B.", "file_date": "2021-03-04"}


def test_cut_off_file_is_partial() -> None:
    """What stands before the cut is kept, also inside a row and a note."""
    for body, expected in (
        (r"kept {\b bold", "kept bold"),
        (r"\pard\intbl A\cell B", "A | B"),
        (r"a{\footnote note", "a[1]\n\n[1] note"),
        ("a\\", "a"),
    ):
        data = rf"{{\rtf1{FONTS}{body}".encode()
        parsed = parse_rtf(Source(data=data, name="a"))
        assert parsed.text == expected
        assert parsed.status == "partial"


def test_what_follows_the_last_brace_is_no_text() -> None:
    """Mail programs append bytes."""
    assert parse_rtf(Source(data=rb"{\rtf1 text}" + b"\0\0more", name="a")).text == "text"


@pytest.mark.parametrize(
    ("body", "code"),
    [(r"{\pict 00}", "no_text"), ("{" * 20_000, "corrupt"), (r"\par" * 10, "no_text")],
)
def test_bad_file_is_refused(body: str, code: str) -> None:
    """With the kind of the cause."""
    with pytest.raises(ParseError) as caught:
        parse(body)
    assert caught.value.code == code


def test_truncated_nested_table_keeps_its_text() -> None:
    """The unfinished rows of both tables are written."""
    data = rf"{{\rtf1{FONTS}\pard\intbl\itap2 x\nestcell y".encode()
    assert parse_rtf(Source(data=data, name="a")).text == "x | y"

"""Laws of the parsers, for any input."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.documents import build_docx, paragraph

from spanwise.config.network_addresses import is_public
from spanwise.core.text.file_names import name_to_id
from spanwise.errors import ParseError
from spanwise.parsers.detect import detect_format
from spanwise.parsers.markup.html import TableCell, TableGrid, parse_html
from spanwise.parsers.markup.markdown import parse_markdown
from spanwise.parsers.office.docx import parse_docx
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.text import decode_text, parse_text

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufeff", exclude_categories=("Cc", "Cs"))
    | st.sampled_from("\n\r\t\f\x0b\x85\u2028 ")
).filter(lambda text: bool(text.strip()))
LAW = settings(max_examples=50, deadline=None)  # imports are slow on the first example
SIGNS = "# |## |a|b c|---|===|```|> |- |    |title: x|*|[a](b)|<b>|&amp;|1. ".split("|")
MARKDOWN = st.lists(
    st.sampled_from(SIGNS)
    | st.sampled_from(["\n", "\r\n", "\n\n", "\r", "\x0c", "| x | y |", "|---|---|"]),
    min_size=1,
).map("".join)
NAMES = "p div h1 h2 b ul ol li table tr td th pre br main header nav span script".split()
MARKUP = st.lists(
    st.sampled_from([f"<{name}>" for name in NAMES] + [f"</{name}>" for name in NAMES])
    | st.sampled_from([" ", "word", "&nbsp;", "&amp;", "<td colspan=3>", "<td rowspan=2>", "\n"]),
).map("".join)


@LAW
@given(TEXTS)
@example("\x85a\u2028b\rc\r\nd")
def test_utf8_text_is_returned_as_it_is(text: str) -> None:
    """Character for character; pages cover it."""
    parsed = parse_text(Source(data=text.encode(), name="a.txt"))
    assert parsed.text == text
    assert "".join(text[page.start : page.end] for page in parsed.pages) in {"", text}


@LAW
@given(TEXTS, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_marked_text_is_returned_as_it_is(text: str, encoding: str) -> None:
    """In every encoding with a byte order mark."""
    assert decode_text(Source(data=text.encode(encoding), name="a")).text == text


@LAW
@given(MARKDOWN)
def test_markdown_is_its_source(source: str) -> None:
    """Headings and blocks are inside it, in order, on whole lines (`Parsed` checks the rest)."""
    assume(source.strip())
    parsed = parse_markdown(Source(data=source.encode(), name="a.md"))
    assert parsed.text == source
    for block in parsed.blocks:
        assert block.start == 0 or source[block.start - 1] in "\r\n"
        assert block.end == len(source) or source[block.end] in "\r\n \t\f"
    for heading in parsed.headings:
        line_start = max(source.rfind(end, 0, heading.start) for end in "\r\n") + 1
        assert not source[line_start : heading.start].strip()


def attempt(parse: Callable[[Source], Parsed], source: Source) -> Parsed | ParseError:
    """Return what a parser makes of a source, or its refusal; nothing else may be raised."""
    try:
        return parse(source)
    except ParseError as error:
        return error


@LAW
@given(MARKUP)
def test_html_never_fails_but_for_want_of_text(markup: str) -> None:
    """Headings stand where they say; nothing begins or ends with white space."""
    parsed = attempt(parse_html, Source(data=f"<p>{markup}".encode(), name="a.html"))
    if isinstance(parsed, ParseError):
        assert parsed.code == "no_text"
    else:
        assert all(parsed.text[h.start : h.end] == h.title for h in parsed.headings)
        assert not parsed.text[0].isspace() or parsed.blocks[0].start == 0
        assert not parsed.text[-1].isspace()


@LAW
@given(
    st.lists(
        st.lists(
            st.builds(
                TableCell,
                text=st.sampled_from(["", "a", "$", "12", ")", "%", "(3"]),
                columns=st.integers(1, 5),
                rows=st.integers(1, 3),
            ),
            max_size=5,
        ),
        max_size=6,
    )
)
def test_table_loses_no_text(rows: list[list[TableCell]]) -> None:
    """Every character of every cell is in the line of its row."""
    grid = TableGrid()
    for row in rows:
        grid.add_row(row)
    lines, columns = grid.lines()
    wanted = ["".join(cell.text for cell in row) for row in rows]
    assert ["".join(line.split(" | ")).replace(" ", "") for line in lines] == [
        text for text in wanted if text
    ]
    assert columns <= sum(len(row) for row in rows)


def parse_as_text(source: Source) -> Parsed:
    detect_format(source)
    return parse_text(source)


@LAW
@given(st.binary(max_size=300), st.sampled_from(["a.md", "a.html", "a.pdf", "a"]))
def test_any_bytes_are_told_or_refused(data: bytes, name: str) -> None:
    """No other exception leaves detection and decoding; a refusal names the file."""
    parsed = attempt(parse_as_text, Source(data=data, name=name))
    assert str(parsed).startswith(name) if isinstance(parsed, ParseError) else parsed.text


DOCX = build_docx(paragraph("Some text of the agreement", properties='<w:outlineLvl w:val="0"/>'))


@LAW
@given(st.lists(st.tuples(st.integers(0, len(DOCX) - 1), st.integers(0, 255)), max_size=4))
def test_damaged_docx_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    """No other exception leaves the parser."""
    data = bytearray(DOCX)
    for place, byte in changes:
        data[place] = byte
    parsed = attempt(parse_docx, Source(data=bytes(data), name="a.docx"))
    if isinstance(parsed, ParseError):
        assert parsed.code in {"corrupt", "no_text", "too_large", "encrypted"}
    else:
        assert parsed.text


@LAW
@given(st.binary())
def test_every_name_has_a_valid_id(name: bytes) -> None:
    """And it is the name itself, where that is valid."""
    text = name.decode("utf-8", "surrogateescape")
    identifier = name_to_id(text)
    assert identifier.encode("utf-8").decode("utf-8") == identifier
    assert identifier == text or "%" in identifier


@LAW
@given(st.ip_addresses(v=4))
def test_hiding_an_address_changes_nothing(address: object) -> None:
    """IPv6 addresses that carry an IPv4 address are as public as it is."""
    expected = is_public(str(address))
    assert is_public(f"::ffff:{address}") == expected
    assert is_public(f"64:ff9b::{address}") == expected

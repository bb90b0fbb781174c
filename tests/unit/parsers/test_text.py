"""Plain text comes out as it is in the file."""

from __future__ import annotations

import codecs

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Source
from spanwise.parsers.text import decode_text, parse_text
from spanwise.types import Page

GERMAN = "Größe, Straße und Übermut: ein Bericht über die fünf Wochen in der Börse.\n" * 20


def decode(data: bytes, charset: str | None = None) -> str:
    return decode_text(Source(data=data, name="a.txt", charset=charset)).text


def test_line_ends_are_kept() -> None:
    """No line end is normalised, nothing is stripped."""
    assert decode(b" a\r\nb\rc\n\x0bd\xc2\x85e \n\n") == " a\r\nb\rc\n\x0bd\x85e \n\n"


@pytest.mark.parametrize("charset", ["punycode", "unicode_escape", "no\0name"])
def test_a_charset_that_no_text_has_says_nothing(charset: str) -> None:
    assert decode(b"a\\n-z9z9", charset) == "a\\n-z9z9"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_mark_decides_and_is_left_out(mark: bytes, encoding: str) -> None:
    """A mark names the encoding and is no part of the text."""
    assert decode(mark + "Zoë 😀\r\n".encode(encoding)) == "Zoë 😀\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_mark_is_seen_by_its_nul_bytes(encoding: str) -> None:
    """Western text in UTF-16 has a NUL in every second place, in UTF-32 three of four."""
    assert decode(GERMAN.encode(encoding)) == GERMAN


def test_windows_1252_is_read_with_a_warning() -> None:
    """Western text that is not UTF-8 is a guess, which is said."""
    decoded = decode_text(Source(data=GERMAN.encode("cp1252"), name="a.txt"))
    assert decoded.text == GERMAN
    assert "Windows-1252" in decoded.warnings[0]


def test_asian_text_is_not_taken_for_western() -> None:
    """Shift-JIS has bytes that Windows-1252 lacks, and too many high ones."""
    text = "これは日本語の文章です。会社の年次報告書には売上高が記載されています。\n" * 20
    assert decode(text.encode("shift_jis")) == text


def test_cyrillic_text_is_not_taken_for_western() -> None:
    """In Windows-1251 nearly every letter is above ASCII."""
    text = "Годовой отчёт компании содержит сведения о выручке и прибыли за прошлый год.\n" * 20
    assert decode(text.encode("cp1251")) == text


def test_declared_charset_is_used_where_it_fits() -> None:
    """A server knows what it sends."""
    assert decode("日本".encode("euc-jp"), charset="EUC-JP") == "日本"


@pytest.mark.parametrize("charset", ["utf-8", "no-such-charset", "hex"])
def test_declared_charset_that_does_not_fit_is_passed_over(charset: str) -> None:
    """A wrong name is no reason to fail."""
    assert decode(GERMAN.encode("cp1252"), charset=charset) == GERMAN


def test_western_charset_goes_behind_utf8() -> None:
    """Servers declare Latin-1 for anything; valid UTF-8 is UTF-8."""
    assert decode("Größe".encode(), charset="iso-8859-1") == "Größe"


def test_declared_western_charset_is_no_guess() -> None:
    """What is declared needs no warning."""
    source = Source(data=GERMAN.encode("cp1252"), name="a", charset="ISO-8859-1")
    assert decode_text(source).warnings == ()


def test_few_damaged_bytes_do_not_change_the_rest() -> None:
    """UTF-8 with one bad byte stays UTF-8, with a warning."""
    data = GERMAN.encode().replace(b"ein", b"e\xffn", 1)
    decoded = decode_text(Source(data=data, name="a.txt"))
    assert decoded.text == GERMAN.replace("ein", "e\ufffdn", 1)
    assert decoded.warnings == ("1 bytes are not UTF-8 and were replaced by U+FFFD",)


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 8, b"\x7fELF" + bytes(500), codecs.BOM_UTF16_LE + b"\x00\xd8a\x00"],
)
def test_binary_is_refused(data: bytes) -> None:
    """Control characters are no text, nor is broken UTF-16."""
    with pytest.raises(ParseError) as caught:
        decode(data)
    assert caught.value.code == "binary"
    assert caught.value.source == "a.txt"


@pytest.mark.parametrize("data", [b" \r\n\t", codecs.BOM_UTF8])
def test_white_space_is_no_text(data: bytes) -> None:
    """A file of white space says so."""
    with pytest.raises(ParseError) as caught:
        decode(data)
    assert caught.value.code == "no_text"


def test_form_feeds_separate_pages() -> None:
    """A form feed ends its page; an empty page has no more than it."""
    parsed = parse_text(Source(data=b"one\n\f\ftwo", name="a.txt"))
    assert parsed.pages == (
        Page(start=0, end=5),
        Page(start=5, end=6),
        Page(start=6, end=9),
    )
    assert parsed.headings == ()


def test_last_form_feed_begins_no_page() -> None:
    """Printers end every page with one, the last too."""
    parsed = parse_text(Source(data=b"one\f", name="a.txt"))
    assert parsed.pages == (Page(start=0, end=4),)


def test_text_without_form_feed_has_no_pages() -> None:
    """No pages are invented."""
    assert parse_text(Source(data=b"one", name="a.txt")).pages == ()


def test_zeros_are_no_text() -> None:
    """Though each four of them are a character of UTF-32."""
    with pytest.raises(ParseError) as caught:
        parse_text(Source(data=bytes(400), name="a.txt"))
    assert caught.value.code == "binary"

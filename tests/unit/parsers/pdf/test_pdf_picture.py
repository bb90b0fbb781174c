"""Pages are drawn as people see them, and written as PNG files."""

from __future__ import annotations

import struct
import zlib

import pypdfium2
import pytest
from tests.documents import build_pdf

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf.picture import draw_page, draw_png

WHOLE = build_pdf(["One", "Two"])


def chunks(png: bytes) -> dict[bytes, bytes]:
    """Return the chunks of a PNG file, checked."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    found = {}
    place = 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        assert struct.unpack(">I", png[place + 8 + size : place + 12 + size]) == (
            zlib.crc32(kind + data),
        )
        found[kind] = data
        place += 12 + size
    return found


def test_png_holds_every_dot() -> None:
    """Eight bits of red, green and blue, no filter."""
    png = chunks(draw_png(Source(data=WHOLE, name="a.pdf"), page=2, dots_per_inch=36))
    width, height, bits, colours = struct.unpack(">IIBB", png[b"IHDR"][:10])
    assert (width, height, bits, colours) == (306, 396, 8, 2)
    rows = zlib.decompress(png[b"IDAT"])
    assert len(rows) == height * (1 + 3 * width)
    assert rows.count(b"\xff") > 0.9 * len(rows)  # paper
    assert min(rows[1 : 1 + 3 * width * 100]) < 128  # ink
    assert b"IEND" in png


def test_large_pages_are_drawn_less_finely() -> None:
    """A poster of five metres does not fill the memory."""
    poster = WHOLE.replace(b"[0 0 612 792]", b"[0 0 9999 9999]")
    picture = draw_page(pypdfium2.PdfDocument(poster), 1, dots_per_inch=600)
    assert 30_000_000 < picture.dots.size <= 41_000_000
    assert picture.dots.shape[0] * picture.points_per_dot == pytest.approx(9999, rel=0.01)


def test_page_that_is_not_there_is_an_error() -> None:
    """And one that cannot be read."""
    with pytest.raises(ParseError, match="no page 3") as missing:
        draw_png(Source(data=WHOLE, name="a.pdf"), page=3, dots_per_inch=36)
    broken = WHOLE.replace(b"/Type /Page /Parent", b"/Type /Nope /Parent", 1)
    with pytest.raises(ParseError, match="page 1") as corrupt:
        draw_png(Source(data=broken, name="a.pdf"), page=1, dots_per_inch=36)
    assert (missing.value.code, corrupt.value.code) == ("unsupported", "corrupt")

"""Streams that do not unpack are found; what can still be read of their file is."""

from __future__ import annotations

import io
import random
import zlib

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas
from tests.documents import build_pdf, compressed_pdf

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.pdf.reader import parse_pdf
from spanwise.parsers.pdf.repair import Damage, find_damage

PAGES = ["\n".join(f"Line {line} of page {page}." for line in range(40)) for page in range(3)]
WHOLE = compressed_pdf(PAGES)


def find(data: bytes, *, of: bytes | None = None) -> Damage | None:
    return find_damage(pypdfium2.PdfDocument(of or data), data)


def parse(data: bytes) -> Parsed:
    return parse_pdf(Source(data=data, name="a.pdf"))


def first_stream(data: bytes) -> tuple[int, int]:
    """Return where the first packed stream begins and ends."""
    start = data.index(b"stream\n", data.index(b"/FlateDecode")) + len(b"stream\n")
    return start, data.index(b"endstream", start)


def damaged(data: bytes, *, at: float = 0.5) -> bytes:
    """Change a byte in the first packed stream."""
    start, end = first_stream(data)
    place = start + int(at * (end - start))
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


@pytest.mark.parametrize(
    "data", [WHOLE, build_pdf(PAGES), compressed_pdf(PAGES, user_password="")], ids=str
)
def test_whole_file_has_no_damage(data: bytes) -> None:
    """Packed, plain and encrypted."""
    assert find(data) is None


@pytest.mark.parametrize("user_password", [None, ""])
def test_packed_cross_reference_table_is_no_damage(user_password: str | None) -> None:
    """It is never encrypted, so a decrypted copy of the file must not decrypt it."""
    data = compressed_pdf(PAGES, user_password=user_password, has_packed_table=True)
    assert find(data) is None
    parsed = parse(data)
    assert (parsed.status, parsed.warnings) == ("ok", ())


def test_damage_of_an_encrypted_file_with_a_packed_table_is_found() -> None:
    data = compressed_pdf(PAGES, user_password="", has_packed_table=True)
    damage = find(damaged(data))
    assert damage is not None
    assert damage.streams == 1


def test_stream_packed_behind_another_filter_is_whole() -> None:
    """As text, for instance, which does not unpack from the bytes of the file."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pageCompression=1)
    canvas.drawString(72, 700, "Words that are to be read.")
    canvas.save()
    assert b"/ASCII85Decode" in buffer.getvalue()
    assert find(buffer.getvalue()) is None
    assert parse(buffer.getvalue()).text == "Words that are to be read."


@pytest.mark.parametrize("password", [None, ""])
def test_one_byte_is_found(password: str | None) -> None:
    """In an encrypted file in its plain form: its bytes as they are would unpack to nothing."""
    damage = find(damaged(compressed_pdf(PAGES, user_password=password)))
    assert damage is not None
    assert (damage.streams, damage.of) == (1, 3)


@pytest.mark.parametrize("cut", [4, 0], ids=["no checksum", "wrong checksum"])
def test_text_before_a_wrong_checksum_is_whole(cut: int) -> None:
    """It may be wrong, which is said; none of it is lost."""
    start, end = first_stream(WHOLE)
    tail = WHOLE[start:end].rstrip(b"\n")
    data = WHOLE[: start + len(tail) - 4] + bytes(4 - cut) + b" " * cut + WHOLE[start + len(tail) :]
    parsed = parse(data)
    assert parsed.status == "partial"
    assert parsed.text == parse(WHOLE).text


def test_stream_that_is_cut_off_is_damaged() -> None:
    """The end of the file comes before its own."""
    start, _ = first_stream(WHOLE)
    damage = find(WHOLE[: start + 60], of=WHOLE)
    assert damage is not None
    assert (damage.streams, damage.of) == (1, 1)


def test_bomb_is_looked_at_in_part() -> None:
    """Its end does not matter."""
    packed = zlib.compress(bytes(50_000_000))[:-200]
    data = b"1 0 obj\n<< /FlateDecode >>\nstream\n" + packed
    assert find(data, of=WHOLE) is None


def test_text_before_the_damage_is_read() -> None:
    """The rest is lost, which is said."""
    parsed = parse(damaged(WHOLE, at=0.8))
    assert parsed.status == "partial"
    assert parsed.warnings[0].startswith("1 of its 3 compressed parts are damaged")
    assert "Line 15 of page 0." in parsed.text
    assert "Line 20 of page 2." in parsed.text


def test_text_of_a_damaged_font_is_read() -> None:
    """Without the font."""
    font = zlib.compress(random.Random(1).randbytes(1_400))
    broken = font[:40] + b"\xff\xff" + font[42:]
    data = compressed_pdf(PAGES, font_file=broken)
    parsed = parse(data)
    assert parsed.status == "partial"
    assert "Line 20 of page 1." in parsed.text


def test_document_of_damage_alone_is_corrupt() -> None:
    """Not blank."""
    data = compressed_pdf(PAGES[:1])
    start, _ = first_stream(data)
    with pytest.raises(ParseError, match="compressed parts are damaged") as caught:
        parse(data[:start] + b"\xff" * 40 + data[start + 40 :])
    assert caught.value.code == "corrupt"
    assert str(caught.value).endswith("parts are damaged); fetch or export it again")

"""Damaged and hostile PDF files."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.documents import bomb_pdf, build_pdf, looping_pdf, many_pages_pdf
from tests.small_documents import SENTENCES

__all__ = ["DAMAGE", "BrokenFile", "damaged_pdfs", "hostile_pdfs"]


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """File of the corpus."""

    kind: str
    """Kind of damage."""
    name: str
    data: bytes


def _cut(share: float) -> Callable[[bytes, random.Random], bytes]:
    return lambda data, _: data[: int(len(data) * share)]


def _rot(count: int) -> Callable[[bytes, random.Random], bytes]:
    def rot(data: bytes, chance: random.Random) -> bytes:
        damaged = bytearray(data)
        for _ in range(count):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        return bytes(damaged)

    return rot


def _zeros(data: bytes, chance: random.Random) -> bytes:
    """Replace a block by zero bytes, like a disk error."""
    size = min(4096, len(data) // 4)
    start = chance.randrange(max(1, len(data) - size))
    return data[:start] + bytes(size) + data[start + size :]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    """Swap two blocks."""
    size = min(2048, len(data) // 8)
    first = chance.randrange(max(1, len(data) // 2 - size))
    second = len(data) // 2 + chance.randrange(max(1, len(data) // 2 - size))
    middle = data[first + size : second]
    block, other = data[first : first + size], data[second : second + size]
    return data[:first] + other + middle + block + data[second + size :]


DAMAGE: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "cut at 95 %": _cut(0.95),
    "cut at 60 %": _cut(0.6),
    "cut at 30 %": _cut(0.3),
    "cut at 5 %": _cut(0.05),
    "4 bytes changed": _rot(4),
    "40 bytes changed": _rot(40),
    "400 bytes changed": _rot(400),
    "block of zeros": _zeros,
    "blocks swapped": _swapped,
}
"""Functions that damage the bytes of a file, by name."""


def _junk_before(data: bytes, chance: random.Random) -> bytes:
    return b"HTTP/1.1 200 OK\r\nX: %d\r\n" % chance.randrange(10**6) * 100 + data


def _bytes_inserted(data: bytes, chance: random.Random) -> bytes:
    """Insert bytes in the first tenth, which shifts all later offsets."""
    place = data.find(b"endobj", chance.randrange(max(1, len(data) // 10)))
    return data[:place] + b"\n% moved\n" + data[place:]


def _without(pattern: bytes, replacement: bytes) -> Callable[[bytes, random.Random], bytes]:
    return lambda data, _: re.sub(pattern, replacement, data)


_PDF_DAMAGE: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    **DAMAGE,
    "junk before the header": _junk_before,
    "junk after the end": lambda data, _: data + b"\0" * 5000,
    "header overwritten": _without(rb"^%PDF-1\.\d", b"%XXX-1.7"),
    "wrong startxref": _without(rb"startxref\s+\d+", b"startxref\n7"),
    "no startxref": _without(rb"startxref\s+\d+\s+%%EOF\s*", b""),
    "bytes inserted": _bytes_inserted,
    "line ends changed": lambda data, _: data.replace(b"\r\n", b"\n"),
    "wrong lengths": _without(rb"/Length \d+", b"/Length 3"),
    "no ends of streams": _without(rb"endstream", b"endstrXXX"),
    "catalog without a type": _without(rb"/Type\s*/Catalog", b"/Type /Cat"),
    "pages without a type": _without(rb"/Type\s*/Page\b", b"/Type /Leaf"),
    "twice in one file": lambda data, _: data + data,
}


def damaged_pdfs(
    whole: Mapping[str, bytes], *, seed: int, kinds: int | None = None
) -> Iterator[BrokenFile]:
    """Yield each file with each kind of damage.

    Args:
        whole: Intact files by name.
        seed: Seed of the random generator.
        kinds: Number of kinds of damage; None for all.
    """
    for name, data in whole.items():
        for place, (kind, damage) in enumerate(list(_PDF_DAMAGE.items())[:kinds]):
            chance = random.Random(f"{seed} {name} {kind}")
            yield BrokenFile(kind, f"{name}-{place:02}.pdf", damage(data, chance))


_PAGES = ["\n".join(SENTENCES[start : start + 40]) for start in range(0, 240, 40)]


def hostile_pdfs(*, large: bool) -> Iterator[BrokenFile]:
    """Yield PDFs designed to hang, crash or mislead a parser.

    Args:
        large: Whether to include PDFs that take minutes.
    """
    for number, (kind, data) in enumerate(_hostile(large=large)):
        yield BrokenFile(kind, f"hostile-{number:02}.pdf", data)


def _hostile(*, large: bool) -> Iterator[tuple[str, bytes]]:
    yield "whole", build_pdf(_PAGES)
    yield "no bytes", b""
    yield "LFS pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    yield "HTML named .pdf", b"<!doctype html><html><body><p>Not found, try again.</p></html>"
    yield "text named .pdf", "\n".join(_PAGES).encode()
    yield "random bytes", random.Random(1).randbytes(20_000)
    yield "user password", build_pdf(_PAGES, user_password="secret")
    yield "empty password", build_pdf(_PAGES, user_password="")
    yield "no text layer", build_pdf(["", "", ""], picture_pages=[0, 1, 2])
    yield "some pages are pictures", build_pdf([*_PAGES, "", ""], picture_pages=[6, 7])
    yield "blank pages", build_pdf(["", ""])
    yield "font without a map", build_pdf(["A" * 60] * 3, to_unicode="\ue001")
    yield "form that paints itself", looping_pdf()
    yield "form that paints itself, on one page", looping_pdf([_PAGES[0], "", _PAGES[2]])
    yield "page tree that loops", _looping_tree()
    yield "arrays in arrays", _nested_arrays(200_000)
    yield "page turned", build_pdf(_PAGES).replace(b"/MediaBox [0", b"/Rotate 90 /MediaBox [0")
    yield "page of no size", build_pdf(_PAGES).replace(b"[0 0 612 792]", b"[0 0 000 000]")
    yield "page of vast size", build_pdf(_PAGES).replace(b"[0 0 612 792]", b"[0 0 9e9 9e9]")
    yield "page count that lies", re.sub(rb"/Count \d+", b"/Count 9", build_pdf(_PAGES))
    yield "stream bomb", bomb_pdf(2_000_000_000 if large else 100_000_000)
    yield "text bomb", _text_bomb(300_000_000 if large else 20_000_000)
    yield "many pages", many_pages_pdf(100_000 if large else 21_000)


def _looping_tree() -> bytes:
    """Return a PDF with a page tree that contains itself."""
    whole = build_pdf(_PAGES[:2])
    return re.sub(rb"/Kids \[(\d+) 0 R (\d+) 0 R\]", rb"/Kids [\1 0 R 2 0 R]", whole)


def _nested_arrays(depth: int) -> bytes:
    whole = build_pdf(_PAGES[:1])
    return whole.replace(
        b"/Type /Catalog", b"/Deep " + b"[" * depth + b"]" * depth + b"/Type /Catalog"
    )


def _text_bomb(chars: int) -> bytes:
    """Return a PDF with a page whose compressed content has a given number of characters."""
    line = b"(" + b"a bomb of words " * 60 + b") Tj T*\n"
    packer = zlib.compressobj(9)
    packed = packer.compress(b"BT /F1 11 Tf 14 TL 72 740 Td\n")
    packed += b"".join(packer.compress(line) for _ in range(chars // len(line)))
    packed += packer.compress(b"ET") + packer.flush()
    whole = build_pdf(["MARK"])
    end = whole.index(b"endobj", whole.index(b"MARK"))
    start = whole.rindex(b"obj\n", 0, whole.index(b"MARK")) + 4
    head = b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(packed)
    return whole[:start] + head + packed + b"\nendstream\n" + whole[end:]

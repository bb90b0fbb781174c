"""Damaged and hostile documents of all formats except PDF."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Iterator, Mapping

from tests.documents import build_docx, build_zip, paragraph
from tests.small_documents import SENTENCES, small_documents

from benchmarks.lib.broken_pdfs import DAMAGE, BrokenFile

__all__ = ["damaged_documents", "hostile_documents"]


def damaged_documents(*, seed: int, kinds: int | None = None) -> Iterator[BrokenFile]:
    """Yield each small document with each kind of damage, and with a wrong file extension.

    Args:
        seed: Seed of the random generator.
        kinds: Number of kinds of damage; None for all.
    """
    whole = {name: data for name, data in small_documents().items() if name != "report.pdf"}
    for name, data in whole.items():
        stem, _, extension = name.partition(".")
        yield BrokenFile("whole", name, data)
        for place, (kind, damage) in enumerate(list(DAMAGE.items())[:kinds]):
            chance = random.Random(f"{seed} {name} {kind}")
            yield BrokenFile(kind, f"{stem}-{place}.{extension}", damage(data, chance))
        yield BrokenFile("wrong extension", f"{stem}-{extension.replace('.', '-')}.docx", data)


def hostile_documents(*, large: bool) -> Iterator[BrokenFile]:
    """Yield documents designed to hang, crash or mislead a parser.

    Args:
        large: Whether the documents have the maximum size.
    """
    scale = 10 if large else 1
    for name, kind, data in (*_office(scale), *_text(scale), *_containers(scale)):
        yield BrokenFile(kind, f"hostile-{name}", data)


def _replaced(container: bytes, parts: Mapping[str, bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(container)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return build_zip({**files, **parts})


def _office(scale: int) -> Iterator[tuple[str, str, bytes]]:
    small = small_documents()
    body = "".join(map(paragraph, SENTENCES))
    entities = b'<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "' + b"&a;" * 10
    entities += b'"><!ENTITY c "' + b"&b;" * 10 + b'">]>'
    whole = build_docx(body)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        document = archive.read("word/document.xml")
    declared = document.replace(b"?>", b"?>" + entities, 1)
    yield (
        "bomb.docx",
        "XML bomb",
        _replaced(whole, {"word/document.xml": bytes(100_000_000 * scale)}),
    )
    yield "entities.docx", "XML entities", _replaced(whole, {"word/document.xml": declared})
    many = build_docx("".join(map(paragraph, SENTENCES * 1_000 * scale)))
    yield "many.docx", "many paragraphs", many
    deep = "<w:sdt><w:sdtContent>" * 50_000 + paragraph("deep") + "</w:sdtContent></w:sdt>" * 50_000
    yield "deep.docx", "elements in elements", build_docx(deep)
    for part, kind in (("_rels/.rels", "part missing"), ("word/document.xml", "part empty")):
        yield f"{kind[5:]}.docx", kind, _replaced(whole, {part: b""})
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(io.BytesIO(small["report.xlsx"])) as archive:
        rows = archive.read(sheet)
    far = rows.replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    yield "far.xlsx", "cell in the last corner", _replaced(small["report.xlsx"], {sheet: far})
    lying = rows.replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>')
    yield (
        "lying.xlsx",
        "size of the sheet that lies",
        _replaced(small["report.xlsx"], {sheet: lying}),
    )
    wide = b"".join(b'<c t="inlineStr"><is><t>cell</t></is></c>' for _ in range(16_384))
    packed = re.sub(
        rb"<sheetData>.*</sheetData>",
        b"<sheetData>" + (b"<row>" + wide + b"</row>") * 40 * scale + b"</sheetData>",
        rows,
    )
    yield "wide.xlsx", "many cells", _replaced(small["report.xlsx"], {sheet: packed})


def _text(scale: int) -> Iterator[tuple[str, str, bytes]]:
    depth = 100_000
    text = "\n".join(SENTENCES)
    yield "deep.json", "arrays in arrays", b"[" * depth + b"1" + b"]" * depth
    yield "open.json", "arrays never closed", b"[" * depth
    yield "number.json", "number of a million digits", b'{"n": ' + b"9" * 1_000_000 + b"}"
    yield "deep.html", "elements in elements", b"<div>" * depth + text.encode() + b"</div>" * depth
    yield "open.html", "tags never closed", b"<b><i><p>" * depth + text.encode()
    cells = b"<td rowspan=65000 colspan=1000>x</td>" * 200
    yield "table.html", "cells over all", b"<table><tr>" + cells + b"</tr></table>" + text.encode()
    yield "deep.rtf", "groups in groups", b"{\\rtf1 " + b"{" * depth + b"text" + b"}" * depth + b"}"
    yield "open.rtf", "groups never closed", b"{\\rtf1 " + b"{" * depth + text.encode()
    yield "binary.rtf", "length that lies", b"{\\rtf1 \\bin2147483647 " + text.encode() + b"}"
    yield "line.csv", "one line", b"word," * 1_000_000 * scale
    yield "quote.csv", "quote never closed", b'a,b\n1,"' + text.encode() * 1_000
    yield "line.txt", "one line", b"word " * 1_000_000 * scale
    yield "deep.md", "quotes in quotes", b">" * depth + b" " + text.encode()
    yield "brackets.md", "brackets never closed", b"[" * depth + text.encode()
    yield "deep.rst", "lists in lists", b"".join(b" " * n + b"- item\n\n" for n in range(2_000))
    yield "deep.py", "brackets in brackets", b"x = " + b"(" * depth + b"1" + b")" * depth
    yield "half.txt", "characters cut in half", text.encode("utf-16")[:-1]
    yield "nul.txt", "zero bytes among text", text.replace("e", "\0").encode()
    yield "white.txt", "nothing but white space", b" \n" * 10_000
    yield "empty.md", "no bytes", b""
    yield (
        "lfs.docx",
        "LFS pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    )


def _containers(scale: int) -> Iterator[tuple[str, str, bytes]]:
    text = "\n".join(SENTENCES).encode()
    inner = build_zip({"a.txt": text})
    for _ in range(50):
        inner = build_zip({"inner.zip": inner})
    yield "deep.zip", "archives in archives", inner
    yield (
        "bomb.zip",
        "archive bomb",
        build_zip({"zeros.txt": bytes(200_000_000 * scale), "a.txt": text}),
    )
    yield "bomb.txt.gz", "archive bomb", gzip.compress(bytes(200_000_000 * scale), mtime=0)
    yield "many.zip", "many members", build_zip({f"{n}.txt": b"" for n in range(20_000 * scale)})
    yield "paths.zip", "members outside", build_zip({"../../a.txt": text, "/etc/b.txt": text})
    parts = "\n".join(
        f"--{n}\nContent-Type: multipart/mixed; boundary={n + 1}\n" for n in range(3_000)
    )
    head = "From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=0\n\n"
    yield "deep.eml", "parts in parts", (head + parts).encode()
    bare = "From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed\n\n"
    yield "bare.eml", "no boundary", bare.encode() + text
    odd = "From: a@example.org\nMIME-Version: 1.0\nContent-Type: text/plain; charset=no-such\n\n"
    yield "charset.eml", "charset that is none", odd.encode() + text
    headers = b"MIME-Version: 1.0\n" + b"".join(b"X-%d: y\n" % n for n in range(100_000)) + b"\n"
    yield "headers.eml", "many headers", headers + text

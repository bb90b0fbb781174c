"""Every parser of Spanwise passes the checks that it ships for those of others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from tests.image_files import image_file
from tests.office_documents import build_odf
from tests.small_documents import small_documents

from spanwise.errors import ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.detect import detect_format
from spanwise.parsers.formats import PARSERS
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.process.isolation import ParserPool
from spanwise.testing.parsers import check_damage, check_document, check_parser
from spanwise.types import Block, Document, Heading

GOLDEN = Path(__file__).parents[1] / "golden" / "parsers"
BODY = "They float because they are lighter than the water that they take the place of. " * 9
SOURCES = {
    **small_documents(),
    "handbook.md": (GOLDEN / "handbook.md").read_bytes(),
    "report.html": (GOLDEN / "report.html").read_bytes(),
    "long.json": json.dumps(
        {
            "title": "Of ships",
            "text": BODY,
            "parts": [{"name": f"Part {number}", "text": BODY} for number in range(3)],
        }
    ).encode(),
    "chat.jsonl": b'{"messages": [{"role": "user", "content": "Do ships float?"}]}\n' * 3,
    "people.csv": b'name,note\nAda,"one\ntwo"\nBen,"open\n',
    "numbers.tsv": b"1\t2\n3\t4\n",
    "guide.rst": b"====\nMain\n====\n\nPart\n====\n\nSo::\n\n  x = 1\n\n=== ===\na   b\n=== ===\n",
    "guide.adoc": b"= Main\nAda Quill\n\n== Part\n\n----\nx = 1\n----\n\n|===\n|a |b\n|===\n",
    "talk.odp": build_odf(
        "presentation",
        "<draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>Of ships"
        "</text:p></draw:text-box></draw:frame></draw:page>",
    ),
    "code.py": b"# Why\n@deco\nclass A:\n    def f(self):\n        return '\xc3\xa9'\n",
    "photo.png": image_file("PNG"),
    "photo.jpg": image_file("JPEG"),
    "photo.gif": image_file("GIF"),
    "photo.webp": image_file("WEBP"),
    "photo.tif": image_file("TIFF"),
    "code.ts": b"export class A { f() { return 1 } }\nconst g = () => { };\n",
}
DOCUMENTS = sorted(
    name for name, data in SOURCES.items() if detect_format(Source(data=data, name=name)) in PARSERS
)


def parse(source: Source) -> Parsed:
    module, _, function = PARSERS[detect_format(source)].partition(":")
    parser: Callable[[Source], Parsed] = getattr(import_module(module), function)
    return parser(source)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_parser_keeps_its_promises(name: str) -> None:
    """On a whole document."""
    check_parser(parse, Source(data=SOURCES[name], name=name))


def test_every_parser_is_checked() -> None:
    """A new format needs a document here."""
    found = {detect_format(Source(data=SOURCES[name], name=name)) for name in DOCUMENTS}
    assert found == set(PARSERS)


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(options=ParseOptions(base_seconds=10, ocr="off")) as pool:
        yield pool


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damage_is_told_or_refused(name: str, pool: ParserPool, tmp_path: Path) -> None:
    """In the parsing process, as damaged files come in."""

    def parse_apart(source: Source) -> Document:
        path = tmp_path / "damaged"
        path.write_bytes(source.data)
        return pool.parse(path, document_id=name, source=source.name, source_root="x")

    check_damage(parse_apart, Source(data=SOURCES[name], name=name))


SOURCE = Source(data=b"Title\n\nSome text", name="a.txt")
GOOD = Parsed(
    text="Title\n\nSome text",
    media_type="text/plain",
    headings=(Heading(start=0, end=5, level=1, title="Title"),),
)


@pytest.mark.parametrize(
    "broken",
    [
        replace(GOOD, text="Other\n\nSome text"),
        replace(GOOD, blocks=(Block(start=2, end=5, kind="code"),)),
        replace(GOOD, blocks=(Block(start=7, end=9, kind="code"),)),
        replace(GOOD, status="partial"),
        replace(GOOD, metadata={"author": ""}),
        Parsed(text=" ", media_type="text/plain"),
    ],
)
def test_broken_promises_are_found(broken: Parsed) -> None:
    """Each by its check."""
    check_parser(lambda _: GOOD, SOURCE)
    with pytest.raises(AssertionError):
        check_parser(lambda _: broken, SOURCE)


def test_change_of_mind_is_found() -> None:
    """The same bytes give the same document."""
    answers = iter((GOOD, replace(GOOD, title="x")))
    with pytest.raises(AssertionError, match="the same bytes"):
        check_parser(lambda _: next(answers), SOURCE)


def test_errors_must_name_the_source() -> None:
    """And other exceptions are no refusal."""

    def refuse(source: Source) -> Parsed:
        raise ParseError("no name", source=source.name, code="corrupt")

    def fail(source: Source) -> Parsed:
        raise KeyError(source.name)

    with pytest.raises(AssertionError, match="does not name"):
        check_damage(refuse, SOURCE)
    with pytest.raises(KeyError):
        check_damage(fail, SOURCE)
    check_document(GOOD)

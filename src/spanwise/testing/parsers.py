"""Conformance checks of parsers.

::

    from spanwise.testing.parsers import check_damage, check_parser

    def test_parser() -> None:
        source = Source(data=data, name="a.xyz")
        check_parser(parse_xyz, source)
        check_damage(parse_xyz, source)
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args

from spanwise.errors import DocumentError
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.process.protocol import decode_parsed, encode_parsed
from spanwise.types import Document, DocumentStatus

Parse = Callable[[Source], Parsed]
"""Parser function. For an invalid document it raises a `DocumentError`, usually `ParseError`."""

_WORD = re.compile(r"\w+")


def check_parser(parse: Parse, source: Source) -> None:
    """Check that a parser is deterministic and its result is valid (`check_document`).

    Raises:
        AssertionError: If a check fails; the message names it.
    """
    parsed = parse(source)
    check_document(parsed)
    for heading in parsed.headings:
        line = _words(parsed.text[heading.start : heading.end])
        assert _words(heading.title) & line, f"{heading.title!r} shares no word with its line"
    assert parse(source) == parsed, "the same bytes gave a different document"
    decoded = decode_parsed(encode_parsed(parsed, content_hash=""), parsed.text)
    assert decoded == parsed, "the document changes when it is sent between processes"


def check_damage(parse: Callable[[Source], Parsed | Document], source: Source) -> None:
    """Check that each damaged copy of a document is parsed to a valid document, or rejected.

    A library that may hang or crash on damaged input must run in a separate process
    (`spanwise.parsers.process.isolation`).

    Raises:
        AssertionError: If a check fails.
    """
    for name, data in damaged(source.data):
        try:
            check_document(parse(replace(source, data=data)))
        except DocumentError as error:
            message = str(error)
            assert message.startswith(source.name), f"{name}: {message!r} does not name the source"


def check_document(parsed: Parsed | Document) -> None:
    """Check the invariants of a parsed document, intact or damaged.

    Raises:
        AssertionError: If a check fails.
    """
    text = parsed.text
    assert text.strip(), "a document without text must be rejected"
    assert text.encode("utf-8"), "the text must be valid Unicode"
    assert parsed.status in get_args(DocumentStatus), f"unknown status {parsed.status!r}"
    assert parsed.status == "ok" or parsed.warnings, f"{parsed.status} without a warning"
    joined = "".join(text[page.start : page.end] for page in parsed.pages)
    assert not parsed.pages or joined == text, "the pages do not cover the text"
    for block in parsed.blocks:
        before, after = text[: block.start][-1:], text[block.end :][:1]
        assert not before or before in "\r\n\f", f"block at {block.start} begins inside a line"
        assert not after.strip(), f"block at {block.start} ends inside a word"
    for name, value in parsed.metadata.items():
        assert isinstance(value, str | int | float | bool), f"{name} is {value!r}"
        assert value != "", f"{name} is empty; leave it out"


def damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield damaged copies of bytes, each with a description. The damage is deterministic."""
    for percent in (1, 25, 50, 75, 95, 99):
        yield f"cut at {percent} %", data[: len(data) * percent // 100]
    chance = random.Random(len(data))  # noqa: S311 - not for secrets
    for times in (1, 10, 100):
        changed = bytearray(data)
        for _ in range(times if data else 0):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        yield f"{times} bytes changed", bytes(changed)
    yield "repeated", data + data
    yield "zeros in the middle", data[: len(data) // 2] + bytes(100) + data[len(data) // 2 :]
    yield "without its beginning", data[16:]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}

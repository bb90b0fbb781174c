"""Whatever a parser finds crosses to the parent unchanged."""

from __future__ import annotations

import io
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.parsers.parsed import Parsed
from spanwise.parsers.process.protocol import decode_parsed, encode_parsed, read_frame, write_frame
from spanwise.types import Block, Heading, Page

LAW = settings(max_examples=60, deadline=None)
WORDS = st.text(st.characters(codec="utf-8"))


@st.composite
def parsed_documents(draw: st.DrawFn) -> Parsed:
    """Draw a text with pages, headings and blocks."""
    text = draw(WORDS)
    cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=4))})
    runs = list(pairwise(cuts))
    return Parsed(
        text=text,
        media_type="text/plain",
        title=draw(WORDS),
        pages=tuple(Page(start=a, end=b, label=draw(st.none() | WORDS)) for a, b in runs),
        headings=tuple(
            Heading(start=a, end=b, level=draw(st.integers(1, 9)), title="title")
            for a, b in runs
            if not text[a].isspace() and not text[b - 1].isspace()
        ),
        blocks=tuple(Block(start=a, end=b, kind="code") for a, b in runs),
        metadata=draw(st.dictionaries(WORDS, WORDS | st.integers() | st.booleans(), max_size=3)),
        warnings=tuple(draw(st.lists(WORDS, max_size=3))),
    )


@LAW
@given(parsed_documents(), st.text("0123456789abcdef", max_size=64))
def test_answer_comes_back_as_it_was(parsed: Parsed, content_hash: str) -> None:
    """Through a stream of bytes."""
    stream = io.BytesIO()
    header = encode_parsed(parsed, content_hash=content_hash)
    write_frame(stream, header=header, payload=parsed.text.encode())
    stream.seek(0)
    frame = read_frame(stream)
    assert frame is not None
    assert decode_parsed(frame[0], frame[1].decode()) == parsed
    assert frame[0]["content_hash"] == content_hash
    assert read_frame(stream) is None


@LAW
@given(st.dictionaries(WORDS, WORDS, max_size=3), st.binary(max_size=50), st.data())
def test_stream_that_ends_inside_a_frame_has_no_frame(
    header: dict[str, str], payload: bytes, data: st.DataObject
) -> None:
    """A process that dies while it answers has not answered."""
    stream = io.BytesIO()
    write_frame(stream, header=header, payload=payload)
    whole = stream.getvalue()
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert read_frame(io.BytesIO(whole[:cut])) is None

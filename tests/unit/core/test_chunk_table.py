"""Chunks as arrays equal chunks as objects, and need no copy of the text."""

from __future__ import annotations

import tracemalloc

import pytest

from spanwise.core.documents.chunk_table import ChunkTable, ChunkTexts, chunk_rows
from spanwise.core.documents.chunks import ChunkSpan, iterate_chunks, split_chunks
from spanwise.types import Chunk, Section

_TEXT = "One cat. Two dogs. Three birds."
_SPANS = [ChunkSpan(0, 9, 0), ChunkSpan(9, 19, 0), ChunkSpan(19, 31, 1)]


def _table(text: str, spans: list[ChunkSpan]) -> ChunkTable:
    return ChunkTable.of(text, spans, count_tokens=lambda texts: [len(t) // 4 for t in texts])


def test_a_table_has_the_chunks_of_its_ranges() -> None:
    table = _table(_TEXT, _SPANS)
    expected = tuple(
        Chunk(
            index=index,
            start=span.start,
            end=span.end,
            section=span.section,
            tokens=(span.end - span.start) // 4,
            text=_TEXT[span.start : span.end],
        )
        for index, span in enumerate(_SPANS)
    )
    assert len(table) == 3
    assert tuple(table) == expected
    assert table[1] == expected[1]
    assert table[-1] == expected[-1]
    assert table[1:] == expected[1:]
    assert table[5:] == ()
    for index in (3, -4):
        with pytest.raises(IndexError):
            table[index]


def test_a_chunk_has_at_least_one_token() -> None:
    table = _table("ab", [ChunkSpan(0, 1, 0), ChunkSpan(1, 2, 0)])
    assert [chunk.tokens for chunk in table] == [1, 1]


def test_table_heads_belong_to_their_chunks() -> None:
    headed = _table(_TEXT, _SPANS).with_table_heads(["", "Animals", ""])
    assert [chunk.table_head for chunk in headed] == ["", "Animals", ""]
    assert [chunk.table_head for chunk in headed.with_table_heads(())] == ["", "", ""]


def test_texts_are_those_of_the_chunks() -> None:
    texts = ChunkTexts(_table(_TEXT, _SPANS))
    assert list(texts) == ["One cat. ", "Two dogs. ", "Three birds."]
    assert (len(texts), texts[0], texts[1:]) == (3, "One cat. ", ["Two dogs. ", "Three birds."])


def test_rows_have_the_fields_of_the_chunks() -> None:
    table = _table(_TEXT, _SPANS).with_table_heads(["", "Animals", ""])
    chunks = tuple(table)
    for rows in (chunk_rows(table), chunk_rows(chunks)):
        for row, chunk in zip(rows, chunks, strict=True):
            assert row._asdict() == {name: getattr(chunk, name) for name in row._fields}


def test_chunks_take_little_memory_besides_the_text() -> None:
    text = "The licensor shall pay the royalty of the year. " * 20_000
    sections = [Section(start=0, end=len(text), title="All", path=("All",))]
    tracemalloc.start()
    table = ChunkTable.of(
        text, iterate_chunks(text, sections), count_tokens=lambda texts: [1 for _ in texts]
    )
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table) == len(split_chunks(text, sections))
    assert size < 0.2 * len(text)  # an object with its text takes 1.7 bytes a character
    assert peak < 1.5 * len(text)

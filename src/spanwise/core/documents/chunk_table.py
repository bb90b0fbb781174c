"""Chunks of a document as arrays, because one object per chunk needs too much memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple, Self, overload

from spanwise.types import Chunk

if TYPE_CHECKING:
    from spanwise.core.documents.chunks import ChunkSpan
    from spanwise.core.documents.splitting import CountTokens

_BATCH_CHUNKS = 1_024


class ChunkRow(NamedTuple):
    """Fields of a chunk. Creating this is much faster than creating a `Chunk`."""

    section: int
    start: int
    end: int
    tokens: int
    text: str
    table_head: str
    context: str


def chunk_rows(chunks: Sequence[Chunk]) -> Iterator[ChunkRow]:
    """Yield the fields of chunks in order."""
    if isinstance(chunks, ChunkTable):
        return chunks.rows()
    return (
        ChunkRow(c.section, c.start, c.end, c.tokens, c.text, c.table_head, c.context)
        for c in chunks
    )


def chunk_tokens(chunks: Sequence[Chunk]) -> int:
    """Return the length of all chunks in tokens."""
    if isinstance(chunks, ChunkTable):
        return sum(chunks.columns[2])
    return sum(chunk.tokens for chunk in chunks)


class ChunkTable(Sequence[Chunk]):
    """Chunks in order; each access creates the chunk with its text."""

    def __init__(
        self,
        text: str,
        *,
        ends: Sequence[int],
        sections: Sequence[int],
        tokens: Sequence[int],
        table_heads: Mapping[int, str],
    ) -> None:
        """Create a table.

        Args:
            text: Text of the document.
            ends: Offset after the last character of each chunk; joined, the chunks are the text.
            sections: Section of each chunk.
            tokens: Length of each chunk in tokens.
            table_heads: Table head by position of a chunk; chunks without one are left out.
        """
        self._text = text
        self._ends = ends
        self._sections = sections
        self._tokens = tokens
        self._table_heads = table_heads

    @classmethod
    def of(cls, text: str, spans: Iterable[ChunkSpan], *, count_tokens: CountTokens) -> Self:
        """Return the table of ranges that partition a text, without table heads."""
        ends, sections, tokens = array("q"), array("q"), array("q")
        for span in spans:
            ends.append(span.end)
            sections.append(span.section)
        for first in range(0, len(ends), _BATCH_CHUNKS):
            starts = [ends[first - 1] if first else 0, *ends[first : first + _BATCH_CHUNKS]]
            texts = [text[a:b] for a, b in pairwise(starts)]
            tokens.extend(max(1, count) for count in count_tokens(texts))
        return cls(text, ends=ends, sections=sections, tokens=tokens, table_heads={})

    def with_table_heads(self, heads: Iterable[str]) -> ChunkTable:
        """Return the chunks with other table heads; chunks beyond the last given head have none."""
        return ChunkTable(
            self._text,
            ends=self._ends,
            sections=self._sections,
            tokens=self._tokens,
            table_heads={index: head for index, head in enumerate(heads) if head},
        )

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int], Sequence[int], Mapping[int, str]]:
        """Ends, sections, tokens and table heads, as the constructor gets them."""
        return self._ends, self._sections, self._tokens, self._table_heads

    def is_of(self, text: str) -> bool:
        """Return whether the chunks are those of a text."""
        return self._text == text

    def texts(self) -> Iterator[str]:
        """Yield the texts of the chunks in order."""
        return (self._text[start:end] for start, end in pairwise(chain((0,), self._ends)))

    def rows(self) -> Iterator[ChunkRow]:
        """Yield the fields of the chunks in order."""
        heads = map(self._table_heads.get, range(len(self)), repeat(""))
        starts = chain((0,), self._ends)
        columns = (self._sections, starts, self._ends, self._tokens, self.texts(), heads)
        return map(ChunkRow, *columns, repeat(""))

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Chunk, ...]: ...
    def __getitem__(self, index: int | slice) -> Chunk | tuple[Chunk, ...]:
        """Return a chunk, or the chunks of a slice as a tuple."""
        if isinstance(index, slice):
            return tuple(map(self._chunk, range(*index.indices(len(self)))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"chunk index {index} is out of range; there are {len(self)} chunks")
        return self._chunk(index % len(self))

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks in order."""
        return map(self._chunk, range(len(self)))

    def _chunk(self, index: int) -> Chunk:
        start, end = self._ends[index - 1] if index else 0, self._ends[index]
        return Chunk(
            index=index,
            start=start,
            end=end,
            section=self._sections[index],
            tokens=self._tokens[index],
            text=self._text[start:end],
            table_head=self._table_heads.get(index, ""),
        )


class ChunkTexts(Sequence[str]):
    """Texts of some chunks, without a list of them."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Create the view of some chunks."""
        self._chunks = chunks

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._chunks)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return the text of a chunk, or the texts of a slice."""
        if isinstance(index, slice):
            return [chunk.text for chunk in self._chunks[index]]
        return self._chunks[index].text

    def __iter__(self) -> Iterator[str]:
        """Yield the texts in order."""
        return (row.text for row in chunk_rows(self._chunks))

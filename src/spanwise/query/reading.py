"""Read one document of a snapshot piece by piece, each piece once."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from spanwise.core.filling import Part, Window, joined, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.core.pieces import CountTokens
    from spanwise.ports import Snapshot
    from spanwise.types import Chunk, DocumentRecord, Page, Section

__all__ = ["DocumentReader"]

_FIRST_STEP = 8  # chunks read at once; each further step reads twice as many


class DocumentReader:
    """A document as excerpts need it: text by chunk and by place, sections, pages."""

    def __init__(self, snapshot: Snapshot, handle: int, count_tokens: CountTokens) -> None:
        self._snapshot = snapshot
        self._handle = handle
        self._count_tokens = count_tokens
        self._chunks: dict[int, Chunk] = {}
        self._order: list[int] = []
        self._sections: dict[int, Section] = {}

    @cached_property
    def record(self) -> DocumentRecord:
        """Return what is known of it."""
        return self._snapshot.record(self._handle)

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """Return its pages."""
        return self._snapshot.pages(self._handle)

    def section(self, position: int) -> Section:
        """Return one of its sections."""
        if position not in self._sections:
            (self._sections[position],) = self._snapshot.sections(
                self._handle, position, position + 1
            )
        return self._sections[position]

    def chunks(self, start: int, end: int) -> list[Chunk]:
        """Return its chunks `[start, end)`, those that exist."""
        low, high = max(0, start), min(end, self.record.chunks)
        missing = [index for index in range(low, high) if index not in self._chunks]
        if missing:
            for chunk in self._snapshot.chunks(self._handle, missing[0], missing[-1] + 1):
                self._chunks[chunk.index] = chunk
            self._order = sorted(self._chunks)
        return [self._chunks[index] for index in range(low, high)]

    def part(self, start: int, end: int) -> Part:
        """Return the characters of its chunks `[start, end)`."""
        chunks = self.chunks(start, end)
        return chunks[0].start, chunks[-1].end

    def chunk_at(self, place: int) -> Chunk:
        """Return the chunk that holds a character; it was read before."""
        at = bisect_right(self._order, place, key=lambda index: self._chunks[index].start) - 1
        return self._chunks[self._order[at]]

    def overlapping(self, start: int, end: int) -> list[Chunk]:
        """Return the chunks that hold some characters."""
        first = self.chunk_at(start).index
        last = self.chunk_at(end - 1).index
        return self.chunks(first, last + 1)

    def text(self, start: int, end: int) -> str:
        """Return some characters."""
        chunks = self.overlapping(start, end)
        base = chunks[0].start
        return "".join(chunk.text for chunk in chunks)[start - base : end - base]

    def windows(
        self, parts: Sequence[Part], *, room_tokens: int, taken: Sequence[Part]
    ) -> list[Window]:
        """Return the text around some characters, without what is taken.

        Args:
            parts: The characters, in order; they were read before.
            room_tokens: Tokens wanted on either side of each part, where there are so many.
            taken: Characters that are shown elsewhere.
        """
        runs = [self.overlapping(*part) for part in parts]
        spans = joined(
            [
                (
                    self._back(chunks[0].index, room_tokens),
                    self._forth(chunks[-1].index + 1, room_tokens),
                )
                for chunks in runs
            ]
        )
        found: list[Window] = []
        for first, last in spans:
            chunks = self.chunks(first, last)
            starts = [b.start for a, b in pairwise(chunks) if a.section != b.section]
            for start, end in without([(chunks[0].start, chunks[-1].end)], taken):
                inside = tuple(place for place in starts if start < place < end)
                text = self.text(start, end)
                found.append(Window(start=start, text=text, section_starts=inside))
        return found

    def _back(self, start: int, room_tokens: int) -> int:
        """Return the chunk from which on there are so many tokens before a chunk."""
        step = _FIRST_STEP
        while start > 0 and room_tokens > 0:
            first = max(0, start - step)
            room_tokens -= self._tokens(first, start)
            start, step = first, 2 * step
        return start

    def _forth(self, end: int, room_tokens: int) -> int:
        """Return the chunk up to which there are so many tokens after a chunk."""
        step = _FIRST_STEP
        while end < self.record.chunks and room_tokens > 0:
            last = min(self.record.chunks, end + step)
            room_tokens -= self._tokens(end, last)
            end, step = last, 2 * step
        return end

    def _tokens(self, start: int, end: int) -> int:
        return sum(self._count_tokens([chunk.text for chunk in self.chunks(start, end)]))

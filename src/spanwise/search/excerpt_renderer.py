"""Rendering of excerpts, their token counts, and reading of documents on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from spanwise.core.answers.citations import cite
from spanwise.core.documents.headers import chunk_header
from spanwise.core.extraction.context_expansion import Part, Window, merge_parts, subtract_parts
from spanwise.core.extraction.render import SEPARATOR, ExcerptPart, render_parts, render_segment
from spanwise.options import HeaderOptions
from spanwise.types import Citation

if TYPE_CHECKING:
    from spanwise.core.documents.splitting import CountTokens
    from spanwise.models.ports import Tokenizer
    from spanwise.options import ExcerptOptions
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk, DocumentRecord, Page, Section

_FIRST_STEP = 8  # chunks read in the first step; each further step doubles it


class DocumentReader:
    """Text, sections and pages of one document, read from a snapshot on demand."""

    def __init__(self, snapshot: Snapshot, handle: int, count_tokens: CountTokens) -> None:
        self._snapshot = snapshot
        self._handle = handle
        self._count_tokens = count_tokens
        self._chunks: dict[int, Chunk] = {}
        self._order: list[int] = []
        self._sections: dict[int, Section] = {}

    @cached_property
    def record(self) -> DocumentRecord:
        """Record of the document."""
        return self._snapshot.record(self._handle)

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """Pages of the document."""
        return self._snapshot.pages(self._handle)

    def section(self, position: int) -> Section:
        """Return one of its sections."""
        if position not in self._sections:
            (self._sections[position],) = self._snapshot.sections(
                self._handle, position, position + 1
            )
        return self._sections[position]

    def chunks(self, start: int, end: int) -> list[Chunk]:
        """Return its chunks in `[start, end)` that exist."""
        low, high = max(0, start), min(end, self.record.chunks)
        missing = [index for index in range(low, high) if index not in self._chunks]
        if missing:
            for chunk in self._snapshot.chunks(self._handle, missing[0], missing[-1] + 1):
                self._chunks[chunk.index] = chunk
            self._order = sorted(self._chunks)
        return [self._chunks[index] for index in range(low, high)]

    def part(self, start: int, end: int) -> Part:
        """Return the character range of its chunks `[start, end)`."""
        chunks = self.chunks(start, end)
        return chunks[0].start, chunks[-1].end

    def chunk_at(self, place: int) -> Chunk:
        """Return the chunk that contains a character; it must have been read."""
        at = bisect_right(self._order, place, key=lambda index: self._chunks[index].start) - 1
        return self._chunks[self._order[at]]

    def overlapping(self, start: int, end: int) -> list[Chunk]:
        """Return the chunks that overlap a character range."""
        first = self.chunk_at(start).index
        last = self.chunk_at(end - 1).index
        return self.chunks(first, last + 1)

    def text(self, start: int, end: int) -> str:
        """Return the text of a character range."""
        chunks = self.overlapping(start, end)
        base = chunks[0].start
        return "".join(chunk.text for chunk in chunks)[start - base : end - base]

    def windows(
        self, parts: Sequence[Part], *, room_tokens: int, taken: Sequence[Part]
    ) -> list[Window]:
        """Return the text around some ranges, without the ranges already taken.

        Args:
            parts: Character ranges, in order; they must have been read.
            room_tokens: Tokens of text to read on either side of each range.
            taken: Ranges that other excerpts show.
        """
        runs = [self.overlapping(*part) for part in parts]
        spans = merge_parts(
            [
                (
                    self._back(chunks[0].index, room_tokens),
                    self._forth(chunks[-1].index + 1, room_tokens),
                )
                for chunks in runs
            ]
        )
        windows: list[Window] = []
        for first, last in spans:
            chunks = self.chunks(first, last)
            starts = [b.start for a, b in pairwise(chunks) if a.section != b.section]
            for start, end in subtract_parts([(chunks[0].start, chunks[-1].end)], taken):
                inside = tuple(place for place in starts if start < place < end)
                text = self.text(start, end)
                windows.append(Window(start=start, text=text, section_starts=inside))
        return windows

    def _back(self, start: int, room_tokens: int) -> int:
        """Return the first chunk so that enough tokens precede a chunk."""
        step = _FIRST_STEP
        while start > 0 and room_tokens > 0:
            first = max(0, start - step)
            room_tokens -= self._tokens(first, start)
            start, step = first, 2 * step
        return start

    def _forth(self, end: int, room_tokens: int) -> int:
        """Return the end chunk so that enough tokens follow a chunk."""
        step = _FIRST_STEP
        while end < self.record.chunks and room_tokens > 0:
            last = min(self.record.chunks, end + step)
            room_tokens -= self._tokens(end, last)
            end, step = last, 2 * step
        return end

    def _tokens(self, start: int, end: int) -> int:
        return sum(self._count_tokens([chunk.text for chunk in self.chunks(start, end)]))


_WHOLE_RATIO = 2  # a document with more stored tokens, relative to the budget, is not tried whole


class DocumentReaders(dict[int, DocumentReader]):
    """Readers of documents by handle, created on first use."""

    def __init__(self, snapshot: Snapshot, tokenizer: Tokenizer) -> None:
        """Store the snapshot and the tokenizer."""
        super().__init__()
        self.snapshot = snapshot
        self.tokenizer = tokenizer

    def __missing__(self, handle: int) -> DocumentReader:
        self[handle] = DocumentReader(self.snapshot, handle, self.tokenizer.count)
        return self[handle]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptRenderer:
    """Renders excerpts inside one fence and counts their tokens."""

    readers: DocumentReaders
    """Readers of the documents."""
    options: ExcerptOptions
    """Options of the excerpts."""
    tag: str
    """Tag of the fence."""
    budget_tokens: int
    """Maximum tokens of an excerpt."""

    def overhead(self, handle: int, chunk: int) -> tuple[int, int]:
        """Return the tokens of an excerpt besides its runs, and of a run besides its text."""
        reader = self.readers[handle]
        chars = reader.record.chars
        frame = self._widest(handle, (0, chars), "")
        place = self._place(handle, reader.chunks(chunk, chunk + 1)[0].section)
        ends = [ExcerptPart(start=start, text="", place=place) for start in (0, chars)]
        return self.count(frame), self.count(render_parts(ends))

    def chunks(self, handle: int) -> int:
        """Return the number of chunks of a document."""
        return self.readers[handle].record.chunks

    def count_evidence(self, handle: int, runs: Sequence[Part]) -> int:
        """Return the tokens of an excerpt with only these runs of chunks."""
        return self.measure(handle)(self.characters(handle, runs))

    def fits_whole(self, handle: int) -> bool:
        """Return whether the whole document fits into an excerpt."""
        reader = self.readers[handle]
        record = reader.record
        if record.tokens > _WHOLE_RATIO * self.budget_tokens:
            return False
        reader.chunks(0, record.chunks)
        return self.measure(handle)([(0, record.chars)]) <= self.budget_tokens

    def characters(self, handle: int, runs: Sequence[Part]) -> list[Part]:
        """Return the character ranges of some runs of chunks."""
        return merge_parts([self.readers[handle].part(start, end) for start, end in runs])

    def measure(self, handle: int) -> Callable[[Sequence[Part]], int]:
        """Return a function that counts the tokens of an excerpt, separator included."""

        def measured(parts: Sequence[Part]) -> int:
            span = (parts[0][0], parts[-1][1])
            return self.count(self._widest(handle, span, self.text(handle, parts)) + SEPARATOR)

        return measured

    def text(self, handle: int, parts: Sequence[Part]) -> str:
        """Return the text of an excerpt; each section path is printed once.

        The path is omitted at the start of the document, whose first lines contain the title.
        """
        reader = self.readers[handle]
        shown: list[ExcerptPart] = []
        printed_place = ""
        for start, end in parts:
            place = self._place(handle, reader.chunk_at(start).section)
            text = reader.text(start, end)
            is_known = start == 0 or place == printed_place
            shown.append(ExcerptPart(start=start, text=text, place="" if is_known else place))
            printed_place = self._place(handle, reader.chunk_at(end - 1).section)
        return render_parts(shown)

    def header(self, handle: int) -> str:
        """Return the header of an excerpt."""
        if not self.options.headers:
            return ""
        record = self.readers[handle].record
        return chunk_header(record.title, summary=record.summary, options=HeaderOptions())

    def rendered(self, citation: Citation, header: str, text: str, number: int) -> str:
        """Return an excerpt as the reader sees it."""
        if not self.options.headers:
            return text.strip()
        return render_segment(self.tag, number=number, citation=citation, header=header, text=text)

    def citation(self, handle: int, span: Part, path: tuple[str, ...]) -> Citation:
        """Return the citation of a range of a document."""
        reader = self.readers[handle]
        return cite(
            reader.record,
            span,
            pages=reader.pages,
            section_path=path,
            text=reader.text(*span),
        )

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.readers.tokenizer.count([text])[0]

    def _place(self, handle: int, section: int) -> str:
        """Return the section path at the start of a part, as one line."""
        if not self.options.headers:
            return ""
        reader = self.readers[handle]
        path = reader.section(section).path
        if path and path[0].casefold() == reader.record.title.casefold():
            path = path[1:]
        return chunk_header("", section_path=path, options=HeaderOptions())

    def _widest(self, handle: int, span: Part, text: str) -> str:
        """Return an excerpt with the widest possible number."""
        reader = self.readers[handle]
        citation = cite(reader.record, span, pages=reader.pages, section_path=(), text=None)
        return self.rendered(citation, self.header(handle), text, self.options.excerpts)

"""Rendering of runs as segments with text, header and citation, and their token counts.

Tokens of chunks and headers are counted when they are stored, headers with the widest possible
citation. A joined text has at most as many tokens as its parts, except where a tokenizer merges
differently at a seam (the place where two parts are joined); `TokenCounter.seams` counts the cases
that matter. Other cases (such as a blank line before "/") cost one token in about ten thousand
seams, less than the reserve in the citations.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.answers.citations import cite, figures_in
from spanwise.core.documents.headers import MAX_HEAD_CHARS, chunk_header, column_heads
from spanwise.core.extraction.render import (
    SEPARATOR,
    base_attribute,
    render_context,
    render_segments,
    segment_frame,
)
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.text.fences import fence_tag
from spanwise.errors import FormatError
from spanwise.models.providers.tokenizer import TOKENIZERS, CharacterTokenizer, make_tokenizer
from spanwise.packs.header_lines import head_lines
from spanwise.types import Segment, SimilarMatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from spanwise.models.ports import Tokenizer
    from spanwise.search.small_budget import FixedRange
    from spanwise.search.trim import Trimmer
    from spanwise.stores.port import Snapshot
    from spanwise.types import Block, Chunk, DocumentRecord, Figure, Page, Section


_COPIES = ' also_in="1600 documents"'
_LONGER_TAG = "_99_99"
_SEAM_TOKENS = 4  # tokens that a changed beginning or end of a word may add
_HEAD_CHUNKS = 4  # chunks with the beginning of a table
_NEAR_CHUNKS = 15  # chunks before a segment that are read at once
_ROW_CHARS = 400  # a segment that begins inside a table has a row of several cells in these
_PIECES = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*|\d{1,3}|(?<!\S)[^\w\s]+(?!\S)")
_BLANKS = ("  ", " \t", "\t ", "\t\t")


def least_tokens(text: str) -> int:
    """Return a lower bound on the tokens of a text by the tokenizers of OpenAI.

    A token of theirs has parts of one word only, and at most three digits. Signs between blanks are
    separate tokens.
    """
    return sum(1 for _ in _PIECES.finditer(text)) if text.isascii() else len(text.split())


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Token counts for one tokenizer."""

    tokenizer: Tokenizer | None
    """Tokenizer of the reading model; None if it is the tokenizer of the stored counts."""
    separator_tokens: int = 1
    """Tokens of the blank line between two segments."""
    copies_tokens: int = 8
    """Maximum tokens of the tag attribute that gives the number of near-duplicates."""
    longer_tag_tokens: int = 4
    """Maximum tokens that a number in the tag name adds to opening and closing tag together."""
    reader: str = ""
    """Name of the tokenizer, for texts without stored counts."""

    def chunks(
        self,
        tokens: NDArray[np.int64],
        chars: NDArray[np.int64],
        ranges: Sequence[PassageRange],
        snapshot: Snapshot,
    ) -> NDArray[np.int64]:
        """Return the tokens of each chunk in some ranges, given stored tokens and characters."""
        if self.tokenizer is None:
            return tokens
        if isinstance(self.tokenizer, CharacterTokenizer):
            return np.maximum(1, np.ceil(chars / self.tokenizer.chars).astype(np.int64))
        texts = [chunk.text for chunks in snapshot.chunk_ranges(ranges) for chunk in chunks]
        return np.maximum(1, np.array(self.tokenizer.count(texts), dtype=np.int64))

    def seams(self, texts: Sequence[str]) -> int:
        """Return the maximum number of additional tokens of the texts when they are joined.

        The last of several blanks at the end of a text becomes a separate token if a sign or digit
        follows.
        """
        if isinstance(self.tokenizer, CharacterTokenizer):
            return 0
        return sum(text.endswith(_BLANKS) for text in texts[:-1])

    def text(self, text: str) -> int:
        """Return the tokens of a text; loads the vocabulary if counts are stored."""
        return (self.tokenizer or make_tokenizer(self.reader)).count([text])[0]

    def part(self, chunk: Chunk, start: int, end: int) -> int:
        """Return an upper bound on the tokens that a part of a chunk adds to the adjacent text.

        An exact count needs the vocabulary, which takes time to load. The rest of the chunk has at
        least some of its tokens (`least_tokens`).

        Args:
            chunk: The chunk, with the stored count.
            start: Offset of the first character in the document.
            end: Offset after the last character.
        """
        part = chunk.text[start - chunk.start : end - chunk.start]
        if self._estimates or self.tokenizer is not None:
            return self.text(part) + (0 if self._estimates else _SEAM_TOKENS)
        rest = f"{chunk.text[: start - chunk.start]} {chunk.text[end - chunk.start :]}"
        return min(chunk.tokens - self._least(rest), len(part.encode())) + _SEAM_TOKENS

    def removed(self, text: str) -> int:
        """Return a lower bound on the tokens saved by removing text from a segment."""
        if self._estimates:
            return max(0, self.text(text) - 1)
        return max(0, len(text.split()) - _SEAM_TOKENS)

    def _least(self, text: str) -> int:
        """Return a lower bound on the tokens of a text."""
        return least_tokens(text) if self.reader in TOKENIZERS else len(text.split())

    @property
    def _estimates(self) -> bool:
        """Whether tokens are estimated from characters."""
        name = self.reader if self.tokenizer is None else self.tokenizer.name
        return name.startswith("chars:")

    def header(
        self, section: Section, frame: Callable[[], Sequence[str]], *, more_tokens: int = 0
    ) -> int:
        """Return the tokens of header and fence of a segment in a section.

        Args:
            section: Section with the stored count.
            frame: Function that returns the texts to count with another tokenizer.
            more_tokens: Upper bound on the tokens of the header beyond the stored count.
        """
        if self.tokenizer is None:
            return section.header_tokens + more_tokens
        return sum(self.tokenizer.count(frame()))


def make_token_counter(requested: str | None, stored: str) -> TokenCounter:
    """Return the token counter for a tokenizer, given the tokenizer of the knowledge base.

    Raises:
        OptionError: If there is no such tokenizer.
    """
    if requested is None or requested == stored:
        return TokenCounter(None, *_fixed_tokens(stored), reader=stored)
    tokenizer = make_tokenizer(requested)
    name = tokenizer.name
    return TokenCounter(None if name == stored else tokenizer, *_fixed_tokens(name), reader=name)


def _fixed_tokens(name: str) -> tuple[int, int, int]:
    """Return the constant token counts of a tokenizer, without loading a vocabulary."""
    if not name.startswith("chars:"):
        return 1, 8, 4
    separator, copies, longer_tag = make_tokenizer(name).count([SEPARATOR, _COPIES, _LONGER_TAG])
    return separator, copies, longer_tag


def _more_tokens(header: str, counted: str) -> int:
    """Return an upper bound on the additional tokens of a header, compared with a counted one.

    An exact count needs the vocabulary, which takes half a second to load. Where a line differs,
    the rest of it has at most one token for each byte, and a few tokens before it may be divided
    differently.
    """
    more = 0
    for line, known in zip_longest(header.split("\n"), counted.split("\n"), fillvalue=""):
        if line != known:
            pairs = enumerate(zip(line, known, strict=False))
            shorter = min(len(line), len(known))
            shared = next((at for at, (one, other) in pairs if one != other), shorter)
            more += len(line[shared:].encode()) + _SEAM_TOKENS
    return more


class ChunkPart(NamedTuple):
    """Part of a chunk."""

    chunk: Chunk
    """The chunk."""
    start: int
    """Offset of the first character in the document."""
    end: int
    """Offset after the last character."""

    @property
    def text(self) -> str:
        """The text of the part."""
        return self.chunk.text[self.start - self.chunk.start : self.end - self.chunk.start]


class ShownText(NamedTuple):
    """Text of a segment that differs from the text of its chunks."""

    start: int
    """Offset of the first character in the document."""
    text: str
    """The text."""
    more_tokens: int
    """Upper bound on the additional tokens; negative if the text is shorter."""

    @property
    def end(self) -> int:
        """Offset after the last character in the document."""
        return self.start + len(self.text)


class SegmentRange(NamedTuple):
    """Run of chunks with its position and value, before its text is read."""

    handle: int
    """Handle of the document."""
    start: int
    """First chunk in the document."""
    end: int
    """Index after the last chunk."""
    best: int
    """Most relevant chunk, whose section is used for header and citation."""
    value: float
    """Value of the run."""
    share: float
    """Sum of the shares of its chunks."""
    relevance: float
    """Probability that the run contains evidence; see `Segment.relevance`."""
    relevances: tuple[float, ...]
    """Probability that each chunk contains evidence; see `Segment.relevances`."""
    tokens: int
    """Tokens of the text."""
    queries: tuple[int, ...]
    """Queries that the run contains evidence for."""
    copies: tuple[int, ...]
    """Handles of documents with nearly the same text."""
    similar_words: tuple[SimilarMatch, ...]
    """Words of the questions that the run contains only as similar words."""
    shown: ShownText | None = None
    """Text with whole sentences (`search.sentence_borders`); None for the text of the chunks."""


@dataclass(frozen=True, slots=True)
class DocumentCache:
    """Records, sections and pages of a snapshot; each is read once."""

    snapshot: Snapshot
    """Snapshot to read from."""
    _records: dict[int, DocumentRecord] = field(default_factory=dict)
    _sections: dict[tuple[int, int], Section] = field(default_factory=dict)
    _pages: dict[int, tuple[Page, ...]] = field(default_factory=dict)
    _figures: dict[int, tuple[Figure, ...]] = field(default_factory=dict)
    _blocks: dict[int, tuple[Block, ...]] = field(default_factory=dict)
    _head_lines: dict[int, tuple[str, str]] = field(default_factory=dict)
    _headers: dict[tuple[int, tuple[str, ...], str], str] = field(default_factory=dict)

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        if handle not in self._records:
            self._records[handle] = self.snapshot.record(handle)
        return self._records[handle]

    def section(self, handle: int, index: int) -> Section:
        """Return one section of a document."""
        return self.sections(handle, index, index + 1)[0]

    def sections(self, handle: int, start: int, end: int) -> list[Section]:
        """Return consecutive sections of a document, at least one.

        Raises:
            FormatError: If one is missing, so that the document is damaged.
        """
        known, places = self._sections, [(handle, index) for index in range(start, end)]
        if not known.keys() >= set(places):
            read = self.snapshot.sections(handle, start, end)
            if len(read) < len(places) or start < 0:
                raise FormatError(
                    f"the document {self.record(handle).id!r} is damaged: it has chunks of a "
                    "section that is missing; remove the document and add it again, or restore the "
                    "knowledge base from a backup; `spanwise doctor` lists all damage"
                )
            known.update(zip(places, read, strict=True))
        return [known[place] for place in places]

    def read_ahead(self, ranges: Iterable[tuple[int, int, int]]) -> None:
        """Read chunks at once (handle, start, end); the snapshot caches them."""
        self.snapshot.chunk_ranges([PassageRange(*place) for place in ranges])

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document."""
        if handle not in self._pages:
            self._pages[handle] = self.snapshot.pages(handle)
        return self._pages[handle]

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document."""
        if handle not in self._figures:
            self._figures[handle] = self.snapshot.figures(handle)
        return self._figures[handle]

    def table_head(self, handle: int, place: int, *, chunk: int) -> list[ChunkPart]:
        """Return the head of the table that contains a place, as parts of chunks; empty for none.

        Args:
            handle: Handle of the document.
            place: Offset in the document.
            chunk: Index of the chunk with this offset, or of a later one.
        """
        if handle not in self._blocks:
            self._blocks[handle] = self.snapshot.blocks(handle)
        blocks = self._blocks[handle]
        at = bisect_left(blocks, place, key=attrgetter("start")) - 1
        if at < 0 or blocks[at].kind != "table" or blocks[at].end <= place:
            return []
        table = blocks[at].start
        parts = []
        for found in self._chunks_from(handle, table, last=chunk):
            start, end = max(table, found.start), min(place, found.end)
            parts.append(ChunkPart(found, start, end))
        opening = "".join([part.text for part in parts])[:MAX_HEAD_CHARS]
        end = table + len(column_heads(opening))
        return [part._replace(end=min(part.end, end)) for part in parts if part.start < end]

    def _chunks_from(self, handle: int, place: int, *, last: int) -> Sequence[Chunk]:
        """Return the chunk that contains a place and the ones after it, at most `_HEAD_CHUNKS`.

        The place is mostly near the last chunk, so the chunks before it are read at once. A place
        further away is found by bisection.

        Args:
            handle: Handle of the document.
            place: Offset in the document.
            last: Index of the last chunk that may be returned; the place is not after it.
        """
        read, first = self.snapshot.chunks, max(0, last - _NEAR_CHUNKS)
        near = read(handle, first, last + 1)
        if near[0].start > place:
            earlier = range(first)
            first = bisect_right(earlier, place, key=lambda at: read(handle, at, at + 1)[0].start)
            return read(handle, first - 1, min(first - 1 + _HEAD_CHUNKS, last + 1))
        first = bisect_right(near, place, key=attrgetter("start")) - 1
        return near[first : first + _HEAD_CHUNKS]

    def header(self, handle: int, section: Section, *, path: tuple[str, ...] | None = None) -> str:
        """Return the header of the chunks of a section, or of several if their path is given."""
        path = section.path if path is None else path
        key = handle, path, section.summary
        if key not in self._headers:
            self._headers[key] = self._header(handle, path, section.summary)
        return self._headers[key]

    def _header(self, handle: int, path: tuple[str, ...], section_summary: str) -> str:
        if handle not in self._head_lines:
            record = self.record(handle)
            self._head_lines[handle] = head_lines(
                record.title, summary=record.summary, metadata=record.metadata
            )
        title, summary = self._head_lines[handle]
        return chunk_header(
            title, summary=summary, section_path=path, section_summary=section_summary
        )


@dataclass(frozen=True, slots=True)
class SegmentRenderer:
    """Renders runs of chunks as segments."""

    documents: DocumentCache
    """Records, sections and pages of the snapshot."""
    token_counter: TokenCounter
    """Token counts for the reading model."""
    headers: bool
    """Whether segments have headers."""
    trimmer: Trimmer | FixedRange | None = None
    """Trims segments to sentences; None for whole chunks."""
    table_heads: bool = True
    """Whether the header of a segment that begins inside a table ends with the table head."""
    _rendered: dict[tuple[SegmentRange, bool], Segment] = field(
        default_factory=dict, init=False, compare=False
    )
    """Segments by run and whether they may be trimmed; a choice is mostly rendered repeatedly."""
    _tagged: dict[tuple[str, ...], bool] = field(default_factory=dict, init=False, compare=False)
    """Whether the texts of a segment contain the tag of its fence, by texts."""

    def segments(self, runs: Sequence[SegmentRange]) -> list[Segment]:
        """Return the segments of some runs in reading order.

        Documents are ordered by their best segment, segments inside a document by position.
        """
        best_first = sorted(
            runs, key=lambda run: (-run.relevance, -run.value, run.handle, run.start)
        )
        rank = {(run.handle, run.start): position for position, run in enumerate(best_first)}
        first_rank: dict[int, int] = {}
        for position, run in enumerate(best_first):
            first_rank.setdefault(run.handle, position)
        ordered = sorted(runs, key=lambda run: (first_rank[run.handle], run.start))
        self.documents.read_ahead([(run.handle, run.start, run.end) for run in ordered])
        segments = [
            self._segment(run, rank=rank[run.handle, run.start], trimmer=self.trimmer)
            for run in ordered
        ]
        if self.headers and any(map(self._has_tag, segments)):
            return [
                replace(s, tokens=s.tokens + self.token_counter.longer_tag_tokens) for s in segments
            ]
        return segments

    def _has_tag(self, segment: Segment) -> bool:
        """Return whether a text of a segment contains the tag of its fence."""
        texts = segment.knowledge_base, segment.document_id, segment.header, segment.text
        if texts not in self._tagged:
            self._tagged[texts] = fence_tag(texts) != fence_tag([])
        return self._tagged[texts]

    def overhead(self, run: SegmentRange) -> int:
        """Return the tokens of the segment of a run without its text and table head."""
        plain = replace(self, trimmer=None, table_heads=False)
        return plain._render(run, rank=0, trimmer=None).tokens - run.tokens

    def context(self, segments: Sequence[Segment]) -> str:
        """Return the context: the rendered segments."""
        if not self.headers:
            return render_context([segment.text for segment in segments])
        return render_segments(
            [segment.text for segment in segments],
            citations=[segment.citation for segment in segments],
            headers=[segment.header for segment in segments],
            also_in=[len(segment.also_in) for segment in segments],
        )

    def _segment(
        self, run: SegmentRange, *, rank: int, trimmer: Trimmer | FixedRange | None
    ) -> Segment:
        key = run, trimmer is not None
        if key not in self._rendered:
            self._rendered[key] = self._render(run, rank=rank, trimmer=trimmer)
        rendered = self._rendered[key]
        return rendered if rendered.rank == rank else replace(rendered, rank=rank)

    def _render(
        self, run: SegmentRange, *, rank: int, trimmer: Trimmer | FixedRange | None
    ) -> Segment:
        chunks = self.documents.snapshot.chunks(run.handle, run.start, run.end)
        first, last = chunks[0].section, chunks[-1].section
        sections = self.documents.sections(run.handle, first, last + 1)
        section = sections[chunks[run.best - run.start].section - first]
        start, text, tokens = self._text(run, chunks, trimmer)
        if run.shown is not None:
            start, text, tokens = run.shown.start, run.shown.text, tokens + run.shown.more_tokens
        record = self.documents.record(run.handle)
        citation = cite(
            record,
            (start, start + len(text)),
            pages=self.documents.pages(run.handle),
            section_path=section.path,
            text=text,
            sections=[one.path for one in sections],
            figures=self.documents.figures(run.handle),
        )
        header, more_tokens = "", 0
        if self.headers:
            header = self.documents.header(run.handle, section, path=citation.spanned_path)
        if header and len(sections) > 1:
            more_tokens = _more_tokens(header, self.documents.header(run.handle, section))
        extra = self.token_counter.separator_tokens
        table_head = ""
        if self.table_heads and "|" in text[:_ROW_CHARS]:
            table_head, tokens_of_head = self._table_head(run, start, title=section.title)
            more_tokens += tokens_of_head
        if self.headers:
            header = "\n".join(filter(None, (header, table_head)))
        if self.headers:
            more_tokens += len(base_attribute(citation.knowledge_base).encode())
            extra = self.token_counter.header(
                section, lambda: segment_frame(citation, header), more_tokens=more_tokens
            )
            extra += self.token_counter.copies_tokens if run.copies else 0
        return Segment(
            document_id=citation.document_id,
            start=citation.start,
            end=citation.end,
            first_chunk=run.start,
            last_chunk=run.end,
            text=text,
            header=header,
            tokens=tokens + extra,
            relevance=run.relevance,
            value=run.value,
            rank=rank,
            citation=citation,
            relevances=run.relevances,
            queries=run.queries,
            also_in=tuple(sorted(self.documents.record(copy).id for copy in run.copies)),
            similar_words=run.similar_words,
            knowledge_base=citation.knowledge_base,
            figures=figures_in(self.documents.figures(run.handle), citation.start, citation.end),
            metadata=dict(record.metadata),  # the record is shared by all searches
            table_head=table_head,
        )

    def _table_head(self, run: SegmentRange, start: int, *, title: str) -> tuple[str, int]:
        """Return the head of the table that a segment begins inside, and its maximum tokens.

        Args:
            run: Run of the segment.
            start: Offset of the first character of the segment.
            title: Title of the section, which is not repeated.
        """
        parts = self.documents.table_head(run.handle, start, chunk=run.start)
        head = "".join([part.text for part in parts]).removeprefix(f"{title}\n")
        return head, sum([self.token_counter.part(*part) for part in parts])

    def _text(
        self, run: SegmentRange, chunks: Sequence[Chunk], trimmer: Trimmer | FixedRange | None
    ) -> tuple[int, str, int]:
        """Return the offset, the text and the tokens of a segment."""
        texts = [chunk.text for chunk in chunks]
        text = "".join(texts)
        if trimmer is not None:
            start, end = trimmer.sentence_range(
                run, text, language=self.documents.record(run.handle).language
            )
            if end - start < len(text):
                text = text[start:end]
                return chunks[0].start + start, text, min(run.tokens, self.token_counter.text(text))
        return chunks[0].start, text, run.tokens + self.token_counter.seams(texts)

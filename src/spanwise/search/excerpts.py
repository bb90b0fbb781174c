"""Excerpts of a question: select the evidence, add the text around it, render.

If no other text is left between two excerpts of one document, an excerpt with unused tokens may
take evidence from the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.answers.citations import cite
from spanwise.core.documents.headers import chunk_header
from spanwise.core.extraction.context_expansion import (
    USED,
    Part,
    Window,
    fill_excerpt,
    first_stop,
    merge_parts,
    subtract_parts,
)
from spanwise.core.extraction.render import (
    SEPARATOR,
    ExcerptPart,
    render_context,
    render_parts,
    render_segment,
)
from spanwise.core.text.fences import fence_tag
from spanwise.errors import OptionError
from spanwise.options import HeaderOptions
from spanwise.packs.header_lines import head_lines
from spanwise.search.excerpt_selection import ExcerptEvidence, ExcerptSelector
from spanwise.search.rendering import DocumentCache
from spanwise.search.small_budget import SentenceChooser, SmallBudgetError, small_budget_warning
from spanwise.types import Citation, Excerpt, ExcerptSpan
from spanwise.types.citations import spanned_path

if TYPE_CHECKING:
    from spanwise.core.documents.splitting import CountTokens
    from spanwise.models.ports import Tokenizer
    from spanwise.options import ExcerptOptions
    from spanwise.search.documents_spread import DocumentPlaces
    from spanwise.search.evidence import Evidence
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk, Figure, Page, Section


_FIRST_STEP = 8  # chunks read in the first step; each later step reads twice as many


class DocumentReader:
    """Text, sections and pages of one document, read from a snapshot on demand."""

    def __init__(self, documents: DocumentCache, handle: int, count_tokens: CountTokens) -> None:
        self._documents = documents
        self._handle = handle
        self._count_tokens = count_tokens
        self._chunks: dict[int, Chunk] = {}
        self._order: list[int] = []
        self.record = documents.record(handle)
        """Record of the document."""

    def pages(self) -> tuple[Page, ...]:
        """Return the pages of the document."""
        return self._documents.pages(self._handle)

    def figures(self) -> tuple[Figure, ...]:
        """Return the figures of the document."""
        return self._documents.figures(self._handle)

    def section(self, index: int) -> Section:
        """Return a section by its index."""
        return self._documents.section(self._handle, index)

    def chunks(self, start: int, end: int) -> list[Chunk]:
        """Return the chunks in `[start, end)`, as far as they exist."""
        low, high = max(0, start), min(end, self.record.chunks)
        missing = [index for index in range(low, high) if index not in self._chunks]
        if missing:
            for chunk in self._documents.snapshot.chunks(self._handle, missing[0], missing[-1] + 1):
                self._chunks[chunk.index] = chunk
            self._order = sorted(self._chunks)
        return [self._chunks[index] for index in range(low, high)]

    def part(self, start: int, end: int) -> Part:
        """Return the character range of the chunks `[start, end)`."""
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

    def paths(self, *parts: Part) -> list[tuple[str, ...]]:
        """Return the paths of all sections in some character ranges, in order."""
        chunks = [chunk for part in parts for chunk in self.overlapping(*part)]
        return [self.section(index).path for index in dict.fromkeys(c.section for c in chunks)]

    def text(self, start: int, end: int) -> str:
        """Return the text of a character range."""
        chunks = self.overlapping(start, end)
        base = chunks[0].start
        return "".join(chunk.text for chunk in chunks)[start - base : end - base]

    def windows(
        self, parts: Sequence[Part], *, room_tokens: int, taken: Sequence[Part]
    ) -> list[Window]:
        """Return the text around some ranges, except text that other excerpts show.

        Args:
            parts: Character ranges, in order; they must have been read.
            room_tokens: Tokens of text to read on either side of each range.
            taken: Ranges that other excerpts show.
        """
        runs = [self.overlapping(*part) for part in parts]
        spans = merge_parts(
            [
                (
                    self._start_before(chunks[0].index, room_tokens),
                    self._end_after(chunks[-1].index + 1, room_tokens),
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

    def _start_before(self, start: int, room_tokens: int) -> int:
        """Return the first of the chunks before `start` that have `room_tokens` tokens or more."""
        step = _FIRST_STEP
        while start > 0 and room_tokens > 0:
            first = max(0, start - step)
            room_tokens -= self._tokens(first, start)
            start, step = first, 2 * step
        return start

    def _end_after(self, end: int, room_tokens: int) -> int:
        """Return the end of the chunks from `end` on that have `room_tokens` tokens or more."""
        step = _FIRST_STEP
        while end < self.record.chunks and room_tokens > 0:
            last = min(self.record.chunks, end + step)
            room_tokens -= self._tokens(end, last)
            end, step = last, 2 * step
        return end

    def _tokens(self, start: int, end: int) -> int:
        return sum(self._count_tokens([chunk.text for chunk in self.chunks(start, end)]))


_WHOLE_RATIO = 2  # a document of more tokens than this multiple of the budget never fits whole


class DocumentReaders(dict[int, DocumentReader]):
    """Readers of documents by handle, created on first use."""

    def __init__(self, snapshot: Snapshot, tokenizer: Tokenizer) -> None:
        """Store the snapshot and the tokenizer."""
        super().__init__()
        self._documents = DocumentCache(snapshot)
        self.tokenizer = tokenizer

    def __missing__(self, handle: int) -> DocumentReader:
        self[handle] = DocumentReader(self._documents, handle, self.tokenizer.count)
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
        """Return the tokens of an excerpt without runs, and those of a run without its text."""
        reader = self.readers[handle]
        chars = reader.record.chars
        frame = self._widest(handle, (0, chars), "")
        place = self._place(handle, reader.paths(reader.part(chunk, chunk + 1)))
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
        """Return the character ranges of runs of chunks."""
        return merge_parts([self.readers[handle].part(start, end) for start, end in runs])

    def measure(self, handle: int) -> Callable[[Sequence[Part]], int]:
        """Return a function that counts the tokens of an excerpt with given parts and separator."""

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
            place = self._place(handle, reader.paths((start, end)))
            text = reader.text(start, end)
            is_known = start == 0 or place == printed_place
            shown.append(ExcerptPart(start=start, text=text, place="" if is_known else place))
            printed_place = self._place(handle, reader.paths((end - 1, end)))
        return render_parts(shown)

    def header(self, handle: int) -> str:
        """Return the header of an excerpt."""
        if not self.options.headers:
            return ""
        record = self.readers[handle].record
        title, summary = head_lines(record.title, summary=record.summary, metadata=record.metadata)
        return chunk_header(title, summary=summary, options=HeaderOptions())

    def rendered(self, citation: Citation, header: str, text: str, number: int) -> str:
        """Return the rendered text of an excerpt."""
        if not self.options.headers:
            return text.strip()
        return render_segment(self.tag, number=number, citation=citation, header=header, text=text)

    def citation(self, handle: int, parts: Sequence[Part], path: tuple[str, ...] = ()) -> Citation:
        """Return the citation of the range from the first to the last of some parts.

        Args:
            handle: Handle of the document.
            parts: Parts that are shown. The citation names their sections.
            path: Path of the most relevant section; empty for the first.
        """
        reader = self.readers[handle]
        span = (parts[0][0], parts[-1][1])
        paths = reader.paths(*parts)
        return cite(
            reader.record,
            span,
            pages=reader.pages(),
            section_path=path or paths[0],
            text=reader.text(*span),
            sections=paths,
            figures=reader.figures(),
        )

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.readers.tokenizer.count([text])[0]

    def _place(self, handle: int, paths: Sequence[tuple[str, ...]]) -> str:
        """Return the line that is printed above a part in sections with these paths."""
        if not self.options.headers:
            return ""
        reader = self.readers[handle]
        path = spanned_path(paths)
        if path and path[0].casefold() == reader.record.title.casefold():
            path = path[1:]
        return chunk_header("", section_path=path, options=HeaderOptions())

    def _widest(self, handle: int, span: Part, text: str) -> str:
        """Return the rendered text of an excerpt with the widest possible number."""
        reader = self.readers[handle]
        citation = cite(reader.record, span, pages=reader.pages(), section_path=(), text=None)
        return self.rendered(citation, self.header(handle), text, self.options.excerpts)


_TAG = "excerpt"
_RESERVED_PART = 8  # an excerpt keeps one eighth of its evidence when another takes some
_ROOM_RATIO = 2  # tokens of text read around evidence, relative to the tokens left


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptSet:
    """Excerpts of one question, rendered and counted."""

    excerpts: tuple[Excerpt, ...] = ()
    """Excerpts in reading order."""
    best_guess: Excerpt | None = None
    """Excerpt around the best chunk if there are no excerpts; otherwise None."""
    context: str = ""
    """Rendered excerpts."""
    tokens: int = 0
    """Tokens of the context."""
    warnings: tuple[str, ...] = ()
    """Warnings about documents whose evidence does not fit into an excerpt."""


class ExcerptBuilder:
    """Builds the excerpts of one question."""

    def __init__(
        self,
        evidence: Evidence,
        *,
        options: ExcerptOptions,
        snapshot: Snapshot,
        tokenizer: Tokenizer,
    ) -> None:
        """Store the evidence, the options, and the source of the texts."""
        self._evidence = evidence
        self._options = options
        self._renderer = ExcerptRenderer(
            readers=DocumentReaders(snapshot, tokenizer),
            options=options,
            tag=_TAG,
            budget_tokens=options.excerpt_tokens,
        )
        self._fenced_texts: list[str] = []

    def build(self, places: DocumentPlaces | None = None) -> ExcerptSet:
        """Return the excerpts; if no chunk is worth its tokens, a best guess instead.

        Args:
            places: Best place of each document, for one excerpt of each; None to choose the
                excerpts by value.

        Raises:
            SmallBudgetError: If no relevant chunk with its header fits into an excerpt.
        """
        while True:
            selector = self._selector()
            picks = selector.select() if places is None else selector.pick_rows(places.rows)
            if not picks:
                return self._no_excerpts(selector)
            excerpts = self._fill_all(picks)
            if self._fence_holds(excerpts):
                context = self._context(excerpts)
                tokens = self._renderer.count(context)
                if tokens <= self._options.excerpt_tokens * len(excerpts):
                    break
                # A tokenizer may merge over the blank line between two excerpts.
                self._renderer = replace(
                    self._renderer, budget_tokens=self._renderer.budget_tokens - 1
                )
        return ExcerptSet(
            excerpts=excerpts,
            context=context,
            tokens=tokens,
            warnings=self._warnings(selector.tokens_needed),
        )

    def guess(self) -> ExcerptSet:
        """Return no excerpts but a best guess: the best chunk and the text around it."""
        return ExcerptSet(best_guess=self._fill_all([self._selector().guess()])[0])

    def _no_excerpts(self, selector: ExcerptSelector) -> ExcerptSet:
        """Return a best guess if no chunk is worth its tokens; raise an error if no chunk fits."""
        if selector.tokens_needed:
            raise SmallBudgetError(
                f"excerpt_tokens is {self._options.excerpt_tokens}; the best chunk of a document "
                f"with its header needs {min(selector.tokens_needed.values())}"
            )
        return self.guess()

    def cut(self) -> ExcerptSet:
        """Return one excerpt with the best sentences of the best chunk.

        Raises:
            OptionError: If not even one word fits.
        """
        budget, pick = self._options.excerpt_tokens, self._selector().guess()
        for has_header in dict.fromkeys((self._options.headers, False)):
            options = replace(self._options, headers=has_header)
            self._renderer = replace(self._renderer, options=options)
            excerpts, is_cut = self._cut_excerpts(pick, cuts_sentence=not has_header)
            while has_header and excerpts and not self._fence_holds(excerpts):
                excerpts, is_cut = self._cut_excerpts(pick, cuts_sentence=False)
            if excerpts:
                context = self._context(excerpts)
                warning = small_budget_warning(
                    "the token budget of an excerpt", budget, has_header=has_header, is_cut=is_cut
                )
                return ExcerptSet(
                    excerpts=excerpts,
                    context=context,
                    tokens=self._renderer.count(context),
                    warnings=(warning,),
                )
        raise OptionError(
            f"the token budget of an excerpt is {budget}; not even one word fits, give 10 or more"
        )

    def _cut_excerpts(
        self, pick: ExcerptEvidence, *, cuts_sentence: bool
    ) -> tuple[tuple[Excerpt, ...], bool]:
        """Return an excerpt with the best sentences of a chunk, and whether its sentence is cut.

        There is no excerpt if nothing fits.
        """
        chooser = SentenceChooser.of(self._evidence, self._options.segments)
        reader = self._renderer.readers[pick.handle]
        ((first, last),) = self._renderer.characters(pick.handle, pick.runs)
        measure = self._renderer.measure(pick.handle)
        start, end, is_cut = chooser.choose(
            reader.text(first, last),
            language=reader.record.language,
            fits=lambda start, end: (
                measure([(first + start, first + end)]) <= self._options.excerpt_tokens
            ),
            cuts_sentence=cuts_sentence,
        )
        part = (first + start, first + end)
        return ((self._excerpt(pick, [part], [part]),) if start < end else ()), is_cut

    def _selector(self) -> ExcerptSelector:
        options = replace(self._options, excerpt_tokens=self._renderer.budget_tokens)
        return ExcerptSelector(self._evidence, options=options, sizes=self._renderer)

    def _warnings(self, needed: Mapping[int, int]) -> tuple[str, ...]:
        """Return a warning about documents whose best chunk does not fit into an excerpt.

        Args:
            needed: Tokens that the best chunk of each document needs, by handle.
        """
        if not needed:
            return ()
        return (
            f"the best chunk of {len(needed)} of the documents does not fit with its header into "
            f"{self._options.excerpt_tokens} tokens; {max(needed.values())} are enough",
        )

    def _fence_holds(self, excerpts: Sequence[Excerpt]) -> bool:
        """Return whether no text can close the fence; if one can, choose another tag."""
        self._fenced_texts += [
            text for e in excerpts for text in (e.knowledge_base, e.document_id, e.header, e.text)
        ]
        tag = fence_tag(self._fenced_texts, name=_TAG)
        if tag == self._renderer.tag:
            return True
        self._renderer = replace(self._renderer, tag=tag)
        return False

    def _fill_all(self, picks: Sequence[ExcerptEvidence]) -> tuple[Excerpt, ...]:
        """Return the excerpts in reading order."""
        excerpts = []
        for handle in {pick.handle: None for pick in picks}:
            document_picks = [pick for pick in picks if pick.handle == handle]
            document_picks.sort(key=lambda pick: pick.runs)
            evidence = [self._renderer.characters(handle, pick.runs) for pick in document_picks]
            filled = self._fill_document(handle, evidence)
            all_evidence = [part for parts in evidence for part in parts]
            excerpts += [
                self._excerpt(pick, parts, all_evidence)
                for pick, parts in zip(document_picks, filled, strict=True)
            ]
        return tuple(
            sorted(
                excerpts, key=lambda e: (-e.relevance, -e.value, e.document_id, e.citation.start)
            )
        )

    def _fill_document(self, handle: int, evidence: Sequence[list[Part]]) -> list[list[Part]]:
        """Return the parts of each excerpt of a document; the order that fits most text is used."""
        reader = self._renderer.readers[handle]
        if len(evidence) == 1 and self._renderer.fits_whole(handle):
            return [[(0, reader.record.chars)]]
        onwards = self._fill_in_turn(handle, evidence, step=1)
        if len(evidence) == 1 or all(self._is_used(handle, parts) for parts in onwards):
            return onwards
        backwards = self._fill_in_turn(handle, evidence, step=-1)
        both_ways = self._fill_in_turn(handle, onwards, step=-1)
        all_evidence = [part for parts in evidence for part in parts]
        if any(subtract_parts(parts, all_evidence) == parts for parts in both_ways):
            both_ways = onwards  # an excerpt lost all of its evidence
        return max(onwards, backwards, both_ways, key=_chars)

    def _fill_in_turn(
        self, handle: int, evidence: Sequence[list[Part]], *, step: int
    ) -> list[list[Part]]:
        """Return the parts of each excerpt; each may take evidence from the one filled after it.

        Args:
            handle: Handle of the document.
            evidence: Evidence of each excerpt.
            step: 1 to fill the excerpts in order, -1 in reverse order.
        """
        shown = list(evidence)
        for at in range(len(shown))[::step]:
            own, following = shown[at], at + step
            others = [part for other, parts in enumerate(shown) if other != at for part in parts]
            shown[at] = self._fill(handle, own, others)
            if not 0 <= following < len(shown) or self._is_used(handle, shown[at]):
                continue
            reserved = self._reserved(handle, shown[following], step=step)
            shown[at] = self._fill(
                handle, own, [*subtract_parts(others, shown[following]), *reserved]
            )
            shown[following] = subtract_parts(shown[following], shown[at])
        return shown

    def _is_used(self, handle: int, parts: Sequence[Part]) -> bool:
        return self._renderer.measure(handle)(parts) >= USED * self._renderer.budget_tokens

    def _reserved(self, handle: int, parts: Sequence[Part], *, step: int) -> list[Part]:
        """Return the evidence at the far end of an excerpt, which its neighbour must not take."""
        reader = self._renderer.readers[handle]
        reserved = _chars([parts]) // _RESERVED_PART
        left = _chars([parts]) - reserved if step > 0 else reserved
        for start, end in parts:
            if left < end - start:
                break
            left -= end - start
        window = Window(start=start, text=reader.text(start, end))
        place = first_stop(window, (start, end), least=start + max(left, 1))
        near = (0, place) if step > 0 else (place, reader.record.chars)
        return subtract_parts(parts, [near]) or list(parts)

    def _fill(self, handle: int, evidence: Sequence[Part], taken: Sequence[Part]) -> list[Part]:
        """Return the parts of one excerpt: its evidence and the text around it."""
        reader = self._renderer.readers[handle]
        measure = self._renderer.measure(handle)
        left = max(0, self._renderer.budget_tokens - measure(evidence))
        return fill_excerpt(
            evidence,
            reader.windows(evidence, room_tokens=_ROOM_RATIO * left, taken=taken),
            budget_tokens=self._renderer.budget_tokens,
            measure=measure,
            count_tokens=self._renderer.readers.tokenizer.count,
        )

    def _context(self, excerpts: Sequence[Excerpt]) -> str:
        return render_context(
            [
                self._renderer.rendered(excerpt.citation, excerpt.header, excerpt.text, number)
                for number, excerpt in enumerate(excerpts, start=1)
            ]
        )

    def _excerpt(
        self, pick: ExcerptEvidence, parts: Sequence[Part], evidence: Sequence[Part]
    ) -> Excerpt:
        """Return an excerpt with these parts, given the evidence of its document."""
        handle, renderer = pick.handle, self._renderer
        reader = renderer.readers[handle]
        spans = tuple(
            self._span(handle, span, evidence) for part in parts for span in _split(part, evidence)
        )
        chars = sum(span.end - span.start for span in spans)
        path = reader.section(self._best_chunk(pick).section).path
        copies = self._evidence.copies(pick.rows)
        return Excerpt(
            document_id=reader.record.id,
            title=reader.record.title,
            spans=spans,
            text=renderer.text(handle, parts),
            header=renderer.header(handle),
            tokens=renderer.measure(handle)(parts),
            relevance=self._relevance(handle, parts),
            value=pick.value,
            is_whole=chars == reader.record.chars,
            citation=renderer.citation(handle, parts, path),
            queries=self._evidence.served_queries(pick.rows),
            also_in=tuple(sorted(renderer.readers[copy].record.id for copy in copies)),
            similar_words=self._evidence.similar_words(pick.rows),
            knowledge_base=reader.record.knowledge_base,
        )

    def _span(self, handle: int, span: Part, evidence: Sequence[Part]) -> ExcerptSpan:
        reader = self._renderer.readers[handle]
        return ExcerptSpan(
            start=span[0],
            end=span[1],
            text=reader.text(*span),
            is_evidence=any(start <= span[0] and span[1] <= end for start, end in evidence),
            relevance=self._relevance(handle, [span]),
            citation=self._renderer.citation(handle, [span]),
        )

    def _best_chunk(self, pick: ExcerptEvidence) -> Chunk:
        rows = pick.rows
        best = int(rows[np.argmax(self._evidence.relevance[rows])])
        first = self._evidence.chunk(best)[1]
        return self._renderer.readers[pick.handle].chunks(first, first + 1)[0]

    def _relevance(self, handle: int, parts: Sequence[Part]) -> float:
        """Return the probability that the text of some ranges contains evidence.

        A part of a chunk counts in proportion to its length. Chunks that were not read count 0.
        """
        shown: dict[int, float] = {}
        for start, end in parts:
            for chunk in self._renderer.readers[handle].overlapping(start, end):
                row = self._row(handle, chunk.index)
                if row is not None:
                    chars = min(end, chunk.end) - max(start, chunk.start)
                    fraction = chars / (chunk.end - chunk.start)
                    shown[row] = min(1.0, shown.get(row, 0.0) + fraction)
        if not shown:
            return 0.0
        return self._evidence.chance(np.array(list(shown)), np.array(list(shown.values())))

    def _row(self, handle: int, chunk: int) -> int | None:
        """Return the row of a chunk; None if it was not read."""
        ranges = self._evidence.ranges
        at = bisect_right(ranges, (handle, chunk), key=lambda span: (span.handle, span.start)) - 1
        if at < 0 or ranges[at].handle != handle or chunk >= ranges[at].end:
            return None
        return int(self._evidence.starts[at]) + chunk - ranges[at].start


def _chars(shown: Sequence[Sequence[Part]]) -> int:
    return sum(end - start for parts in shown for start, end in parts)


def _split(part: Part, evidence: Sequence[Part]) -> list[Part]:
    """Return a part divided at the ends of the evidence, in order."""
    places = {part[0], part[1]}
    places.update(place for span in evidence for place in span if part[0] < place < part[1])
    return list(pairwise(sorted(places)))

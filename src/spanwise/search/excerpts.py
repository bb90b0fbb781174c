"""Excerpts: choose the evidence, fill in the text around it, render.

If several excerpts of one document touch, evidence may move from one to the one before it, as far
as that one has tokens left and no other text next to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.context_expansion import (
    USED,
    Part,
    Window,
    fill_excerpt,
    first_stop,
    subtract_parts,
)
from spanwise.core.extraction.render import render_context
from spanwise.core.text.fences import fence_tag
from spanwise.errors import OptionError
from spanwise.search.excerpt_renderer import DocumentReaders, ExcerptRenderer
from spanwise.search.excerpt_selection import ExcerptEvidence, ExcerptSelector
from spanwise.types import Excerpt, ExcerptSpan

if TYPE_CHECKING:
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import Tokenizer
    from spanwise.options import ExcerptOptions
    from spanwise.search.evidence import Evidence
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk


_TAG = "excerpt"
_RESERVED_PART = 8  # an excerpt keeps one eighth of its evidence when another borrows
_ROOM_RATIO = 2  # tokens of text read around evidence, relative to the tokens left


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptSet:
    """Excerpts of one question."""

    excerpts: tuple[Excerpt, ...] = ()
    """Excerpts in reading order."""
    best_guess: Excerpt | None = None
    """Excerpt around the best chunk if nothing was found."""
    context: str = ""
    """Rendered excerpts."""
    tokens: int = 0
    """Tokens of the context."""
    warnings: tuple[str, ...] = ()
    """Warnings about documents without room for their evidence."""


class ExcerptBuilder:
    """Builds the excerpts of one question."""

    def __init__(
        self,
        evidence: Evidence,
        *,
        model: RelevanceModel,
        options: ExcerptOptions,
        snapshot: Snapshot,
        tokenizer: Tokenizer,
    ) -> None:
        """Store the evidence and the sources of text."""
        self._evidence = evidence
        self._model = model
        self._options = options
        self._renderer = ExcerptRenderer(
            readers=DocumentReaders(snapshot, tokenizer),
            options=options,
            tag=_TAG,
            budget_tokens=options.excerpt_tokens,
        )
        self._fenced_texts: list[str] = []

    def build(self) -> ExcerptSet:
        """Return the excerpts, or none and the text around the best chunk as a guess.

        Raises:
            OptionError: If no relevant chunk with its header fits into an excerpt.
        """
        while True:
            selector = self._selector()
            picks = selector.select()
            if not picks:
                return self._nothing(selector)
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
        """Return no excerpts, and the text around the best chunk as a guess."""
        return ExcerptSet(best_guess=self._fill_all([self._selector().guess()])[0])

    def _nothing(self, selector: ExcerptSelector) -> ExcerptSet:
        """Return a guess if nothing is worth its tokens; raise if nothing has room."""
        if selector.tokens_needed:
            raise OptionError(
                f"excerpt_tokens is {self._options.excerpt_tokens}; the best chunk of a document "
                f"with its header needs {min(selector.tokens_needed.values())}"
            )
        return self.guess()

    def _selector(self) -> ExcerptSelector:
        options = replace(self._options, excerpt_tokens=self._renderer.budget_tokens)
        return ExcerptSelector(
            self._evidence, model=self._model, options=options, sizes=self._renderer
        )

    def _warnings(self, needed: Mapping[int, int]) -> tuple[str, ...]:
        """Return a warning about documents without room for their best chunk.

        Args:
            needed: Tokens that the best chunk of each document needs, by handle.
        """
        if not needed:
            return ()
        return (
            f"excerpts of {self._options.excerpt_tokens} tokens have no room for header and best "
            f"chunk of {len(needed)} of the documents; {max(needed.values())} would have",
        )

    def _fence_holds(self, excerpts: Sequence[Excerpt]) -> bool:
        """Return whether nothing in the excerpts closes the fence; if it does, change the fence."""
        self._fenced_texts += [text for e in excerpts for text in (e.document_id, e.header, e.text)]
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
            everything = [part for parts in evidence for part in parts]
            excerpts += [
                self._excerpt(pick, parts, everything)
                for pick, parts in zip(document_picks, filled, strict=True)
            ]
        return tuple(
            sorted(
                excerpts, key=lambda e: (-e.relevance, -e.value, e.document_id, e.citation.start)
            )
        )

    def _fill_document(self, handle: int, evidence: Sequence[list[Part]]) -> list[list[Part]]:
        """Return the parts of each excerpt of a document: filled forwards, backwards, or both."""
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
        """Return the parts of each excerpt, filled in this order; each may borrow from the next."""
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
        """Return the far end of a text, which the excerpt before must leave."""
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
        """Return the parts of one excerpt."""
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
        """Return a filled excerpt, given all evidence of its document."""
        handle, renderer = pick.handle, self._renderer
        reader = renderer.readers[handle]
        spans = tuple(
            self._span(handle, span, evidence) for part in parts for span in _split(part, evidence)
        )
        chars = sum(span.end - span.start for span in spans)
        mass = sum(span.relevance * (span.end - span.start) for span in spans)
        path = reader.section(self._best_chunk(pick).section).path
        copies = self._evidence.copies(pick.rows)
        least = self._options.segments.segment_charge
        return Excerpt(
            document_id=reader.record.id,
            title=reader.record.title,
            spans=spans,
            text=renderer.text(handle, parts),
            header=renderer.header(handle),
            tokens=renderer.measure(handle)(parts),
            relevance=mass / chars,
            value=pick.value,
            is_whole=chars == reader.record.chars,
            citation=renderer.citation(handle, (parts[0][0], parts[-1][1]), path),
            queries=self._evidence.served_queries(pick.rows, least=least),
            also_in=tuple(sorted(renderer.readers[copy].record.id for copy in copies)),
        )

    def _span(self, handle: int, span: Part, evidence: Sequence[Part]) -> ExcerptSpan:
        reader = self._renderer.readers[handle]
        path = reader.section(reader.chunk_at(span[0]).section).path
        return ExcerptSpan(
            start=span[0],
            end=span[1],
            text=reader.text(*span),
            is_evidence=any(start <= span[0] and span[1] <= end for start, end in evidence),
            relevance=self._relevance(handle, span),
            citation=self._renderer.citation(handle, span, path),
        )

    def _best_chunk(self, pick: ExcerptEvidence) -> Chunk:
        rows = pick.rows
        best = int(rows[np.argmax(self._evidence.relevance[rows])])
        at, position = self._evidence.place(best)
        first = self._evidence.ranges[at].start + position
        return self._renderer.readers[pick.handle].chunks(first, first + 1)[0]

    def _relevance(self, handle: int, span: Part) -> float:
        """Return the mean relevance of a range; text that was not scored counts as 0."""
        mass = 0.0
        for chunk in self._renderer.readers[handle].overlapping(*span):
            shown = min(span[1], chunk.end) - max(span[0], chunk.start)
            mass += shown * self._relevance_of(handle, chunk.index)
        return mass / (span[1] - span[0])

    def _relevance_of(self, handle: int, chunk: int) -> float:
        ranges = self._evidence.ranges
        at = bisect_right(ranges, (handle, chunk), key=lambda span: (span.handle, span.start)) - 1
        if at < 0 or ranges[at].handle != handle or chunk >= ranges[at].end:
            return 0.0
        row = int(self._evidence.starts[at]) + chunk - ranges[at].start
        return float(self._evidence.relevance[row])


def _chars(shown: Sequence[Sequence[Part]]) -> int:
    return sum(end - start for parts in shown for start, end in parts)


def _split(part: Part, evidence: Sequence[Part]) -> list[Part]:
    """Return the evidence inside a part and the text between and around it, in order."""
    places = {part[0], part[1]}
    places.update(place for span in evidence for place in span if part[0] < place < part[1])
    return list(pairwise(sorted(places)))

"""Segments that begin and end with whole sentences, although chunks may cut long sentences.

Rules:
    A border inside a sentence moves outwards to the border of the sentence: by at most four chunks,
    inside the section, not into another segment, and within the limits on tokens. Segments of high
    rank are first.
    A border that cannot move outwards moves inwards, but never into the best chunk of the segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.extraction.context_expansion import Window, sentence_stops
from spanwise.search.rendering import ShownText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.search.rendering import SegmentRange, SegmentRenderer
    from spanwise.types import Chunk, Segment

_MAX_CHUNKS = 4
_NEAR_CHUNKS = 2  # enough to see whether a sentence is cut, which is rare
_MAX_LOST = 0.05
"""Maximum fraction of the budget that whole sentences may cost."""


class CompletedSegments(NamedTuple):
    """Segments after their borders were moved."""

    segments: list[Segment]
    """The segments in reading order."""
    missing_tokens: int
    """Tokens that were missing in the budget to move all borders outwards; 0 for none."""


class _Border(NamedTuple):
    """Border of a segment inside a sentence."""

    is_end: bool
    """Whether the segment ends here; otherwise it begins here."""
    place: int
    """Offset in the document."""
    outer: int | None
    """Nearest sentence border outside the segment."""
    inner: int | None
    """Nearest sentence border inside the segment."""
    chunks: tuple[Chunk, ...]
    """Chunks around the border, in one section."""

    def between(self, place: int) -> list[tuple[Chunk, int, int]]:
        """Return the parts of chunks between the border and another offset, with their offsets."""
        low, high = sorted((self.place, place))
        return [
            (chunk, max(low, chunk.start), min(high, chunk.end))
            for chunk in self.chunks
            if chunk.start < high and low < chunk.end
        ]

    def text(self, place: int) -> str:
        """Return the text between the border and another offset."""
        return "".join(
            chunk.text[start - chunk.start : end - chunk.start]
            for chunk, start, end in self.between(place)
        )

    def moved(self, shown: ShownText, place: int, tokens: int) -> ShownText:
        """Return the shown text of a segment with this border at another offset.

        Args:
            shown: Text that is shown so far.
            place: New offset of the border.
            tokens: Change of the number of tokens.
        """
        more, piece = shown.more_tokens + tokens, self.text(place)
        if self.is_end:
            text = shown.text + piece if place > self.place else shown.text[: -len(piece)]
            return ShownText(shown.start, text, more)
        text = piece + shown.text if place < self.place else shown.text[len(piece) :]
        return ShownText(place, text, more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceBorders:
    """Moves the borders of the segments of one result to borders of sentences."""

    renderer: SegmentRenderer
    """Renders runs as segments."""
    budget_tokens: int
    """Maximum tokens of all segments together, with their headers."""
    max_segment_tokens: int | None = None
    """Maximum tokens of the text of a segment; None for no maximum."""
    shortens: bool = True
    """Whether a border may move inwards."""

    @property
    def most_lost_tokens(self) -> int:
        """Maximum number of tokens that may be removed to end segments with sentences."""
        return int(_MAX_LOST * self.budget_tokens) if self.shortens else 0

    def complete(self, runs: Sequence[SegmentRange], segments: list[Segment]) -> CompletedSegments:
        """Return the segments with whole sentences.

        Args:
            runs: Runs of the segments.
            segments: Segments of these runs in reading order, within the budget.
        """
        ordered = self._in_order(runs, segments)
        self.renderer.documents.read_ahead(
            (run.handle, *self._near(run, border, _NEAR_CHUNKS))
            for run in ordered
            for border in (run.start, run.end)
        )
        shown = [ShownText(segment.start, segment.text, 0) for segment in segments]
        unused = self.budget_tokens - sum(segment.tokens for segment in segments)
        refused, most = 0, self.most_lost_tokens
        for at in sorted(range(len(segments)), key=lambda at: segments[at].rank):
            for is_end in (True, False):
                before = shown[at]
                border = self._border(ordered[at], before, is_end=is_end)
                if border is None:
                    continue
                limit = _limit(ordered, shown, at, is_end=is_end)
                after = self._extended(border, ordered[at], before, limit)
                if after is not None and after.more_tokens - before.more_tokens > unused:
                    refused += after.more_tokens - before.more_tokens
                    after = None
                if after is None:
                    after = self._shortened(border, ordered[at], before, most=most)
                    most -= before.more_tokens - after.more_tokens
                unused -= after.more_tokens - before.more_tokens
                shown[at] = after
        changed = [
            run if text.text == segment.text else replace(run, shown=text)
            for run, text, segment in zip(ordered, shown, segments, strict=True)
        ]
        completed = segments if changed == ordered else self.renderer.segments(changed)
        if sum(segment.tokens for segment in completed) > self.budget_tokens:
            completed = segments  # a longer fence tag did not fit
        return CompletedSegments(completed, refused)

    def _in_order(
        self, runs: Sequence[SegmentRange], segments: Sequence[Segment]
    ) -> list[SegmentRange]:
        """Return the run of each segment."""
        run_of = {}
        for run in runs:
            record = self.renderer.documents.record(run.handle)
            run_of[record.knowledge_base, record.id, run.start] = run
        return [run_of[one.knowledge_base, one.document_id, one.first_chunk] for one in segments]

    def _near(self, run: SegmentRange, index: int, reach: int) -> tuple[int, int]:
        """Return the range of the chunks around a border of a segment."""
        count = self.renderer.documents.record(run.handle).chunks
        return max(0, index - reach), min(count, index + reach)

    def _border(self, run: SegmentRange, shown: ShownText, *, is_end: bool) -> _Border | None:
        """Return the end or the start of a segment; None if no sentence is cut there."""
        documents = self.renderer.documents
        index, place = (run.end, shown.end) if is_end else (run.start, shown.start)
        for reach in (_NEAR_CHUNKS, _MAX_CHUNKS):
            low, high = self._near(run, index, reach)
            if index in (low, high):
                return None
            near = documents.snapshot.chunks(run.handle, low, high)
            before, after = near[index - low - 1], near[index - low]
            if before.section != after.section or place != after.start:
                return None  # the border of a section, or of a sentence chosen by trimming
            chunks = tuple(chunk for chunk in near if chunk.section == after.section)
            window = Window(start=chunks[0].start, text="".join(chunk.text for chunk in chunks))
            stops = sentence_stops(window, window.start, window.end)
            if place in stops:
                return None
        section = documents.section(run.handle, after.section)
        stops += {window.start, window.end} & {section.start, section.end}
        earlier = max((stop for stop in stops if stop < place), default=None)
        later = min((stop for stop in stops if stop > place), default=None)
        outer, inner = (later, earlier) if is_end else (earlier, later)
        return _Border(is_end, place, outer, inner, chunks)

    def _extended(
        self, border: _Border, run: SegmentRange, shown: ShownText, limit: int | None
    ) -> ShownText | None:
        """Return the text of a segment with a border moved outwards; None if it cannot move."""
        place = border.outer
        if place is None or _passes(place, limit, is_end=border.is_end):
            return None
        added = sum(self.renderer.token_counter.part(*part) for part in border.between(place))
        longest = self.max_segment_tokens
        if longest is not None and run.tokens + shown.more_tokens + added > longest:
            return None
        return border.moved(shown, place, added)

    def _shortened(
        self, border: _Border, run: SegmentRange, shown: ShownText, *, most: int
    ) -> ShownText:
        """Return the text of a segment with a border moved inwards; the same if it cannot move.

        Args:
            border: Border to move.
            run: Run of the segment.
            shown: Text that is shown so far.
            most: Maximum number of tokens to remove.
        """
        place = border.inner
        if place is None or not shown.start < place < shown.end:
            return shown
        if run.best in {chunk.index for chunk, _, _ in border.between(place)}:
            return shown
        tokens = self.renderer.token_counter.removed(border.text(place))
        return border.moved(shown, place, -tokens) if tokens <= most else shown


def _limit(
    runs: Sequence[SegmentRange], shown: Sequence[ShownText], at: int, *, is_end: bool
) -> int | None:
    """Return the offset of the next or previous segment in the document; None for none."""
    other = at + 1 if is_end else at - 1
    if not 0 <= other < len(runs) or runs[other].handle != runs[at].handle:
        return None
    return shown[other].start if is_end else shown[other].end


def _passes(place: int, limit: int | None, *, is_end: bool) -> bool:
    """Return whether an offset lies beyond a limit."""
    return limit is not None and (place > limit if is_end else place < limit)

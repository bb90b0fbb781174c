"""Segments that begin and end with whole sentences, although chunks may cut long sentences.

Rules:
    A border inside a sentence moves outwards to the border of the sentence: by at most four chunks,
    inside the section, not into another segment, and within the limits on tokens. Segments of high
    rank are first.
    A border that cannot move outwards moves inwards, but never into the best chunk of the segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.extraction.context_expansion import Window, sentence_stops
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.text.break_points import is_stop, nearest_stops
from spanwise.search.rendering import ShownText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.search.rendering import SegmentRange, SegmentRenderer
    from spanwise.types import Chunk, Segment

_MAX_CHUNKS = 4
_NEAR_CHUNKS = 2  # enough to see whether a sentence is cut, which is rare
_ADJACENT_CHUNKS = 1  # mostly enough
_MAX_LOST = 0.05
"""Maximum fraction of the budget that whole sentences may cost."""


class CompletedSegments(NamedTuple):
    """Segments after their borders were moved."""

    segments: list[Segment]
    """The segments in reading order."""
    missing_tokens: int
    """Tokens that were missing in the budget to move all borders outwards; 0 for none."""


class _Place(NamedTuple):
    """End or start of a segment between two chunks of a document."""

    segment: int
    """Index of the segment."""
    is_start: bool
    """Whether the segment begins here; otherwise it ends here."""
    handle: int
    """Handle of the document."""
    chunk: int
    """Chunk after the place."""
    offset: int
    """Offset in the document."""

    def border(self, earlier: int | None, later: int | None, chunks: tuple[Chunk, ...]) -> _Border:
        """Return the border at the place, given the nearest stops and the chunks around it."""
        outer, inner = (earlier, later) if self.is_start else (later, earlier)
        return _Border(not self.is_start, self.offset, outer, inner, chunks)


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
        shown = [ShownText(segment.start, segment.text, 0) for segment in segments]
        borders = self._borders(ordered, shown)
        if not borders:
            return CompletedSegments(segments, 0)
        unused = self.budget_tokens - sum(segment.tokens for segment in segments)
        refused, most = 0, self.most_lost_tokens
        for at, border in sorted(borders, key=lambda found: segments[found[0]].rank):
            before = shown[at]
            limit = _limit(ordered, shown, at, is_end=border.is_end)
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
            run if text.text == segment.text else run._replace(shown=text)
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

    def _borders(
        self, runs: Sequence[SegmentRange], shown: Sequence[ShownText]
    ) -> list[tuple[int, _Border]]:
        """Return the borders inside sentences, with the index of their segment, ends first."""
        places = [
            _Place(at, is_start, run.handle, chunk, offset)
            for at, (run, text) in enumerate(zip(runs, shown, strict=True))
            for is_start, chunk, offset in (
                (False, run.end, text.end),
                (True, run.start, text.start),
            )
            if 0 < chunk < self.renderer.documents.record(run.handle).chunks
        ]
        borders: list[tuple[_Place, _Border | None]] = []
        for reach in (_ADJACENT_CHUNKS, _NEAR_CHUNKS):
            near = self._read_near(places, reach)
            seen = {place: self._seen_border(place, chunks) for place, chunks in near.items()}
            borders += [(place, border) for place, (is_known, border) in seen.items() if is_known]
            places = [place for place, (is_known, _) in seen.items() if not is_known]
        cut = [place for place in places if self._border(place, near[place]) is not None]
        far = self._read_near(cut, _MAX_CHUNKS)
        borders += [(place, self._border(place, chunks)) for place, chunks in far.items()]
        in_order = sorted(borders, key=lambda found: found[0])
        return [(place.segment, border) for place, border in in_order if border is not None]

    def _seen_border(self, place: _Place, near: Sequence[Chunk]) -> tuple[bool, _Border | None]:
        """Return whether the chunks show the border at a place, and the border.

        The border is None if no sentence is cut there.
        """
        at = place.chunk - near[0].index
        before, after = near[at - 1], near[at]
        if before.section != after.section or place.offset != after.start:
            return True, None  # the border of a section, or of a sentence chosen by trimming
        chunks = tuple([chunk for chunk in near if chunk.section == after.section])
        section = self.renderer.documents.section(place.handle, after.section)
        text, start = "".join([chunk.text for chunk in chunks]), chunks[0].start
        is_begun, is_ended = start == section.start, chunks[-1].end == section.end
        offset = place.offset - start
        is_whole = is_stop(text, offset, is_begun=is_begun, is_ended=is_ended)
        if is_whole is not False:
            return is_whole is True, None
        stops = nearest_stops(text, offset, is_begun=is_begun, is_ended=is_ended)
        if stops is None:
            return False, None
        return True, place.border(start + stops[0], start + stops[1], chunks)

    def _read_near(self, places: Sequence[_Place], reach: int) -> dict[_Place, tuple[Chunk, ...]]:
        """Return the chunks around each place."""
        documents = self.renderer.documents
        counts = [documents.record(place.handle).chunks for place in places]
        ranges = [
            PassageRange(place.handle, max(0, place.chunk - reach), min(count, place.chunk + reach))
            for place, count in zip(places, counts, strict=True)
        ]
        return dict(zip(places, documents.snapshot.chunk_ranges(ranges), strict=True))

    def _border(self, place: _Place, near: Sequence[Chunk]) -> _Border | None:
        """Return the border of a segment inside a section; None if no sentence is cut there."""
        after = near[place.chunk - near[0].index]
        chunks = tuple(chunk for chunk in near if chunk.section == after.section)
        window = Window(start=chunks[0].start, text="".join([chunk.text for chunk in chunks]))
        stops = sentence_stops(window, window.start, window.end)
        if place.offset in stops:
            return None
        section = self.renderer.documents.section(place.handle, after.section)
        stops += {window.start, window.end} & {section.start, section.end}
        earlier = max((stop for stop in stops if stop < place.offset), default=None)
        later = min((stop for stop in stops if stop > place.offset), default=None)
        return place.border(earlier, later, chunks)

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

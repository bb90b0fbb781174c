"""Choice of segments by the exact or the greedy method; the budget includes their headers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.extraction.exact import ChunkArrays, Limits, Run, extract_runs
from spanwise.errors import OptionError
from spanwise.options.search import PRICED_TOKENS
from spanwise.search.phrases import held_rows
from spanwise.search.rendering import SegmentRange, SegmentRenderer
from spanwise.search.section_shares import border_costs
from spanwise.search.sentence_borders import SentenceBorders
from spanwise.search.small_budget import SmallBudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.extraction.published import RankedChunk
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.options import PublishedOptions, SearchOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.rendering import SegmentRange
    from spanwise.types import Segment


class Fitted(NamedTuple):
    """Chosen segments, which fit into the budget."""

    runs: list[SegmentRange]
    """Runs of the segments."""
    segments: list[Segment]
    """Segments in reading order."""
    header_tokens: int
    """Header tokens with which they were chosen."""


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """Chooses segments that fit into the budget together with their headers."""

    evidence: Evidence
    """Evidence of the question."""
    model: RelevanceModel
    """Relevance model."""
    options: SearchOptions
    """Options of the search."""
    renderer: SegmentRenderer
    """Renders runs as segments."""
    is_one_document: bool = False
    """Whether the search was restricted to one document."""

    @property
    def may_be_whole(self) -> bool:
        """Whether the only document may be returned whole: if tokens have no price."""
        segments = self.options.segments
        return self.is_one_document and segments.token_price == 0 and not segments.trim

    def extract(self) -> tuple[list[Segment], Segment | None]:
        """Return the segments in reading order, and the best chunk as a guess if there are none.

        Raises:
            OptionError: If all relevant chunks are longer than the longest allowed segment.
            SmallBudgetError: If no relevant chunk fits into the budget with its header.
        """
        if self.fitted.segments:
            return self._completed(self.fitted), None
        self._check_limits(self.fitted.header_tokens)
        return [], self.shown_guess()

    def _completed(self, fitted: Fitted) -> list[Segment]:
        """Return segments that begin and end with whole sentences, if the budget allows.

        If the budget has no room for the rest of a sentence, the segments are chosen again with a
        smaller budget. The second choice is used if it contains the best chunks of the first one.
        Segments with a required phrase are not chosen again.
        """
        borders = self.borders()
        first = borders.complete(fitted.runs, fitted.segments)
        if not 0 < first.missing_tokens <= borders.most_lost_tokens:
            return first.segments
        again = self._fit(self.options.budget_tokens - first.missing_tokens)
        if not self._best_of(fitted.runs) <= self._best_of(again.runs):
            return first.segments
        second = borders.complete(again.runs, again.segments)
        is_better = second.missing_tokens < first.missing_tokens
        return second.segments if is_better else first.segments

    def _best_of(self, runs: Sequence[SegmentRange]) -> set[int]:
        """Return the best rows of the queries that some runs contain."""
        found = set()
        for row in self.evidence.best_rows().values():
            handle, chunk = self.evidence.chunk(row)
            if any(run.handle == handle and run.start <= chunk < run.end for run in runs):
                found.add(row)
        return found

    def shown_guess(self) -> Segment:
        """Return the segment of the best chunk."""
        runs = [self.guess()]
        return self.borders().complete(runs, self.renderer.segments(runs)).segments[0]

    def borders(self, *, trims: bool = True) -> SentenceBorders:
        """Return the repair of sentences that are cut by the chunks at the ends of segments.

        Args:
            trims: Whether the segments are trimmed if the options ask for it.
        """
        return SentenceBorders(
            renderer=self.renderer if trims else replace(self.renderer, trimmer=None),
            budget_tokens=self.options.budget_tokens,
            max_segment_tokens=self.options.segments.max_segment_tokens,
            shortens=held_rows(self.evidence) is None,  # a part may contain the required phrase
        )

    @cached_property
    def fitted(self) -> Fitted:
        """Segments that fit into the budget of the options."""
        return self._fit(self.options.budget_tokens)

    def _fit(self, budget: int) -> Fitted:
        """Return the segments that fit into a budget with their headers.

        Headers differ by section, so their length is known only for chosen segments. The choice is
        repeated with the mean header length of the previous choice until the segments fit.
        """
        header_tokens = self._guess_overhead
        whole = self._whole(budget)
        if whole is not None:
            return Fitted([whole], self.renderer.segments([whole]), header_tokens)
        located = self._located
        while True:
            chosen = self.runs(header_tokens, budget)
            located.update({run: self.locate(run) for run in chosen if run not in located})
            runs = [located[run] for run in chosen]
            segments = self.renderer.segments(runs)
            total = sum([segment.tokens for segment in segments])
            if total <= budget:
                return Fitted(runs, segments, header_tokens)
            extra = total - sum([run.tokens for run in runs])
            header_tokens = max(header_tokens + 1, -(-extra // len(runs)))

    @cached_property
    def _located(self) -> dict[Run, SegmentRange]:
        """Runs that were chosen so far, as ranges of their documents."""
        return {}

    @cached_property
    def _guess_overhead(self) -> int:
        """Tokens of the segment of the best chunk without its text."""
        return self.renderer.overhead(self.guess())

    def _whole(self, budget_tokens: int) -> SegmentRange | None:
        """Return the only document as one run; None if it does not fit."""
        if not self.may_be_whole:
            return None
        evidence, longest = self.evidence, self.options.segments.max_segment_tokens
        tokens, values = int(evidence.lengths.sum()), self.values()
        span = evidence.ranges[0]
        is_all = len(evidence.ranges) == 1 and span.start == 0
        limit = budget_tokens if longest is None else longest
        if not (is_all and tokens <= limit and values.max() > 0):
            return None
        if self.renderer.documents.record(span.handle).chunks != span.end:
            return None
        value = float(values.sum())
        run = self.locate(Run(document=0, start=0, end=span.end, value=value, tokens=tokens))
        return run if run.tokens + self.renderer.overhead(run) <= budget_tokens else None

    def runs(self, header_tokens: int, budget_tokens: int | None = None) -> tuple[Run, ...]:
        """Return the most valuable runs; the best chunk of each query has priority.

        Args:
            header_tokens: Tokens of a header.
            budget_tokens: Budget; None for that of the options.
        """
        options = self.options.segments
        budget = self.options.budget_tokens if budget_tokens is None else budget_tokens
        limits = Limits(
            budget_tokens=budget,
            segment_charge=self.charge(header_tokens),
            min_segment_value=options.min_segment_value,
            max_segment_tokens=options.max_segment_tokens,
            header_tokens=header_tokens,
        )
        if limits not in self._solved:
            solution = extract_runs(self._chunks, limits, required=self._required)
            self._solved[limits] = solution.runs
        return self._solved[limits]

    @cached_property
    def _solved(self) -> dict[Limits, tuple[Run, ...]]:
        """Most valuable runs by limits, as far as they were chosen."""
        return {}

    @cached_property
    def _chunks(self) -> ChunkArrays:
        """Values, lengths and border costs of all chunks."""
        lengths = self.evidence.lengths
        return ChunkArrays.of(
            self.values(),
            lengths,
            border_costs(self.evidence, self.options.segments),
            counts=np.diff(self.evidence.starts, append=len(lengths)),
        )

    @cached_property
    def _required(self) -> list[tuple[int, int]]:
        """Best chunks of the queries that are worth a segment, as pairs of range and position."""
        values, least = self.values(), self.options.segments.min_segment_value
        rows = dict.fromkeys(self.evidence.best_rows().values())
        return [
            self.evidence.place(row) for row in rows if values[row] > 0 and values[row] >= least
        ]

    def guess(self) -> SegmentRange:
        """Return the best chunk, whatever its value."""
        row = int(np.argmax(self.evidence.shares))
        at, position = self.evidence.place(row)
        value, tokens = float(self.evidence.shares[row]), int(self.evidence.lengths[row])
        return self.locate(
            Run(document=at, start=position, end=position + 1, value=value, tokens=tokens)
        )

    def values(self) -> NDArray[np.float64]:
        """Return the value of each chunk in a segment, in the unit of shares, (n,)."""
        return self.evidence.values(self.options.segments)

    def charge(self, header_tokens: int) -> float:
        """Return the charge of a segment including the price of its header, in shares."""
        segments = self.options.segments
        return segments.fixed_charge + segments.token_price * header_tokens / PRICED_TOKENS

    def locate(self, run: Run) -> SegmentRange:
        """Return a run of the evidence as a range of its document."""
        evidence = self.evidence
        span = evidence.ranges[run.document]
        first = int(evidence.starts[run.document])
        rows = np.arange(first + run.start, first + run.end)
        chances = evidence.chances[rows]
        return SegmentRange(
            handle=span.handle,
            start=span.start + run.start,
            end=span.start + run.end,
            best=span.start + run.start + int(np.argmax(chances)),
            value=run.value,
            share=float(evidence.shares[rows].sum()),
            relevance=evidence.chance(rows),
            relevances=tuple(chances.tolist()),
            tokens=run.tokens,
            queries=evidence.served_queries(rows),
            copies=evidence.copies(rows),
            similar_words=evidence.similar_words(rows),
        )

    def _check_limits(self, header_tokens: int) -> None:
        """Raise an error if chunks are worth taking but none of them fits into the limits."""
        options = self.options.segments
        is_worthy = self.values() > max(options.min_segment_value, self.charge(header_tokens))
        if not is_worthy.any():
            return
        shortest, longest = int(self.evidence.lengths[is_worthy].min()), options.max_segment_tokens
        if longest is not None and shortest > longest:
            raise OptionError(
                f"max_segment_tokens is {longest}; the shortest relevant chunk has {shortest}"
            )
        needed = shortest + header_tokens
        if needed > self.options.budget_tokens:
            raise SmallBudgetError(
                f"the token budget is {self.options.budget_tokens}; the shortest relevant chunk "
                f"with its header needs {needed}"
            )


_RETRIEVED = 200
"""Maximum number of ranked chunks per query in the published method."""


def extract_greedy(
    extractor: Extractor, options: PublishedOptions
) -> tuple[list[Segment], Segment | None, tuple[str, ...]]:
    """Return the segments of the published method that fit into the token budget.

    With a reranker, the retrieved chunks of a query are those that it scored, in the order of the
    scores, and their relevance is the published transform of the score. Without one, they are the
    candidates with the greatest shares. The presets assume that the best chunk has a score near 1,
    so relevance is then divided by the relevance of the best chunk; otherwise half of the questions
    would have no segments. Near-duplicates are left out. If a document was not read whole, each
    range that was read counts as a document.

    Returns:
        Segments in reading order; the best chunk as a guess if there are none; and a warning if
        segments of lower value did not fit.

    Raises:
        SmallBudgetError: If none of the segments fits into the budget.
    """
    from spanwise.core.extraction.published import extract_published

    evidence = extractor.evidence
    runs = extract_published(
        [_ranking(evidence, query) for query in range(len(evidence.questions))],
        _lengths_chars(evidence),
        options=options,
    )
    ranges = []
    for run in runs:
        first = int(evidence.starts[run.document])
        tokens = int(evidence.lengths[first + run.start : first + run.end].sum())
        place = Run(
            document=run.document, start=run.start, end=run.end, value=run.value, tokens=tokens
        )
        ranges.append(extractor.locate(place))
    if not ranges:
        return [], extractor.renderer.segments([extractor.guess()])[0], ()
    segments, left_out = _fitting(extractor, ranges)
    return segments, None, _warnings(left_out, extractor.options.budget_tokens)


def _ranking(evidence: Evidence, query: int) -> list[RankedChunk]:
    """Return the best chunks of a query, best first; ties go to the earlier row."""
    scored = evidence.scored[query]
    if scored is None:
        return []
    place = evidence.positions[query]
    if scored.reranker is None:
        rows = place[scored.candidates]
        relevances = evidence.relevances[query, rows]
        relevances = relevances / relevances.max(initial=1e-9)
        order = np.argsort(-scored.shares[scored.candidates], kind="stable")
    else:
        rows = place[scored.candidates[scored.reranker.at]]
        relevances = scored.reranker.relevances()
        order = np.lexsort((rows, -scored.reranker.scores))
    order = order[(evidence.copy_of[rows] == rows)[order]][:_RETRIEVED]
    places = [evidence.place(row) for row in rows[order].tolist()]
    return [
        (document, chunk, relevance)
        for (document, chunk), relevance in zip(places, relevances[order].tolist(), strict=True)
    ]


def _lengths_chars(evidence: Evidence) -> list[NDArray[np.int64]]:
    """Return the length in characters of each chunk of each range."""
    chars = np.zeros(len(evidence.lengths), dtype=np.int64)
    for _, scored, place in evidence.queries():
        chars[place] = scored.passages.chars
    return np.split(chars, evidence.starts[1:])


def _fitting(
    extractor: Extractor, ranges: Sequence[SegmentRange]
) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that fit, chosen by value, in reading order; and the others."""
    budget = remaining = extractor.options.budget_tokens
    # Upper bound: rendered together, the tag of the fence may be shorter.
    all_segments = extractor.renderer.segments(ranges)
    by_place = {(s.knowledge_base, s.document_id, s.first_chunk): s for s in all_segments}
    record = extractor.renderer.documents.record
    fitting: list[SegmentRange] = []
    left_out: list[Segment] = []
    for run in sorted(ranges, key=lambda run: (-run.value, run.handle, run.start)):
        document = record(run.handle)
        segment = by_place[document.knowledge_base, document.id, run.start]
        if segment.tokens <= remaining:
            fitting.append(run)
            remaining -= segment.tokens
        else:
            left_out.append(segment)
    if not fitting:
        needed = min(segment.tokens for segment in all_segments)
        raise SmallBudgetError(
            f"the token budget is {budget}; the shortest segment with its header needs {needed}"
        )
    return extractor.renderer.segments(fitting), left_out


def _warnings(left_out: Sequence[Segment], budget_tokens: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    places = ", ".join(
        f"{segment.document_id} characters {segment.start}-{segment.end} ({segment.tokens} tokens)"
        for segment in left_out
    )
    return (
        f"segments of least value that did not fit into {budget_tokens} tokens were left out: "
        f"{places}",
    )

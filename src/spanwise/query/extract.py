"""Choose segments among weighed chunks, exactly, so that they fit with their headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.segments import Run, chunk_values, extract_segments
from spanwise.errors import OptionError
from spanwise.query.present import Located, Presenter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.relevance import RelevanceModel
    from spanwise.options import SearchOptions
    from spanwise.query.weigh import Weighed
    from spanwise.types import Segment

__all__ = ["Extractor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """Chooses segments among the weighed chunks, so that they fit with their headers."""

    weighed: Weighed
    model: RelevanceModel
    options: SearchOptions
    lengths: NDArray[np.int64]
    presenter: Presenter

    def extract(self) -> tuple[list[Segment], Segment | None]:
        """Return the segments in reading order, or none and the best chunk as a guess.

        Headers differ from section to section, so that their length is known only when the
        segments are chosen: they are chosen again with the mean of what was found until they fit.
        """
        best = int(np.argmax(self.weighed.shares))
        relevance = self.model.relevance(self.weighed.shares)
        guess = self._located(self._run_of(best), relevance)
        header_tokens = self.presenter.overhead(guess)
        while True:
            runs = [self._located(run, relevance) for run in self._runs(best, header_tokens)]
            segments = self.presenter.segments(runs)
            total = sum(segment.tokens for segment in segments)
            if total <= self.options.budget_tokens:
                break
            extra = total - sum(run.tokens for run in runs)
            header_tokens = max(header_tokens + 1, -(-extra // len(runs)))
        if segments:
            return segments, None
        self._check_limits(header_tokens)
        return [], self.presenter.segments([guess])[0]

    def _runs(self, best: int, header_tokens: int) -> tuple[Run, ...]:
        """Return the runs worth most, of the ranges that were read."""
        options = self.options.segments
        values = self._values()
        edges = self.weighed.rows.starts[1:]
        is_worth = values[best] > 0 and values[best] >= options.min_segment_value
        return extract_segments(
            np.split(values, edges),
            np.split(self.lengths, edges),
            budget_tokens=self.options.budget_tokens,
            segment_charge=options.segment_charge,
            min_segment_value=options.min_segment_value,
            max_segment_tokens=options.max_segment_tokens,
            header_tokens=header_tokens,
            required=[self._place(best)] if is_worth else [],
        ).runs

    def _values(self) -> NDArray[np.float64]:
        options = self.options.segments
        return chunk_values(
            self.weighed.shares,
            self.lengths,
            penalty_share=self.model.share_at(options.irrelevant_chunk_penalty),
            reference_length_tokens=options.reference_length,
        )

    def _place(self, row: int) -> tuple[int, int]:
        """Return the range of a row and its position in it."""
        starts = self.weighed.rows.starts
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return at, row - int(starts[at])

    def _run_of(self, row: int) -> Run:
        at, position = self._place(row)
        return Run(
            document=at,
            start=position,
            end=position + 1,
            value=float(self.weighed.shares[row]),
            tokens=int(self.lengths[row]),
        )

    def _located(self, run: Run, relevance: NDArray[np.float64]) -> Located:
        """Return where a run of a range stands in its document."""
        span = self.weighed.ranges[run.document]
        first = int(self.weighed.rows.starts[run.document])
        inside = relevance[first + run.start : first + run.end]
        best = int(np.argmax(inside))
        return Located(
            handle=span.handle,
            start=span.start + run.start,
            end=span.start + run.end,
            best=span.start + run.start + best,
            value=run.value,
            relevance=float(inside[best]),
            tokens=run.tokens,
        )

    def _check_limits(self, header_tokens: int) -> None:
        """Raise if chunks are worth taking and none of them fits into the limits."""
        options = self.options.segments
        worth = self._values() > max(options.min_segment_value, 0.0)
        if not worth.any():
            return
        shortest, longest = int(self.lengths[worth].min()), options.max_segment_tokens
        if longest is not None and shortest > longest:
            raise OptionError(
                f"max_segment_tokens is {longest}; the shortest relevant chunk has {shortest}"
            )
        needed = shortest + header_tokens
        if needed > self.options.budget_tokens:
            raise OptionError(
                f"budget_tokens is {self.options.budget_tokens}; the shortest relevant chunk with "
                f"its header needs {needed}"
            )

"""Raw features of chunk ranges, read from the index parts of a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.arrays import distinct, find_places, run_indexes
from spanwise.core.ranking.bm25 import IMPACT_STEP
from spanwise.core.ranking.scan import PassageRange, Passages
from spanwise.core.ranking.vectors import cosines, quantise_rows
from spanwise.stores.dot_products import dot_table
from spanwise.stores.part import (
    PartRows,
    part_vectors,
    term_hashes,
)
from spanwise.stores.view import View, find_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part, Postings

_IMPACTS = (np.arange(256) * IMPACT_STEP).astype(np.float32)
_DIGITS = (np.arange(256) / 255).astype(np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Runs:
    """R runs of consecutive rows in one part, with their columns in the result."""

    part: Part
    starts: NDArray[np.int64]
    """First row of each run, (R,)."""
    lengths: NDArray[np.int64]
    """Number of rows of each run, (R,)."""
    targets: NDArray[np.int64]
    """Result column of the first row of each run, (R,)."""

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Row of each chunk, (n,)."""
        return run_indexes(self.starts, self.lengths)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Result column of each chunk, (n,)."""
        return run_indexes(self.targets, self.lengths)

    def are_disjoint(self) -> bool:
        order = np.argsort(self.starts)
        starts = self.starts[order]
        return bool((starts[1:] >= (starts + self.lengths[order])[:-1]).all())


def read_passages(
    view: View,
    ranges: Sequence[PassageRange],
    *,
    terms: Sequence[str],
    vectors: NDArray[np.float32],
) -> Passages:
    """Return the raw features of chunk ranges, clipped to the chunks of their documents.

    Args:
        view: Index view without missing documents.
        ranges: Chunk ranges to read.
        terms: T query terms.
        vectors: Query vectors, (m, dimension).

    Raises:
        DocumentNotFoundError: If the snapshot has no document with one of the handles.
        DamagedPartError: If postings or vectors do not match their checksums.
    """
    runs, total = _place_ranges(view, ranges)
    hashes = term_hashes(terms)
    queries, query_scales = quantise_rows(vectors)
    impacts = np.zeros((len(terms), total), dtype=np.float32)
    similarities = np.zeros((len(vectors), total), dtype=np.float32)
    digits = np.zeros(total, dtype=np.float32)
    chars = np.zeros(total, dtype=np.int64)
    tokens = np.zeros(total, dtype=np.int64)
    openings = np.zeros(total, dtype=bool)
    for run in runs:
        rows, columns = run.rows, run.columns
        _fill_impacts(impacts, run, hashes)
        digits[columns] = _DIGITS[run.part.digits[rows]]
        chars[columns] = run.part.chars[rows]
        tokens[columns] = run.part.tokens[rows]
        openings[columns] = run.part.openings[rows]
    read = part_vectors([PartRows(run.part, run.rows) for run in runs]) if len(queries) else []
    for run, gathered in zip(runs, read, strict=False):
        scales = run.part.scales[run.rows]
        dots = dot_table(gathered, queries)
        similarities[:, run.columns] = cosines(dots, scales, query_scale=query_scales[:, None])
    return Passages(
        impacts=impacts,
        similarities=similarities,
        digits=digits,
        chars=chars,
        tokens=tokens,
        openings=openings,
    )


def _place_ranges(view: View, ranges: Sequence[PassageRange]) -> tuple[list[_Runs], int]:
    """Return the runs of rows in each part for some chunk ranges, and the total number of rows."""
    positions = find_positions(view, [r.handle for r in ranges])
    sizes = view.live.chunks[positions]
    bounds = np.array([[r.start for r in ranges], [r.end for r in ranges]], dtype=np.int64)
    firsts, ends = np.minimum(np.maximum(bounds, 0), sizes)
    lengths = np.maximum(ends - firsts, 0)
    targets = np.cumsum(lengths) - lengths
    owners, ordinals = view.part_of[positions], view.ordinals[positions]
    runs = []
    for owner in distinct(owners).tolist():
        here = np.flatnonzero(owners == owner)
        part = view.parts[owner].part
        runs.append(
            _Runs(
                part=part,
                starts=part.starts[ordinals[here]] + firsts[here],
                lengths=lengths[here],
                targets=targets[here],
            )
        )
    return runs, int(lengths.sum())


_SHORT_LIST = 8_192  # postings; longer lists are searched, which is faster than reading them


def _fill_impacts(impacts: NDArray[np.float32], runs: _Runs, hashes: NDArray[np.uint64]) -> None:
    """Write the impacts of terms in some rows into an array of zeros."""
    postings: Postings = runs.part.body
    places = find_places(postings.terms, hashes)
    runs.part.check_terms(places.tolist())
    held = np.flatnonzero(places >= 0)
    firsts = postings.ends[places[held]]
    lengths = postings.ends[places[held] + 1] - firsts
    short = (lengths <= _SHORT_LIST) & runs.are_disjoint()
    _fill_short(impacts, runs, held[short], firsts[short], lengths[short])
    # The search keys get the type of the postings; otherwise numpy converts all postings.
    starts = runs.starts.astype(postings.rows.dtype)
    ends = (runs.starts + runs.lengths).astype(postings.rows.dtype)
    for t, first, length in zip(held[~short], firsts[~short], lengths[~short], strict=True):
        rows = postings.rows[first : first + length]
        low = np.searchsorted(rows, starts)
        counts = np.searchsorted(rows, ends) - low
        runs_with_term = np.flatnonzero(counts)
        if not len(runs_with_term):
            continue
        indexes = run_indexes(low[runs_with_term], counts[runs_with_term])
        shift = np.repeat((runs.targets - runs.starts)[runs_with_term], counts[runs_with_term])
        impacts[t, rows[indexes] + shift] = _IMPACTS[postings.impacts[first + indexes]]


def _fill_short(
    impacts: NDArray[np.float32],
    runs: _Runs,
    terms: NDArray[np.int64],
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> None:
    """Write the impacts of all terms with short lists of postings at once.

    Args:
        impacts: Array to write into.
        runs: Rows to read, without overlaps.
        terms: Index of each term in `impacts`, (T,).
        firsts: First posting of each term, (T,).
        lengths: Number of postings of each term, (T,).
    """
    if not len(terms):
        return
    postings = runs.part.body
    column_of = np.full(int(runs.part.starts[-1]), -1, dtype=np.int32)
    column_of[runs.rows] = runs.columns
    ends = firsts + lengths
    lists = [postings.rows[a:b] for a, b in zip(firsts.tolist(), ends.tolist(), strict=True)]
    columns = column_of.take(np.concatenate(lists))
    inside = np.flatnonzero(columns >= 0)
    list_ends = np.cumsum(lengths)
    owners = np.searchsorted(list_ends, inside, side="right")
    indexes = inside + (ends - list_ends)[owners]
    impacts[terms[owners], columns[inside]] = _IMPACTS[postings.impacts[indexes]]

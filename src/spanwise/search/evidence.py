"""Find chunks with nearly the same text among those that a question would show.

What was found for all queries of one question, united over the chunks that were read.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.duplicates import (
    TextFingerprint,
    are_near_duplicates,
    candidate_pairs,
    deduplicate_shares,
    find_representatives,
    term_keys,
)
from spanwise.core.ranking.scan import PassageRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.search.scoring import QueryHits, ScoredChunks
    from spanwise.search.token_counter import TokenCounter
    from spanwise.stores.port import Snapshot

_SHOWN = 0.05  # of the greatest share: chunks below hardly come to be shown
_MOST_SHOWN = 128
_MOST_COMPARED = 2_000


def find_near_duplicates(
    scored: Sequence[ScoredChunks | None],
    positions: Sequence[NDArray[np.int64]],
    *,
    shares: NDArray[np.float64],
    ranges: Sequence[PassageRange],
    snapshot: Snapshot,
) -> NDArray[np.int64]:
    """Return the row that stands for each row of the union, (n,): its own where it has no copy.

    Texts are read of such chunks alone that look alike to one of the queries, and that none tells
    apart.

    Args:
        scored: What each query found.
        positions: Row of the union of each row of each query.
        shares: Of the union, (n,).
        ranges: Of the union.
        snapshot: Where the texts stand.
    """
    shown = np.zeros(len(shares), dtype=bool)
    shown[np.argsort(-shares, kind="stable")[:_MOST_SHOWN]] = True
    shown &= shares >= _SHOWN * shares.max()
    pairs: set[tuple[int, int]] = set()
    for found, place in zip(scored, positions, strict=True):
        if found is not None:
            pairs.update(_alike(found, place, shown))
    if not pairs:
        return np.arange(len(shares))
    together = np.array(sorted(pairs), dtype=np.int64)
    for found, place in zip(scored, positions, strict=True):
        if found is not None:
            together = together[~_told_apart(found, place, together, rows=len(shares))]
    by_share = np.argsort(-shares[together[:, 0]], kind="stable")
    copies = _compared(together[by_share].tolist(), _Marks(ranges, snapshot))
    sizes = [span.end - span.start for span in ranges]
    handles = np.repeat([span.handle for span in ranges], sizes)
    _, documents = np.unique(handles, return_inverse=True)
    return find_representatives(copies, shares=shares, documents=documents)


def _alike(
    found: ScoredChunks, place: NDArray[np.int64], shown: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return pairs of rows of the union that look alike to one query."""
    rows = found.candidates
    pairs = candidate_pairs(
        found.passages, rows, found.rows.documents[rows], shown=shown[place[rows]]
    )
    return [(int(place[rows[one]]), int(place[rows[other]])) for one, other in pairs]


def _told_apart(
    found: ScoredChunks, place: NDArray[np.int64], pairs: NDArray[np.int64], *, rows: int
) -> NDArray[np.bool_]:
    """Return which pairs of rows of the union a query read both of and found other terms in."""
    own = np.full(rows, -1, dtype=np.int64)
    own[place] = np.arange(len(place))
    keys = term_keys(found.passages.impacts)
    one, other = own[pairs].T
    return np.asarray((one >= 0) & (other >= 0) & (keys[one] != keys[other]))


def _compared(pairs: Sequence[tuple[int, int]], marks: _Marks) -> list[tuple[int, int]]:
    """Return those of some pairs that are copies, but for what follows from those before."""
    copies: list[tuple[int, int]] = []
    same_as: dict[int, int] = {}
    compared = 0
    for one, other in pairs:
        if same_as.get(one, one) == same_as.get(other, other):
            continue
        if compared == _MOST_COMPARED:
            break
        compared += 1
        if are_near_duplicates(marks[one], marks[other]):
            copies.append((one, other))
            same_as[other] = same_as.setdefault(one, one)
    return copies


class _Marks(dict[int, TextFingerprint]):
    """Marks of the texts of rows, read when they are first asked for."""

    def __init__(self, ranges: Sequence[PassageRange], snapshot: Snapshot) -> None:
        super().__init__()
        self._ranges = ranges
        self._starts = np.cumsum([0] + [span.end - span.start for span in ranges])
        self._snapshot = snapshot

    def __missing__(self, row: int) -> TextFingerprint:
        at = int(np.searchsorted(self._starts, row, side="right")) - 1
        span = self._ranges[at]
        chunk = span.start + row - int(self._starts[at])
        (read,) = self._snapshot.chunks(span.handle, chunk, chunk + 1)
        self[row] = TextFingerprint.of(read.text)
        return self[row]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The chunks that were read for a question of q queries: n rows in r ranges."""

    questions: tuple[Question, ...]
    """The queries, with the terms that were searched by, (q,)."""
    scored: tuple[ScoredChunks | None, ...]
    """What each query found, None where nothing in scope could hold evidence for it, (q,)."""
    positions: tuple[NDArray[np.int64], ...]
    """Row of the union of each row of each query, (q,)."""
    ranges: tuple[PassageRange, ...]
    """Disjoint, not touching, by handle and then by start, (r,)."""
    starts: NDArray[np.int64]
    """First row of each range, (r,)."""
    lengths: NDArray[np.int64]
    """Tokens of each chunk for the reader, (n,)."""
    relevances: NDArray[np.float64]
    """Chance that a chunk holds evidence for each query, (q, n)."""
    relevance: NDArray[np.float64]
    """Chance that it holds evidence for any of them, `1 - product(1 - p)`, (n,)."""
    shares: NDArray[np.float64]
    """Share of each chunk: of one query as it is, of several as the united relevance wants it.

    A text counts once: the chunk that stands for its copies has the shares of all.
    """
    copy_of: NDArray[np.int64]
    """Row that stands for a chunk with nearly the same text; its own where there is none, (n,)."""

    @property
    def candidates(self) -> int:
        """How many chunks were scored for at least one query."""
        scored = np.zeros(len(self.shares), dtype=bool)
        for found, place in zip(self.scored, self.positions, strict=True):
            if found is not None:
                scored[place[found.candidates]] = True
        return int(np.count_nonzero(scored))

    def place(self, row: int) -> tuple[int, int]:
        """Return the range of a row and its position in it."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return at, row - int(self.starts[at])

    def best_rows(self) -> list[int]:
        """Return the best row of each query that found something, that of a copy's original."""
        return [int(self.copy_of[row]) for row in _best_rows(self.scored, self.positions)]

    def best_share(self, reference_length: int) -> float:
        """Return the share of the best chunk; of a longer one, that of so many of its tokens.

        Of several queries, that of the one whose best chunk has least: each keeps its best.
        """
        rows = np.array(self.best_rows())
        parts = reference_length / np.maximum(self.lengths[rows], reference_length)
        return float((self.shares[rows] * parts).min())

    def served_queries(self, rows: NDArray[np.int64], *, least: float) -> tuple[int, ...]:
        """Return the queries that some rows hold evidence for, ascending; at least one.

        A query is served by its best chunk, and by rows with more than `least` of its share.
        """
        if len(self.scored) == 1:
            return (0,)
        held = np.array(
            [
                0.0 if found is None else found.shares[np.isin(place, rows)].sum()
                for found, place in zip(self.scored, self.positions, strict=True)
            ]
        )
        best = dict(zip(self._answered(), self.best_rows(), strict=True))
        inside = set(rows.tolist())
        served = [
            number
            for number, share in enumerate(held.tolist())
            if share > least or best.get(number) in inside
        ]
        return tuple(served) or (int(np.argmax(held)),)

    def copies(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Return other documents with copies of rows of one document, as handles, ascending."""
        others = np.flatnonzero(self.copy_of != np.arange(len(self.copy_of)))
        if not len(others):
            return ()
        others = others[np.isin(self.copy_of[others], rows)]
        handles = {self.ranges[self.place(row)[0]].handle for row in others.tolist()}
        return tuple(sorted(handles - {self.ranges[self.place(int(rows[0]))[0]].handle}))

    def _answered(self) -> list[int]:
        return [number for number, found in enumerate(self.scored) if found is not None]


def merge_evidence(
    searched: Sequence[QueryHits],
    *,
    snapshot: Snapshot,
    model: RelevanceModel,
    token_counter: TokenCounter,
) -> Evidence | None:
    """Return what all queries found, or None where nothing in scope could hold evidence."""
    questions = tuple(one.question for one in searched)
    scored = tuple(one.scored for one in searched)
    if all(found is None for found in scored):
        return None
    ranges = _united([span for found in scored if found is not None for span in found.ranges])
    sizes = np.array([span.end - span.start for span in ranges], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    positions = tuple(_positions(found, ranges, starts) for found in scored)
    tokens, chars = (np.zeros(int(sizes.sum()), dtype=np.int64) for _ in range(2))
    relevances = np.zeros((len(scored), len(tokens)))
    for number, (found, place) in enumerate(zip(scored, positions, strict=True)):
        if found is not None:
            tokens[place] = found.passages.tokens
            chars[place] = found.passages.chars
            relevances[number, place] = model.relevance(found.shares)
    shares, relevance = _shares(scored, positions, relevances, model)
    copy_of = np.arange(len(shares))
    if not any(
        question.compares for question in questions
    ):  # which wants each document's own words
        copy_of = find_near_duplicates(
            scored, positions, shares=shares, ranges=ranges, snapshot=snapshot
        )
    return Evidence(
        questions=questions,
        scored=scored,
        positions=positions,
        ranges=ranges,
        starts=starts,
        lengths=token_counter.chunks(tokens, chars, ranges, snapshot),
        relevances=relevances,
        relevance=relevance,
        shares=deduplicate_shares(
            shares, copy_of, starts=starts, kept=_best_rows(scored, positions)
        ),
        copy_of=copy_of,
    )


def _shares(
    scored: Sequence[ScoredChunks | None],
    positions: Sequence[NDArray[np.int64]],
    relevances: NDArray[np.float64],
    model: RelevanceModel,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shares and relevance of the union, (n,) each."""
    if len(scored) == 1 and scored[0] is not None:
        shares = np.zeros(relevances.shape[1])
        shares[positions[0]] = scored[0].shares
        return shares, relevances[0]
    missed = np.ones(relevances.shape[1])
    for row in relevances:  # in this order on every machine
        missed *= 1 - row
    return model.shares_at(1 - missed), 1 - missed


def _best_rows(
    scored: Sequence[ScoredChunks | None], positions: Sequence[NDArray[np.int64]]
) -> list[int]:
    """Return the row of the union that each query finds best, of those that found something."""
    return [
        int(place[np.argmax(found.shares)])
        for found, place in zip(scored, positions, strict=True)
        if found is not None
    ]


def _united(ranges: Sequence[PassageRange]) -> tuple[PassageRange, ...]:
    """Return the union of ranges, by handle and then by start; what touches is joined."""
    united: list[PassageRange] = []
    for span in sorted(ranges, key=lambda span: (span.handle, span.start)):
        last = united[-1] if united else None
        if last is not None and last.handle == span.handle and span.start <= last.end:
            united[-1] = PassageRange(last.handle, last.start, max(last.end, span.end))
        else:
            united.append(span)
    return tuple(united)


def _positions(
    found: ScoredChunks | None, ranges: Sequence[PassageRange], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row of the union of each row of one query."""
    if found is None:
        return np.zeros(0, dtype=np.int64)
    parts = []
    keys = [(span.handle, span.start) for span in ranges]
    for span in found.ranges:
        at = bisect_right(keys, (span.handle, span.start)) - 1
        first = int(starts[at]) + span.start - ranges[at].start
        parts.append(np.arange(first, first + span.end - span.start, dtype=np.int64))
    return np.concatenate(parts)

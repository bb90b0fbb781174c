"""Find chunks with nearly the same text among those that a question would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.duplicates import (
    TextMarks,
    alike_pairs,
    are_copies,
    originals,
    term_keys,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.scan import PassageRange
    from spanwise.ports import Snapshot
    from spanwise.query.weigh import Weighed

__all__ = ["find_copies"]

_SHOWN = 0.05  # of the greatest share: chunks below hardly come to be shown
_MOST_SHOWN = 128
_MOST_COMPARED = 2_000


def find_copies(
    weighed: Sequence[Weighed | None],
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
        weighed: What each query found.
        positions: Row of the union of each row of each query.
        shares: Of the union, (n,).
        ranges: Of the union.
        snapshot: Where the texts stand.
    """
    shown = np.zeros(len(shares), dtype=bool)
    shown[np.argsort(-shares, kind="stable")[:_MOST_SHOWN]] = True
    shown &= shares >= _SHOWN * shares.max()
    pairs: set[tuple[int, int]] = set()
    for found, place in zip(weighed, positions, strict=True):
        if found is not None:
            pairs.update(_alike(found, place, shown))
    if not pairs:
        return np.arange(len(shares))
    together = np.array(sorted(pairs), dtype=np.int64)
    for found, place in zip(weighed, positions, strict=True):
        if found is not None:
            together = together[~_told_apart(found, place, together, rows=len(shares))]
    by_share = np.argsort(-shares[together[:, 0]], kind="stable")
    copies = _compared(together[by_share].tolist(), _Marks(ranges, snapshot))
    sizes = [span.end - span.start for span in ranges]
    handles = np.repeat([span.handle for span in ranges], sizes)
    _, documents = np.unique(handles, return_inverse=True)
    return originals(copies, shares=shares, documents=documents)


def _alike(
    found: Weighed, place: NDArray[np.int64], shown: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return pairs of rows of the union that look alike to one query."""
    rows = found.candidates
    pairs = alike_pairs(found.passages, rows, found.rows.documents[rows], shown=shown[place[rows]])
    return [(int(place[rows[one]]), int(place[rows[other]])) for one, other in pairs]


def _told_apart(
    found: Weighed, place: NDArray[np.int64], pairs: NDArray[np.int64], *, rows: int
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
        if are_copies(marks[one], marks[other]):
            copies.append((one, other))
            same_as[other] = same_as.setdefault(one, one)
    return copies


class _Marks(dict[int, TextMarks]):
    """Marks of the texts of rows, read when they are first asked for."""

    def __init__(self, ranges: Sequence[PassageRange], snapshot: Snapshot) -> None:
        super().__init__()
        self._ranges = ranges
        self._starts = np.cumsum([0] + [span.end - span.start for span in ranges])
        self._snapshot = snapshot

    def __missing__(self, row: int) -> TextMarks:
        at = int(np.searchsorted(self._starts, row, side="right")) - 1
        span = self._ranges[at]
        chunk = span.start + row - int(self._starts[at])
        (read,) = self._snapshot.chunks(span.handle, chunk, chunk + 1)
        self[row] = TextMarks.of(read.text)
        return self[row]

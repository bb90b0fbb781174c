"""Find chunks with nearly the same text among those that a question would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.duplicates import TextMarks, alike_pairs, are_copies, originals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.scan import PassageRange
    from spanwise.ports import Snapshot
    from spanwise.query.weigh import Weighed

__all__ = ["find_copies"]

_SHOWN = 0.05  # of the greatest share: chunks below hardly come to be shown
_MOST_SHOWN = 128
_MOST_PAIRS = 2_000


def find_copies(
    weighed: Sequence[Weighed | None],
    positions: Sequence[NDArray[np.int64]],
    *,
    shares: NDArray[np.float64],
    ranges: Sequence[PassageRange],
    snapshot: Snapshot,
) -> NDArray[np.int64]:
    """Return the row that stands for each row of the union, (n,): its own where it has no copy.

    Texts are read of such chunks alone that look alike to one of the queries.

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
    first_pairs = sorted(pairs, key=lambda pair: (-shares[pair[0]], pair))[:_MOST_PAIRS]
    marks = _Marks(ranges, snapshot)
    copies = [(one, other) for one, other in first_pairs if are_copies(marks[one], marks[other])]
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

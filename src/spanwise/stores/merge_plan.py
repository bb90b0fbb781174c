"""Plan of the merges of index parts, shared by all stores that keep parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.stores.merge import MergeSource, merge_parts
from spanwise.stores.view import locate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part
    from spanwise.stores.view import LiveDocuments, View

MAX_GONE_SHARE = 0.3
"""Share of chunks of deleted documents from which on a part is written again."""

_BATCH_ROWS = 50_000  # chunks written to one part
_MAX_PART_ROWS = 150_000
_MERGE_RATIO = 3  # neighbours are merged while the older one has fewer rows than ratio * newer


class MergeGroup(NamedTuple):
    """Adjacent sources that become one part. The file of a single source may be reused."""

    sources: tuple[MergeSource, ...]
    name: str
    rows: int
    """Number of chunks of live documents."""
    gone_share: float
    """Share of chunks that belong to deleted documents, in [0, 1]."""


def first_run(on_disk: View) -> NDArray[np.int64]:
    """Return the positions of the next consecutive documents to write, up to the batch size."""
    missing = on_disk.missing
    gaps = np.flatnonzero(np.diff(missing) != 1)
    run = missing[: gaps[0] + 1] if len(gaps) else missing
    rows = np.cumsum(on_disk.live.chunks[run])
    return run[: max(1, int(np.searchsorted(rows, _BATCH_ROWS, side="right")))]


def make_group(sources: tuple[MergeSource, ...], name: str) -> MergeGroup:
    """Return the group of some sources.

    Args:
        sources: Sources, ascending by document number.
        name: Name of the stored part if the group is one stored part, otherwise empty.
    """
    rows = sum(int(np.diff(s.part.starts)[s.kept].sum()) for s in sources)
    all_rows = sum(s.part.rows for s in sources)
    return MergeGroup(sources, name, rows, 1 - rows / max(1, all_rows))


def merge_groups(on_disk: View, sources: Sequence[MergeSource]) -> list[MergeGroup]:
    """Return a group for each file with live documents and for the pending documents, in order."""
    groups = [
        make_group((MergeSource(entry.part, entry.used),), name)
        for name, entry in zip(on_disk.manifest_parts, on_disk.parts, strict=True)
        if entry.used.any()
    ]
    if sources:
        groups.append(make_group(tuple(sources), ""))
    return sorted(groups, key=_first_number)


def _first_number(group: MergeGroup) -> int:
    source = group.sources[0]
    return int(source.part.numbers[np.argmax(source.kept)])


def _last_number(group: MergeGroup) -> int:
    source = group.sources[-1]
    return int(source.part.numbers[np.flatnonzero(source.kept)[-1]])


def plan_merges(groups: list[MergeGroup], *, compact: bool) -> list[MergeGroup]:
    """Return the groups after merging adjacent ones, from the last to the first.

    Only groups of similar size are merged, so a row is rewritten at most a logarithmic number of
    times in the number of rows.
    """
    planned = list(groups)
    place = len(planned) - 2
    while place >= 0:
        left, right = planned[place], planned[place + 1]
        fits = left.rows + right.rows <= _MAX_PART_ROWS
        in_order = _last_number(left) < _first_number(right)
        if fits and in_order and (compact or left.rows < _MERGE_RATIO * right.rows):
            planned[place : place + 2] = [make_group((*left.sources, *right.sources), "")]
            place = min(place, len(planned) - 2)
        else:
            place -= 1
    return planned


def merge_small(delta: Sequence[Part], live: LiveDocuments) -> tuple[Part, ...]:
    """Merge small adjacent parts in memory, to bound their number."""
    merged: list[Part] = []
    for part in delta:
        merged.append(part)
        while len(merged) > 1 and merged[-2].rows < 2 * merged[-1].rows:
            pair = locate(live, merged[-2:], manifest_parts=()).parts
            if not _in_order(
                pair[0].part.numbers[pair[0].used], pair[1].part.numbers[pair[1].used]
            ):
                break
            merged[-2:] = [merge_parts([MergeSource(entry.part, entry.used) for entry in pair])]
    return tuple(merged)


def _in_order(first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    return not len(first) or not len(second) or bool(first[-1] < second[0])

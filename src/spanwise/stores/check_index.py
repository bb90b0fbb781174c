"""Check the derived index against `truth.db`, and throw away what differs.

Every part is compared with its checksums, with the documents that live, and with what would be
built of these documents now: all of a small part, documents spread evenly over a larger one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.errors import FormatError
from spanwise.stores.check import found
from spanwise.stores.manifest import (
    MANIFEST_NAME,
    Manifest,
    is_outdated,
)
from spanwise.stores.merge import Source, merge_parts
from spanwise.stores.part import Part
from spanwise.stores.part_file import open_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.index import Index
    from spanwise.types import CheckFinding

__all__ = ["CheckedIndex", "check_index"]

_SAMPLE_ROWS = 3_000  # built again of each part
_PART_ADVICE = "searches miss what it holds, or read it wrongly, until a repair makes it anew"


@dataclass(slots=True)
class CheckedIndex:
    """What was looked at."""

    parts: int = 0
    chunks: int = 0
    pending_chunks: int = 0
    unreadable: frozenset[int] = frozenset()
    """Numbers of documents that are damaged themselves, which no part is compared with."""
    damaged: list[str] = field(default_factory=list)
    """Names of parts that are to be made anew."""


def check_index(
    index: Index, connection: sqlite3.Connection, manifest: Manifest, checked: CheckedIndex
) -> Iterator[CheckFinding]:
    """Yield what is wrong with the index; searches are right again once it is made anew.

    Args:
        index: The index.
        connection: Inside a read transaction that began after the manifest was read.
        manifest: What it says now.
        checked: Counts, and names of damaged parts, to add to.
    """
    problem = _manifest_problem(index, connection, manifest)
    if problem:
        checked.damaged += manifest.parts
        checked.pending_chunks = int(index.living(connection).chunks.sum())
        yield found("manifest", f"{problem}; a repair makes the index anew")
        return
    living = index.living(connection)
    held = np.zeros(len(living.numbers), dtype=bool)
    for name in manifest.parts:
        checked.parts += 1
        try:
            part = open_part(index.folder / name)
            part.check_all()
            problem, positions = _part_problem(index, connection, part, checked)
        except FileNotFoundError:
            problem = "it is missing"
        except (OSError, FormatError, ValueError, IndexError, KeyError) as error:
            problem = f"it is damaged ({error})"
        if problem:
            checked.damaged.append(name)
            yield found("part", f"index part {name}: {problem}; {_PART_ADVICE}")
        else:
            held[positions] = True
    checked.pending_chunks = int(living.chunks[~held].sum())


def _manifest_problem(index: Index, connection: sqlite3.Connection, manifest: Manifest) -> str:
    path = index.folder / MANIFEST_NAME
    if manifest == Manifest():
        if is_outdated(index.folder):  # after an update of Spanwise or of the stemmers
            return ""
        if path.exists():
            return f"{path} is damaged"
        if any(index.folder.glob("*.part")):
            return f"{path} is missing, and there are index parts that only it can name"
        return ""
    row = connection.execute(
        "select hex(stamp) from change where seq = ?", (manifest.seq,)
    ).fetchone()
    if row is None or row[0] != manifest.stamp:
        return f"{path} belongs to another history of truth.db"
    return ""


def _part_problem(
    index: Index, connection: sqlite3.Connection, part: Part, checked: CheckedIndex
) -> tuple[str, NDArray[np.int64]]:
    """Return what is wrong with a part, and the positions of the living documents that it holds."""
    living = index.living(connection)
    nothing = np.empty(0, dtype=np.int64)
    if (np.diff(part.numbers) <= 0).any() or len(part.starts) != len(part.numbers) + 1:
        return "its documents are not in order", nothing
    lives = np.isin(part.numbers, living.numbers)
    positions = np.searchsorted(living.numbers, part.numbers[lives])
    comparable = lives & ~np.isin(part.numbers, list(checked.unreadable))
    counts = np.diff(part.starts)[comparable]
    if (counts != living.chunks[positions[comparable[lives]]]).any():
        return "it holds documents with other numbers of chunks than they have", nothing
    sample = _spread(np.flatnonzero(comparable), np.diff(part.starts))
    if len(sample):
        kept = np.zeros(part.documents, dtype=bool)
        kept[sample] = True
        expected = merge_parts(
            [Source(p, np.ones(p.documents, dtype=bool))
             for p in index.build(connection, part.numbers[sample], rows=_SAMPLE_ROWS)]
        )  # fmt: skip
        differing = _differing(merge_parts([Source(part, kept)]), expected)
        if differing:
            return f"{', '.join(differing)} are not those of its documents", nothing
        checked.chunks += expected.rows
    return "", positions


def _spread(ordinals: NDArray[np.int64], chunks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return documents evenly spread over a part, with some `_SAMPLE_ROWS` chunks together."""
    rows = int(chunks[ordinals].sum())
    step = max(1, -(-rows // _SAMPLE_ROWS))
    return ordinals[::step]


def _differing(part: Part, expected: Part) -> list[str]:
    """Return the names of the arrays that differ."""
    pairs: list[tuple[str, Any, Any]] = []
    for one, other in ((part, expected), (part.body, expected.body)):
        pairs += [(f.name, getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    return [
        name
        for name, one, other in pairs
        if isinstance(one, np.ndarray) and not np.array_equal(one, other)
    ]

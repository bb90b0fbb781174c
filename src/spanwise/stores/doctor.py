"""Integrity check of a whole knowledge base, and repair of its derived data.

`truth.db` is read first, in one transaction. The index is checked under its write lock, so that no
part is removed during the check. Every part is compared with its checksums, with the live
documents, and with a part that is rebuilt from the documents: from all documents of a small part,
or from a sample of a large one.

A repair discards damaged index data and rebuilds it from `truth.db`. It never changes a damaged
document; the finding describes how to restore it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.errors import FormatError, StoreError
from spanwise.stores.check import (
    CheckCounts,
    check_database,
    check_documents,
    delete_orphans,
    make_finding,
)
from spanwise.stores.connections import cancellable
from spanwise.stores.flush import flush_pending
from spanwise.stores.manifest import MANIFEST_NAME, Manifest, drop_parts, is_outdated, read_manifest
from spanwise.stores.merge import MergeSource, merge_parts
from spanwise.stores.outputs import delete_damaged_outputs
from spanwise.stores.part import Part, open_part
from spanwise.threads import check_cancelled
from spanwise.types import CheckReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.index import Index
    from spanwise.stores.view import LiveDocuments
    from spanwise.types import CheckFinding

SAMPLE_ROWS = 3_000
"""Number of chunks of a part that are built again, for comparison."""
PART_ADVICE = "searches miss its documents or score them wrongly until a repair rebuilds it"
"""Consequence of a damaged part, for messages."""


@dataclass(slots=True)
class IndexCheck:
    """Counts and damaged parts of an index check."""

    parts: int = 0
    chunks: int = 0
    pending_chunks: int = 0
    unreadable: frozenset[int] = frozenset()
    """Numbers of damaged documents, which are not compared with index parts."""
    damaged: list[str] = field(default_factory=list)
    """File names of parts to rebuild."""


def check_index(
    index: Index, connection: sqlite3.Connection, manifest: Manifest, checked: IndexCheck
) -> Iterator[CheckFinding]:
    """Yield the defects of the index, which a repair can rebuild.

    Args:
        index: Index of the knowledge base.
        connection: Connection inside a read transaction that began after the manifest was read.
        manifest: Current manifest.
        checked: Counts and damaged parts, to which those of the index are added.
    """
    problem = _manifest_problem(index, connection, manifest)
    if problem:
        checked.damaged += manifest.parts
        checked.pending_chunks = int(index.live_documents(connection).chunks.sum())
        yield make_finding("manifest", f"{problem}; a repair rebuilds the index")
        return
    live = index.live_documents(connection)
    is_indexed = np.zeros(len(live.numbers), dtype=bool)
    for name in manifest.parts:
        check_cancelled()
        checked.parts += 1
        try:
            part = open_part(index.folder / name)
            part.check_all()
            problem, positions = part_problem(
                part,
                live,
                lambda numbers: index.build(connection, numbers, rows=SAMPLE_ROWS),
                checked,
            )
        except FileNotFoundError:
            problem = "it is missing"
        except (OSError, FormatError, ValueError, IndexError, KeyError) as error:
            problem = f"it is damaged ({error})"
        if problem:
            checked.damaged.append(name)
            yield make_finding("part", f"index part {name}: {problem}; {PART_ADVICE}")
        else:
            is_indexed[positions] = True
    checked.pending_chunks = int(live.chunks[~is_indexed].sum())


def _manifest_problem(index: Index, connection: sqlite3.Connection, manifest: Manifest) -> str:
    path = index.folder / MANIFEST_NAME
    if manifest == Manifest():
        if is_outdated(index.folder):  # after an update of Spanwise or its stemmers
            return ""
        if path.exists():
            return f"{path} is damaged"
        if any(index.folder.glob("*.part")):
            return f"{path} is missing, so the existing index parts are unknown"
        return ""
    row = connection.execute(
        "select hex(stamp) from change where seq = ?", (manifest.seq,)
    ).fetchone()
    if row is None or row[0] != manifest.stamp:
        return f"{path} belongs to another truth.db or to another backup of it"
    return ""


def part_problem(
    part: Part,
    live: LiveDocuments,
    build: Callable[[NDArray[np.int64]], list[Part]],
    checked: IndexCheck,
) -> tuple[str, NDArray[np.int64]]:
    """Return the defect of a part, and the positions of its live documents.

    Args:
        part: Part with all its arrays.
        live: Live documents.
        build: Function that builds parts of the documents with some numbers.
        checked: Counts, to which the compared chunks are added.
    """
    nothing = np.empty(0, dtype=np.int64)
    if (np.diff(part.numbers) <= 0).any() or len(part.starts) != len(part.numbers) + 1:
        return "its documents are not in order", nothing
    lives = np.isin(part.numbers, live.numbers)
    positions = np.searchsorted(live.numbers, part.numbers[lives])
    comparable = lives & ~np.isin(part.numbers, list(checked.unreadable))
    counts = np.diff(part.starts)[comparable]
    if (counts != live.chunks[positions[comparable[lives]]]).any():
        return "its documents have other numbers of chunks in truth.db", nothing
    sample = _spread(np.flatnonzero(comparable), np.diff(part.starts))
    if len(sample):
        sampled = np.zeros(part.documents, dtype=bool)
        sampled[sample] = True
        expected = merge_parts(
            [MergeSource(p, np.ones(p.documents, dtype=bool))
             for p in build(part.numbers[sample])]
        )  # fmt: skip
        differing = _differing(merge_parts([MergeSource(part, sampled)]), expected)
        if differing:
            return f"{', '.join(differing)} do not match its documents", nothing
        checked.chunks += expected.rows
    return "", positions


def _spread(ordinals: NDArray[np.int64], chunks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an even sample of a part's documents, with about `SAMPLE_ROWS` chunks in total."""
    rows = int(chunks[ordinals].sum())
    step = max(1, -(-rows // SAMPLE_ROWS))
    return ordinals[::step]


def _differing(part: Part, expected: Part) -> list[str]:
    """Return the names of the arrays in which two parts differ."""
    pairs: list[tuple[str, Any, Any]] = []
    for left, right in (
        (part, expected),
        (part.body, expected.body),
        (part.words, expected.words),
    ):
        pairs += [(f.name, getattr(left, f.name), getattr(right, f.name)) for f in fields(left)]
    return [
        name
        for name, left, right in pairs
        if isinstance(left, np.ndarray) and not np.array_equal(left, right)
    ]


def check_store(index: Index, *, path: Path, repair: bool) -> CheckReport:
    """Return the report of a check of a knowledge base.

    Args:
        index: Index with the connections to `truth.db`.
        path: Folder of the knowledge base.
        repair: Whether to delete orphaned rows and damaged model outputs, and to rebuild damaged
            parts of the index.

    Raises:
        StoreBusyError: If another process writes the index for too long.
        StoreError: If the index cannot be written.
    """
    started = time.perf_counter()
    checked = CheckCounts()
    findings = _check_documents(index, checked)
    if repair and not _is_broken(findings):
        findings = [
            replace(finding, repaired=True) if _delete_damage(index, finding) else finding
            for finding in findings
        ]
    parts = IndexCheck(unreadable=frozenset(checked.damaged))
    if not _is_broken(findings) and index.folder.exists():
        findings += _check_index(index, parts, repair=repair)
    return CheckReport(
        path=str(path),
        documents=checked.documents,
        chunks=checked.chunks,
        chars=checked.chars,
        index_parts=parts.parts,
        index_chunks=parts.chunks,
        pending_chunks=parts.pending_chunks,
        findings=tuple(findings),
        seconds=time.perf_counter() - started,
    )


def _is_broken(findings: Sequence[CheckFinding]) -> bool:
    """Return whether the damage is so severe that the index cannot be rebuilt."""
    return any(finding.code in ("database", "settings") for finding in findings)


def _check_documents(index: Index, checked: CheckCounts) -> list[CheckFinding]:
    with index.pool.lend() as connection, cancellable(connection):
        connection.execute("begin")
        findings = list(check_database(connection))
        check_cancelled()
        dimension = None
        try:
            dimension = index.settings(connection).dimension
        except StoreError as error:
            # An empty knowledge base has no settings and needs none.
            if connection.execute("select count(*) from document").fetchone()[0]:
                findings.append(make_finding("settings", str(error)))
        findings += check_documents(connection, checked, dimension=dimension)
    return findings


def _delete_damage(index: Index, finding: CheckFinding) -> bool:
    """Delete orphaned rows or damaged model outputs; return whether the finding is one of these."""
    if finding.code not in ("orphans", "outputs"):
        return False
    with index.pool.lend() as connection:
        connection.execute("begin immediate")
        if finding.code == "orphans":
            delete_orphans(connection)
        else:
            delete_damaged_outputs(connection)
        connection.execute("commit")
    return True


def _check_index(index: Index, checked: IndexCheck, *, repair: bool) -> list[CheckFinding]:
    with ExitStack() as stack:
        if index.pool.writable:
            stack.enter_context(index.locked())
        manifest = read_manifest(index.folder)
        with index.pool.lend() as connection:
            connection.execute("begin")
            findings = list(check_index(index, connection, manifest, checked))
        if repair and findings:
            findings = _repaired(index, findings, checked)
    return findings


def _repaired(
    index: Index, findings: Sequence[CheckFinding], checked: IndexCheck
) -> list[CheckFinding]:
    """Rebuild the damaged parts, and return the findings with the result of the repair."""
    drop_parts(index.folder, checked.damaged)
    try:
        flush_pending(index, compact=False)
    except (ValueError, FormatError, sqlite3.DatabaseError) as error:
        return [
            replace(f, message=f"{f.message}; that failed ({error}): repair the documents first")
            for f in findings
        ]
    checked.pending_chunks = 0
    return [replace(finding, repaired=True) for finding in findings]

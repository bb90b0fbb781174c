"""Check a knowledge base as a whole, and repair what is derived.

`truth.db` is read first, in one transaction. The index is checked under the lock of whoever writes
it, so that no part goes away meanwhile; what differs is thrown away and made anew from `truth.db`.
A damaged document is never touched: what to do about it is said.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import FormatError, StoreError
from spanwise.stores.check import (
    ORPHAN_TABLES,
    Checked,
    check_database,
    check_documents,
    found,
)
from spanwise.stores.check_index import CheckedIndex, check_index
from spanwise.stores.flush import flush_pending
from spanwise.stores.manifest import drop_parts, read_manifest
from spanwise.stores.outputs import delete_damaged_outputs
from spanwise.types import CheckReport

if TYPE_CHECKING:
    from spanwise.stores.index import Index
    from spanwise.types import CheckFinding

__all__ = ["check_store"]


def check_store(index: Index, *, path: Path, repair: bool) -> CheckReport:
    """Return what is wrong with a knowledge base.

    Args:
        index: Its index, with the connections to `truth.db`.
        path: Its folder.
        repair: Whether to delete rows that belong to no document and damaged outputs of models, and
            to make damaged parts of the index anew.

    Raises:
        StoreBusyError: If another process writes the index for too long.
        StoreError: If the index cannot be written.
    """
    started = time.perf_counter()
    checked = Checked()
    findings = _check_truth(index, checked)
    if repair and any(f.code == "orphans" for f in findings) and not _is_broken(findings):
        _delete_orphans(index)
        findings = [replace(f, repaired=True) if f.code == "orphans" else f for f in findings]
    if repair and any(f.code == "outputs" for f in findings) and not _is_broken(findings):
        _delete_outputs(index)
        findings = [replace(f, repaired=True) if f.code == "outputs" else f for f in findings]
    parts = CheckedIndex(unreadable=frozenset(checked.damaged))
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
    """Return whether so much is damaged that nothing can be derived from it."""
    return any(finding.code in ("database", "settings") for finding in findings)


def _check_truth(index: Index, checked: Checked) -> list[CheckFinding]:
    with index.pool.lend() as connection:
        connection.execute("begin")
        findings = list(check_database(connection))
        dimension = None
        try:
            dimension = index.settings(connection).dimension
        except StoreError as error:
            # A knowledge base that was never filled has none, and needs none.
            if connection.execute("select count(*) from document").fetchone()[0]:
                findings.append(found("settings", str(error)))
        findings += check_documents(connection, checked, dimension=dimension)
    return findings


def _delete_orphans(index: Index) -> None:
    with index.pool.lend() as connection:
        connection.execute("begin immediate")
        for table, owner in ORPHAN_TABLES.items():
            # Names of tables and columns cannot be parameters; both are constants of a module.
            connection.execute(
                f"delete from {table} where not exists"  # noqa: S608
                f" (select 1 from document where number = {owner})"
            )
        connection.execute("commit")


def _delete_outputs(index: Index) -> None:
    with index.pool.lend() as connection:
        connection.execute("begin immediate")
        delete_damaged_outputs(connection)
        connection.execute("commit")


def _check_index(index: Index, checked: CheckedIndex, *, repair: bool) -> list[CheckFinding]:
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
    index: Index, findings: Sequence[CheckFinding], checked: CheckedIndex
) -> list[CheckFinding]:
    """Make the damaged parts anew; return the findings as they are then."""
    drop_parts(index.folder, checked.damaged)
    try:
        flush_pending(index, compact=False)
    except (ValueError, FormatError, sqlite3.DatabaseError) as error:
        return [
            replace(f, message=f"{f.message}; that failed ({error}): mend the documents first")
            for f in findings
        ]
    checked.pending_chunks = 0
    return [replace(finding, repaired=True) for finding in findings]

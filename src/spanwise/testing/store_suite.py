"""Base class of the checks of stores, and comparison of scans with the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from spanwise.core.ranking.scan import Moments, Scan, ScanQuery
from spanwise.stores.port import DocumentEntry, Snapshot, Store
from spanwise.testing.brute_force import ExpectedScan, expected_scan, mean_and_deviation
from spanwise.testing.store_entries import SETTINGS, reference_terms

TOLERANCE = 1e-6
"""Maximum absolute error of a score."""


class StoreSuite:
    """Base class of the checks. Subclasses define how the store under test is opened."""

    on_disk = True
    """Whether the content persists and can be opened by several handles."""
    has_backup = True
    """Whether `backup` of a store that persists creates a folder that `open_store` opens. Otherwise
    it must raise `StoreError`."""
    has_rebuild = True
    """Whether the store can be rebuilt. Otherwise `open_rebuild` must raise `StoreError`."""

    def open_store(self, path: Path) -> Store:
        """Open the store of a path, created if missing; a store in memory is always new.

        A store on a server may use the path as the name of a database or schema.
        """
        raise NotImplementedError("a conformance suite must define how its store is opened")

    @property
    def copies(self) -> bool:
        """Whether `backup` creates a copy that can be opened."""
        return self.on_disk and self.has_backup

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """Return an empty store with its settings, closed after the check."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        yield store
        store.close()


def check_scan(
    store: Store,
    entries: Sequence[DocumentEntry],
    query: ScanQuery,
) -> None:
    """Check a scan of all documents against the reference implementation.

    Args:
        store: Store under test.
        entries: Documents of the store, in insertion order.
        query: Query to run.
    """
    with store.snapshot() as snapshot:
        expected = expected_scan(entries, query, reference_terms=reference_terms())
        compare(snapshot.scan(query), expected, snapshot)


def compare(scan: Scan, expected: ExpectedScan, snapshot: Snapshot) -> None:
    """Check each value of a scan in a snapshot against the reference implementation."""
    counts, chunks = snapshot.term_counts(expected.query.terms)
    assert (counts.tolist(), chunks) == (expected.term_chunks, scan.all_chunks), "term_counts"
    assert scan.chunks == len(expected.places), "chunks in scope"
    assert scan.documents == len(expected.scope), "documents in scope"
    assert scan.all_chunks == sum(len(entry.chunks) for entry in expected.entries)
    assert scan.all_documents == len(expected.entries)
    assert scan.term_chunks.tolist() == expected.term_chunks, "chunks with each term"
    assert scan.title_documents.tolist() == expected.title_documents, "titles with each term"
    ids = [snapshot.record(int(handle)).id for handle in scan.handles]
    _compare_hits(scan, expected, ids)
    _compare_documents(scan, expected, ids)
    _compare_moments(scan.keyword, expected.keyword, "keyword")
    _compare_moments(scan.body, expected.body, "body")
    if expected.query.vector is None:
        assert scan.vector is None
    else:
        assert scan.vector is not None
        _compare_moments(scan.vector, expected.cosine, "cosine")


def _compare_moments(found: Moments, scores: Mapping[tuple[str, int], float], name: str) -> None:
    mean, deviation = mean_and_deviation(dict(scores))
    wanted = pytest.approx((mean, deviation), abs=TOLERANCE)
    assert (found.mean, found.deviation) == wanted, f"moments of the {name} score"


def _compare_hits(scan: Scan, expected: ExpectedScan, ids: Sequence[str]) -> None:
    owners = [ids[place] for place in scan.hit_documents]
    hits = list(zip(owners, scan.hit_chunks.tolist(), strict=True))
    assert hits == expected.hits, "hits, ordered by age of the document, then chunk"
    keywords = [expected.keyword[place] for place in hits]
    assert scan.hit_keywords.tolist() == pytest.approx(keywords, abs=TOLERANCE), "keyword scores"
    cosines = [expected.cosine[place] for place in hits]
    assert scan.hit_vectors.tolist() == pytest.approx(cosines, abs=TOLERANCE), "cosines"


def _compare_documents(scan: Scan, expected: ExpectedScan, ids: Sequence[str]) -> None:
    assert scan.handles.tolist() == sorted(scan.handles.tolist()), "handles ascend"
    rows = zip(
        scan.document_chunks.tolist(),
        scan.document_terms.tolist(),
        scan.document_titles.tolist(),
        strict=True,
    )
    found = dict(zip(ids, rows, strict=True))
    assert found == expected.documents, "chunks, terms and titles of each document"
    assert list(found) == list(expected.documents), "documents ordered by age"

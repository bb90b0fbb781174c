"""Queries of the tests of stores, and fingerprints of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.text.terms import text_terms
from spanwise.testing.store_entries import DIMENSION, SETTINGS, text_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.port import DocumentEntry, Snapshot, Store


def reference_terms() -> float:
    """Return the reference length of the stores under test."""
    return float(SETTINGS["reference_terms"])


def fill(store: Store, entries: Sequence[DocumentEntry]) -> None:
    """Store documents in order."""
    for entry in entries:
        store.put_document(entry)


def question_vector(text: str) -> NDArray[np.float32]:
    """Return the vector of a text at unit length."""
    vector = text_vector(text, dimension=DIMENSION)
    length = np.linalg.norm(vector)
    return (vector / length).astype(np.float32) if length else vector


def question(text: str, *, vector: bool = True, hits: int = 400) -> ScanQuery:
    """Return the query of a question."""
    return ScanQuery(
        terms=tuple(dict.fromkeys(text_terms(text))),
        vector=question_vector(text) if vector else None,
        hits=hits,
    )


def check_whole(snapshot: Snapshot, query: ScanQuery) -> None:
    """Check that a search sees whole documents only; all of their chunks have all terms."""
    scan = snapshot.scan(query)
    assert scan.term_chunks.tolist() == [scan.all_chunks], "every chunk holds the term"
    assert len(scan.handles) == scan.all_documents
    assert scan.document_chunks.sum() == scan.all_chunks
    assert scan.document_terms[:, 0].tolist() == scan.document_chunks.tolist()
    for handle, chunks in zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True):
        record = snapshot.record(handle)
        assert record.chunks == chunks, "chunks of the record"
        found = snapshot.chunks(handle, 0, chunks + 1)
        assert [chunk.index for chunk in found] == list(range(chunks))
        assert sum(len(chunk.text) for chunk in found) == record.chars
        assert len({chunk.text.split()[2] for chunk in found}) == 1, "chunks of two turns"


def fingerprint(
    store: Store, query: ScanQuery, *, where: Filter | None = None
) -> tuple[object, ...]:
    """Return all figures of a search, to the last bit, with ids in place of handles."""
    with store.snapshot() as snapshot:
        scan = snapshot.scan(query, where=where)
        ids = tuple(snapshot.record(int(handle)).id for handle in scan.handles)
    return (
        (scan.chunks, scan.documents, scan.all_chunks, scan.all_documents, ids),
        (scan.keyword, scan.body, scan.vector),
        *(
            array.tobytes()
            for array in (
                scan.term_chunks,
                scan.title_documents,
                scan.document_chunks,
                scan.document_terms,
                scan.document_titles,
                scan.hit_documents,
                scan.hit_chunks,
                scan.hit_keywords,
                scan.hit_vectors,
            )
        ),
    )

"""Scans and passages of one term, for the tests of routing and features."""

from __future__ import annotations

import numpy as np

from spanwise.core.ranking.scan import Moments, Passages, Scan

__all__ = ["passages_of", "scan_of"]


def scan_of(
    chunks: list[int],
    *,
    titles: list[bool] | None = None,
    terms: list[int] | None = None,
    hits: list[tuple[int, int, float]] = (),  # type: ignore[assignment]
) -> Scan:
    """Return a scan of one term over documents with so many chunks."""
    count = len(chunks)
    return Scan(
        chunks=sum(chunks),
        documents=count,
        all_chunks=sum(chunks),
        all_documents=count,
        term_chunks=np.array([sum(terms or [1] * count)]),
        title_documents=np.array([sum(titles or [False] * count)]),
        keyword=Moments(0.0, 1.0),
        body=Moments(0.0, 1.0),
        vector=Moments(0.0, 1.0),
        handles=np.arange(count) + 10,
        document_chunks=np.array(chunks),
        document_terms=np.array(terms or [1] * count)[:, None],
        document_titles=np.array(titles or [False] * count)[:, None],
        hit_documents=np.array([d for d, _, _ in hits], dtype=np.int64),
        hit_chunks=np.array([c for _, c, _ in hits], dtype=np.int64),
        hit_keywords=np.array([s for _, _, s in hits]),
        hit_vectors=np.zeros(len(hits)),
    )


def passages_of(impacts: list[float], *, openings: list[bool] | None = None) -> Passages:
    """Return passages of one document, of one section where no others are said."""
    count = len(impacts)
    return Passages(
        impacts=np.array([impacts], dtype=np.float32),
        similarities=np.zeros((1, count), dtype=np.float32),
        digits=np.full(count, 0.1, dtype=np.float32),
        chars=np.full(count, 400),
        tokens=np.full(count, 100),
        openings=np.arange(count) == 0 if openings is None else np.array(openings, dtype=bool),
    )

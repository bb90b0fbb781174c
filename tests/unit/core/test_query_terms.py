"""Term counts, grouped by word."""

import numpy as np

from spanwise.core.ranking.scan import (
    Moments,
    Passages,
    Scan,
    group_passage_terms,
    group_scan_terms,
    group_term_counts,
)

NONE = Moments(0.0, 1.0)


def make_scan() -> Scan:
    """Return a scan of three terms, the first and last of which are forms of one word."""
    return Scan(
        chunks=5,
        documents=2,
        all_chunks=6,
        all_documents=2,
        term_chunks=np.array([4, 1, 3]),
        title_documents=np.array([1, 0, 2]),
        keyword=NONE,
        body=NONE,
        vector=None,
        handles=np.array([3, 8]),
        document_chunks=np.array([2, 3]),
        document_terms=np.array([[2, 0, 1], [2, 1, 0]]),
        document_titles=np.array([[True, False, True], [False, False, True]]),
        hit_documents=np.array([0]),
        hit_chunks=np.array([1]),
        hit_keywords=np.array([2.5]),
        hit_vectors=np.array([0.0]),
    )


def test_terms_of_one_word_count_together_but_never_more_than_there_are() -> None:
    counts = np.array([4, 1, 3])
    assert group_term_counts(counts, (0, 1, 0), most=6).tolist() == [6, 1, 6]
    assert group_term_counts(counts, (0, 1, 0), most=9).tolist() == [7, 1, 7]


def test_a_scan_of_terms_becomes_one_of_words() -> None:
    scan = group_scan_terms(make_scan(), (0, 1, 0))
    assert scan.term_chunks.tolist() == [6, 1]
    assert scan.title_documents.tolist() == [2, 0]
    assert scan.document_terms.tolist() == [[2, 0], [2, 1]]
    assert scan.document_titles.tolist() == [[True, False], [True, False]]
    assert scan.hit_keywords.tolist() == [2.5]


def test_passages_of_terms_become_those_of_words() -> None:
    passages = Passages(
        impacts=np.array([[1.0, 0.0], [0.5, 2.0], [0.25, 1.0]], dtype=np.float32),
        similarities=np.zeros((0, 2), dtype=np.float32),
        digits=np.zeros(2, dtype=np.float32),
        chars=np.ones(2, dtype=np.int64),
        tokens=np.ones(2, dtype=np.int64),
        openings=np.array([True, False]),
    )
    assert group_passage_terms(passages, (0, 1, 0)).impacts.tolist() == [[1.25, 1.0], [0.5, 2.0]]


def test_terms_without_other_forms_are_unchanged() -> None:
    scan = make_scan()
    assert group_scan_terms(scan, ()) is scan

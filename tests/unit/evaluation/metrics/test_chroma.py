"""Chroma's figures: what its package gives, worked out by hand."""

import pytest

from spanwise.evaluation.metrics.ranges import Place
from spanwise.evaluation.metrics.scores import chroma_metrics


def place(start: int, end: int, document_id: str = "a") -> Place:
    return Place(
        document_id=document_id, characters=(start, end), pages=range(0), text="x" * (end - start)
    )


def test_what_is_returned_twice_counts_twice() -> None:
    found = chroma_metrics([("a", (0, 100))], [place(0, 100), place(0, 100)])
    assert found == {"chroma_iou": 0.5, "chroma_recall": 1.0, "chroma_precision": 0.5}


def test_other_documents_count_as_returned() -> None:
    found = chroma_metrics([("a", (0, 100))], [place(0, 50), place(0, 150, "b")])
    assert found == {"chroma_iou": 50 / 250, "chroma_recall": 0.5, "chroma_precision": 0.25}


def test_pieces_that_overlap_are_missed_twice() -> None:
    found = chroma_metrics([("a", (0, 100)), ("a", (50, 150))], [place(0, 50)])
    assert found["chroma_recall"] == 50 / 200
    assert found["chroma_iou"] == 50 / (50 + 50 + 100)


def test_places_without_characters_are_not_seen() -> None:
    page = Place(document_id="a", characters=None, pages=range(1, 2), text="page")
    found = chroma_metrics([("a", (0, 100))], [page])
    assert found == {"chroma_iou": 0.0, "chroma_recall": 0.0, "chroma_precision": 0.0}


def test_the_best_that_a_chunking_allows() -> None:
    """The third chunk only touches the evidence, and counts."""
    chunks = [(0, 100), (100, 200), (200, 300), (300, 400)]
    found = chroma_metrics([("a", (50, 200))], [place(0, 100), place(300, 400)], chunks)
    assert found["chroma_precision_omega"] == pytest.approx(150 / 300)
    assert found["chroma_min_recall"] == pytest.approx(50 / 150)
    assert found["chroma_min_precision"] == pytest.approx(50 / 200)


def test_as_many_texts_as_chunks_hold_evidence_are_looked_at() -> None:
    found = chroma_metrics([("a", (0, 50))], [place(300, 400), place(0, 100)], [(0, 100)])
    assert found["chroma_recall"] == 1
    assert found["chroma_min_recall"] == 0


def test_evidence_that_no_chunk_holds_has_no_precision() -> None:
    found = chroma_metrics([("a", (0, 50))], [place(0, 100)], [(60, 100)])
    assert found["chroma_precision_omega"] == 0
    assert found["chroma_min_iou"] == 0

"""Routing and features, against sums that are written out."""

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.core.features import (
    FEATURES,
    candidate_rows,
    feature_matrix,
    lay_out,
)
from spanwise.core.question import read_question
from spanwise.core.routing import chosen_ranges, fused, route, z
from spanwise.core.scan import Moments, PassageRange, Passages, Scan


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


def passages_of(impacts: list[float]) -> Passages:
    count = len(impacts)
    return Passages(
        impacts=np.array([impacts], dtype=np.float32),
        similarities=np.zeros((1, count), dtype=np.float32),
        digits=np.full(count, 0.1, dtype=np.float32),
        chars=np.full(count, 400),
        tokens=np.full(count, 100),
    )


def test_z_is_zero_where_nothing_deviates() -> None:
    assert z(np.array([3.0, 4.0]), Moments(3.0, 0.0)).tolist() == [0.0, 0.0]


def test_a_document_whose_title_is_named_comes_first() -> None:
    routing = route(scan_of([5, 5, 5], titles=[False, True, False]))
    assert routing.order.tolist() == [1, 0, 2]
    assert routing.title_coverage.tolist() == [0.0, 1.0, 0.0]


def test_a_document_alone_in_scope_needs_no_routing() -> None:
    routing = route(scan_of([5]))
    assert routing.score.tolist() == [0.0]
    assert routing.title_coverage.tolist() == [1.0]


def test_a_better_hit_breaks_the_tie_between_documents() -> None:
    routing = route(scan_of([5, 5], hits=[(0, 1, 1.0), (1, 2, 3.0)]))
    assert routing.order.tolist() == [1, 0]
    assert routing.best_hit.tolist() == pytest.approx([-1.4, 0.0])


def test_documents_are_read_whole_while_there_is_room() -> None:
    scan = scan_of([30, 30], hits=[(0, 1, 1.0), (1, 2, 3.0)])
    chosen = chosen_ranges(scan, route(scan), max_chunks=100)
    assert chosen == [(0, PassageRange(10, 0, 30)), (1, PassageRange(11, 0, 30))]


def test_of_a_document_too_long_what_stands_around_its_hits_is_read() -> None:
    scan = scan_of([1000], hits=[(0, 5, 1.0), (0, 500, 3.0), (0, 505, 2.0)])
    chosen = chosen_ranges(scan, route(scan), max_chunks=60)
    assert chosen == [(0, PassageRange(10, 0, 18)), (0, PassageRange(10, 488, 518))]


def test_no_more_than_there_is_room_for_is_read() -> None:
    scan = scan_of([1000] * 5, hits=[(d, c * 40, 1.0) for d in range(5) for c in range(20)])
    chosen = chosen_ranges(scan, route(scan), max_chunks=200)
    assert sum(span.end - span.start for _, span in chosen) <= 200


def test_smoothing_stays_inside_a_range() -> None:
    rows = lay_out([(0, PassageRange(1, 0, 2)), (0, PassageRange(1, 50, 52))])
    smoothed = rows.smooth(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.5, 1.0, 0.25]))
    assert smoothed.tolist() == [0.25, 1.0, 0.0, 0.0]


def test_rows_say_which_chunk_of_which_document_they_are() -> None:
    rows = lay_out([(3, PassageRange(1, 5, 7)), (4, PassageRange(2, 0, 1))])
    assert rows.documents.tolist() == [3, 3, 4]
    assert rows.chunks.tolist() == [5, 6, 0]
    assert rows.starts.tolist() == [0, 2]


def matrix(question: str, *, title: bool = False) -> NDArray[np.float64]:
    scan = scan_of([3, 3], titles=[title, False], terms=[1, 1], hits=[(0, 1, 2.0)])
    routing = route(scan)
    rows = lay_out([(0, PassageRange(10, 0, 3)), (1, PassageRange(11, 0, 3))])
    features, _ = feature_matrix(
        read_question(question),
        scan=scan,
        routing=routing,
        rows=rows,
        passages=passages_of([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]),
        residual=np.zeros(2, dtype=np.int64),
    )
    return features


def test_there_is_a_column_for_each_feature() -> None:
    assert matrix("margin").shape == (6, len(FEATURES))


def test_the_chunk_that_holds_the_term_is_best_and_its_neighbours_follow() -> None:
    words = matrix("margin")[:, list(FEATURES).index("words")]
    assert np.argmax(words) == 1
    assert words[0] == words[2] > words[3]


def test_a_term_of_the_own_title_counts_little_in_the_passage() -> None:
    column = list(FEATURES).index("words")
    assert matrix("margin", title=True)[1, column] == pytest.approx(
        0.15 * matrix("margin")[1, column]
    )


def test_a_term_next_door_covers_the_question() -> None:
    covered = matrix("margin")[:, list(FEATURES).index("coverage")]
    assert covered.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_digits_count_for_questions_that_ask_for_numbers_alone() -> None:
    column = list(FEATURES).index("numbers")
    assert matrix("how much margin")[:, column].tolist() == pytest.approx([0.1] * 6)
    assert matrix("margins named who")[:, column].tolist() == [0.0] * 6


def test_fused_scores_do_without_vectors() -> None:
    scan = scan_of([3])
    keyword_only = fused(np.array([2.0]), np.array([9.0]), scan)
    assert keyword_only.tolist() == pytest.approx([0.7 * 2 + 0.3 * 9])


def test_the_candidates_are_few_and_in_order() -> None:
    random = np.random.default_rng(0)
    features = random.standard_normal((4_000, len(FEATURES)))
    rows = candidate_rows(features, random.standard_normal(4_000))
    assert 1_200 <= len(rows) <= 1_600
    assert (np.diff(rows) > 0).all()

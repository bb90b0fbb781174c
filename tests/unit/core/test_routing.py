"""Choice of documents, and of their chunks to read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scans import scan_of

from spanwise.core.ranking.routing import fuse_z_scores, route, select_ranges, z_scores
from spanwise.core.ranking.scan import Moments, PassageRange


def test_z_scores_are_zero_without_deviation() -> None:
    assert z_scores(np.array([3.0, 4.0]), Moments(3.0, 0.0)).tolist() == [0.0, 0.0]


def test_a_document_whose_title_is_named_comes_first() -> None:
    routing = route(scan_of([5, 5, 5], titles=[False, True, False]))
    assert routing.best().tolist() == [1, 0, 2]
    assert routing.title_coverage.tolist() == [0.0, 1.0, 0.0]


def test_a_document_alone_in_scope_needs_no_routing() -> None:
    routing = route(scan_of([5]))
    assert routing.score.tolist() == [0.0]
    assert routing.title_coverage.tolist() == [1.0]


def test_a_better_hit_breaks_the_tie_between_documents() -> None:
    routing = route(scan_of([5, 5], hits=[(0, 1, 1.0), (1, 2, 3.0)]))
    assert routing.best().tolist() == [1, 0]
    assert routing.best_hit.tolist() == pytest.approx([-1.4, 0.0])


@settings(max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_the_best_documents_are_the_first_of_all_in_order(scores: list[int], count: int) -> None:
    hits = [(position, 0, float(score)) for position, score in enumerate(scores)]
    routing = route(scan_of([5] * len(scores), hits=hits))
    assert routing.best(count).tolist() == routing.best().tolist()[:count]


def test_documents_are_read_whole_while_there_is_room() -> None:
    scan = scan_of([30, 30], hits=[(0, 1, 1.0), (1, 2, 3.0)])
    chosen = select_ranges(scan, route(scan), max_chunks=100)
    assert chosen == [(0, PassageRange(10, 0, 30)), (1, PassageRange(11, 0, 30))]


def test_of_a_long_document_only_the_chunks_around_hits_are_read() -> None:
    scan = scan_of([1000], hits=[(0, 5, 1.0), (0, 500, 3.0), (0, 505, 2.0)])
    chosen = select_ranges(scan, route(scan), max_chunks=60)
    assert chosen == [(0, PassageRange(10, 0, 18)), (0, PassageRange(10, 488, 518))]


def test_no_more_than_there_is_room_for_is_read() -> None:
    scan = scan_of([1000] * 5, hits=[(d, c * 40, 1.0) for d in range(5) for c in range(20)])
    chosen = select_ranges(scan, route(scan), max_chunks=200)
    assert sum(span.end - span.start for _, span in chosen) <= 200


def test_fused_scores_do_without_vectors() -> None:
    scan = scan_of([3])
    keyword_only = fuse_z_scores(np.array([2.0]), np.array([9.0]), scan)
    assert keyword_only.tolist() == pytest.approx([0.7 * 2 + 0.3 * 9])

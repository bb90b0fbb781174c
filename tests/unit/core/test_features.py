"""Features, compared with explicit sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.scans import passages_of, scan_of

from spanwise.core.ranking.features import (
    FEATURES,
    build_rows,
    candidate_rows,
    feature_matrix,
    read_cosines,
)
from spanwise.core.ranking.question import read_question
from spanwise.core.ranking.routing import route
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.ranking.word_scores import exact_matches, exact_scores


def test_smoothing_stays_inside_a_range() -> None:
    rows = build_rows([(0, PassageRange(1, 0, 2)), (0, PassageRange(1, 50, 52))])
    smoothed = rows.smooth(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.5, 1.0, 0.25]))
    assert smoothed.tolist() == [0.25, 1.0, 0.0, 0.0]


def test_the_best_near_stays_inside_a_range() -> None:
    rows = build_rows([(0, PassageRange(1, 0, 4)), (0, PassageRange(1, 50, 52))])
    best = rows.best_near(np.array([5.0, 1.0, 2.0, 0.0, 9.0, 3.0]), 1)
    assert best.tolist() == [5.0, 5.0, 2.0, 2.0, 9.0, 9.0]


def test_the_best_of_a_section_is_that_of_all_its_chunks_in_the_range() -> None:
    rows = build_rows([(0, PassageRange(1, 3, 7)), (0, PassageRange(1, 50, 52))])
    openings = np.array([False, False, True, False, False, True])
    best = rows.best_of_sections(np.array([1.0, 2.0, -4.0, -3.0, 0.0, 7.0]), openings)
    assert best.tolist() == [2.0, 2.0, -3.0, -3.0, 0.0, 7.0]


@given(
    st.lists(st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=1), min_size=1),
    st.integers(0, 4),
)
def test_best_values_are_those_of_a_loop(ranges: list[list[tuple[int, bool]]], reach: int) -> None:
    rows = build_rows([(0, PassageRange(n, 0, len(one))) for n, one in enumerate(ranges)])
    values = np.array([float(value) for one in ranges for value, _ in one])
    openings = np.array([opens for one in ranges for _, opens in one])
    near: list[float] = []
    sections: list[float] = []
    for one in ranges:
        numbers = [float(value) for value, _ in one]
        near += [max(numbers[max(0, i - reach) : i + reach + 1]) for i in range(len(one))]
        section = np.cumsum([opens for _, opens in one])
        sections += [
            max(n for n, s in zip(numbers, section, strict=True) if s == mine) for mine in section
        ]
    assert rows.best_near(values, reach).tolist() == near
    assert rows.best_of_sections(values, openings).tolist() == sections


def test_rows_identify_document_and_chunk() -> None:
    rows = build_rows([(3, PassageRange(1, 5, 7)), (4, PassageRange(2, 0, 1))])
    assert rows.documents.tolist() == [3, 3, 4]
    assert rows.chunks.tolist() == [5, 6, 0]
    assert rows.starts.tolist() == [0, 2]


def matrix(question: str, *, title: bool = False) -> NDArray[np.float64]:
    scan = scan_of([3, 3], titles=[title, False], terms=[1, 1], hits=[(0, 1, 2.0)])
    routing = route(scan)
    rows = build_rows([(0, PassageRange(10, 0, 3)), (1, PassageRange(11, 0, 3))])
    passages = passages_of([0.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    words = exact_scores(exact_matches(scan, passages, rows), scan=scan, rows=rows)
    features, _ = feature_matrix(
        read_question(question),
        routing=routing,
        rows=rows,
        passages=passages,
        words=words,
        cosines=read_cosines(scan, rows, passages, np.zeros(2, dtype=np.int64), words_share=0.7),
    )
    return features


def test_there_is_a_column_for_each_feature() -> None:
    assert matrix("margin").shape == (6, len(FEATURES))


def test_the_chunk_that_contains_the_term_is_best_and_its_neighbours_follow() -> None:
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


def test_candidates_that_tie_are_the_earlier_ones() -> None:
    features = np.zeros((3_000, len(FEATURES)))
    rows = candidate_rows(features, np.zeros(3_000))
    assert rows.tolist() == list(range(1_200))


def test_the_candidates_are_those_of_a_full_sort() -> None:
    random = np.random.default_rng(1)
    features = np.zeros((3_000, len(FEATURES)))
    features[:, 0] = random.integers(0, 40, 3_000)
    near = random.integers(0, 40, 3_000).astype(np.float64)
    first = np.argsort(-features[:, 0], kind="stable")[:1_200]
    second = np.argsort(-near, kind="stable")[:400]
    assert candidate_rows(features, near).tolist() == np.union1d(first, second).tolist()


def test_the_candidates_are_few_and_in_order() -> None:
    random = np.random.default_rng(0)
    features = random.standard_normal((4_000, len(FEATURES)))
    rows = candidate_rows(features, random.standard_normal(4_000))
    assert 1_200 <= len(rows) <= 1_600
    assert (np.diff(rows) > 0).all()

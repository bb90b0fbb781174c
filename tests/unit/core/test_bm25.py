"""Parts of BM25."""

import numpy as np
import pytest

from spanwise.core.ranking.bm25 import (
    IMPACT_STEP,
    document_scores,
    inverse_frequencies,
    quantised_impacts,
)


def test_an_impact_is_the_saturation_of_bm25_to_half_a_step() -> None:
    frequencies, lengths = np.array([1, 2, 50]), np.array([60, 30, 600])
    norm = 1.2 * (0.25 + 0.75 * lengths / 60)
    exact = frequencies * 2.2 / (frequencies + norm)
    impacts = quantised_impacts(frequencies, lengths, reference_terms=60.0)
    assert np.abs(impacts * IMPACT_STEP - exact).max() <= IMPACT_STEP / 2


def test_a_term_that_is_there_is_never_rounded_away() -> None:
    assert quantised_impacts(np.array([1]), np.array([10**7]), reference_terms=60.0) == [1]


def test_more_of_a_term_never_counts_less() -> None:
    impacts = quantised_impacts(np.arange(1, 100), np.full(99, 60), reference_terms=60.0)
    assert (np.diff(impacts.astype(int)) >= 0).all()


def test_a_rarer_term_weighs_more_and_every_weight_is_positive() -> None:
    weights = inverse_frequencies(np.arange(101), 100)
    assert (np.diff(weights) < 0).all()
    assert weights[-1] > 0


def test_documents_are_scored_by_chunks_that_contain_a_term_and_by_titles() -> None:
    scores = document_scores(
        np.array([[4, 0], [0, 0], [4, 0]]),
        np.array([[False, False], [True, False], [True, False]]),
        np.array([10, 10, 10]),
        weights=np.array([2.0, 1.0]),
        mean_chunks=10.0,
    )
    assert scores.tolist() == pytest.approx([2 * 4 * 2.2 / 5.2, 2 * 2.2 / 2.2, 2 * 5 * 2.2 / 6.2])

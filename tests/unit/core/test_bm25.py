"""Parts of BM25."""

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.core.ranking.bm25 import (
    IMPACT_STEP,
    document_scores,
    inverse_frequencies,
    quantised_impacts,
)


def saturations(
    frequencies: NDArray[np.int64], lengths: NDArray[np.int64], headers: int = 0
) -> NDArray[np.uint8]:
    """Return the impacts of a term with the same number of occurrences in each header."""
    return quantised_impacts(
        frequencies, lengths, headers=np.full_like(frequencies, headers), reference_terms=60.0
    )


def test_an_impact_is_the_saturation_of_bm25_to_half_a_step() -> None:
    frequencies, lengths = np.array([1, 2, 50]), np.array([60, 30, 600])
    norm = 1.2 * (0.25 + 0.75 * lengths / 60)
    exact = frequencies * 2.2 / (frequencies + norm)
    impacts = saturations(frequencies, lengths)
    assert np.abs(impacts * IMPACT_STEP - exact).max() <= IMPACT_STEP / 2


def test_a_term_that_is_there_is_never_rounded_away() -> None:
    assert saturations(np.array([1]), np.array([10**7])) == [1]


def test_a_header_adds_as_much_to_short_chunks_as_to_long_ones() -> None:
    in_header_alone = saturations(np.zeros(3, dtype=np.int64), np.array([0, 30, 600]), headers=1)
    assert in_header_alone.min() == in_header_alone.max() > 0


def test_a_term_in_text_and_header_counts_more_than_in_either() -> None:
    lengths = np.array([60])
    both = saturations(np.array([1]), lengths, headers=1)
    in_text, in_header = saturations(np.array([1]), lengths), saturations(np.array([0]), lengths, 1)
    assert both > in_text > in_header


def test_more_of_a_term_never_counts_less() -> None:
    impacts = saturations(np.arange(1, 100), np.full(99, 60))
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

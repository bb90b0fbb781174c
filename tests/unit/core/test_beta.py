"""The beta distribution, compared with scipy, and errors."""

import numpy as np
import pytest
from scipy.stats import beta

from spanwise.core.extraction.published import RERANKER_SHAPES, beta_relevance
from spanwise.errors import OptionError

SCORES = np.concatenate(
    [np.linspace(0, 1, 501), 10.0 ** -np.arange(1, 300, 13), 1 - 10.0 ** -np.arange(1, 16)]
)


@pytest.mark.parametrize(
    "shape",
    [*RERANKER_SHAPES.values(), (0.01, 0.01), (100.0, 100.0), (0.01, 100.0), (1.0, 1.0), (30, 2)],
)
def test_it_is_the_distribution_function_of_scipy(shape: tuple[float, float]) -> None:
    expected = beta.cdf(SCORES, *shape)
    assert np.abs(beta_relevance(SCORES, shape=shape) - expected).max() < 1e-12


def test_published_shapes_have_names() -> None:
    """Cohere bunches scores at both ends, Voyage at the lower one."""
    cohere = beta_relevance([0.05, 0.8], shape="cohere")
    assert cohere.tolist() == pytest.approx(beta.cdf([0.05, 0.8], 0.4, 0.4))
    voyage = beta_relevance([0.05, 0.8], shape="voyage")
    assert voyage.tolist() == pytest.approx(beta.cdf([0.05, 0.8], 0.5, 1.8))


def test_relevance_has_the_form_of_the_scores() -> None:
    assert beta_relevance([], shape="cohere").tolist() == []
    assert beta_relevance([[0, 1], [1, 0]], shape="cohere").tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("score", [-0.1, 1.01, float("nan"), float("inf")])
def test_a_score_outside_of_its_range_is_rejected(score: float) -> None:
    with pytest.raises(OptionError, match=r"scores must be in \[0, 1\]"):
        beta_relevance([0.5, score], shape="cohere")


def test_an_unknown_shape_is_rejected() -> None:
    with pytest.raises(OptionError, match="'jina'; name one of cohere, voyage, or give a and b"):
        beta_relevance([0.5], shape="jina")


@pytest.mark.parametrize("shape", [(0.0, 1.0), (1.0, 101.0), (float("nan"), 1.0)])
def test_a_shape_out_of_range_is_rejected(shape: tuple[float, float]) -> None:
    with pytest.raises(OptionError, match=r"must each be from 0\.01 to 100"):
        beta_relevance([0.5], shape=shape)

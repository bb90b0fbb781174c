"""From features to share and relevance."""

import json
from dataclasses import replace

import numpy as np
import pytest

from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.relevance import (
    RelevanceModel,
    hedge_weight,
    share_around_best,
    softmax_shares,
    spread_over_documents,
)
from spanwise.errors import OptionError
from spanwise.search.shipped_model import shipped_model

MODEL = RelevanceModel(
    features=("a", "b"),
    means=np.array([1.0, 0.0]),
    deviations=np.array([2.0, 1.0]),
    weights=np.array([1.0, -0.5]),
    table=np.array([[0.0, 0.1, 0.5, 1.0], [0.0, 0.2, 0.8, 0.8]]),
)


def test_a_score_is_the_sum_of_its_contributions() -> None:
    features = np.array([[3.0, 2.0], [1.0, 0.0]])
    assert MODEL.contributions(features).tolist() == [[1.0, -1.0], [0.0, 0.0]]
    assert MODEL.scores(features).tolist() == [0.0, 0.0]


def test_outliers_are_clipped() -> None:
    assert MODEL.scores(np.array([[1000.0, 0.0]])).tolist() == [5.0]


def test_shares_sum_to_one_and_follow_the_scores() -> None:
    shares = softmax_shares(np.array([1.0, 2.0, 0.0]))
    assert shares.sum() == pytest.approx(1.0)
    assert np.argsort(shares).tolist() == [2, 0, 1]


def test_no_scores_have_no_shares() -> None:
    assert softmax_shares(np.zeros(0)).tolist() == []


def test_relevance_is_read_off_the_table_and_levels_off() -> None:
    relevance = MODEL.relevance(np.array([0.0, 0.05, 0.3, 0.9]))
    assert relevance.tolist() == pytest.approx([0.0, 0.1, 0.5, 0.8])


def test_shares_at_are_the_smallest_shares_with_a_relevance() -> None:
    relevances = np.array([0.0, 0.1, 0.2, 0.5, 0.8])
    shares = MODEL.shares_at(relevances)
    assert MODEL.relevance(shares).tolist() == pytest.approx(relevances.tolist())
    assert (shares <= 0.5).all()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.1, 0.4, 0.2, 0.3], 0.225),
        ([0.4, 0.2, 0.1, 0.3], 0.25),
        ([0.1, 0.2, 0.3, 0.4], 0.275),
        ([0.1, 0.2, 0.6, 0.1], 0.325),
    ],
)
def test_the_mean_around_the_best_chunk_stays_in_its_range(
    shares: list[float], expected: float
) -> None:
    """The ranges are the chunks 0 and 1, and the chunks 2 and 3."""
    found = share_around_best(np.array(shares), np.array([0, 2]))
    assert found == pytest.approx(expected)


def test_a_comparison_counts_the_second_chunk_of_a_document_half() -> None:
    scores = np.array([3.0, 2.0, 2.5, 1.0])
    spread = spread_over_documents(scores, np.array([7, 9, 7, 7]), weight=1.0)
    expected = [3.0, 2.0, 2.5 - np.log(2), 1.0 - np.log(3)]
    assert spread.tolist() == pytest.approx(expected)
    assert scores.tolist() == [3.0, 2.0, 2.5, 1.0]


def test_the_hedge_weight_is_high_without_a_clear_best_document() -> None:
    sure = hedge_weight(np.array([0.5, 0.5, 0.0]), np.array([4, 4, 9]))
    unsure = hedge_weight(np.array([0.25, 0.25, 0.25, 0.25]), np.array([1, 2, 3, 4]))
    assert sure == pytest.approx(0.1)
    assert unsure == pytest.approx(0.1 + 0.25 * 0.75)


def test_a_document_alone_is_not_spread() -> None:
    scores = np.array([3.0, 2.0])
    assert spread_over_documents(scores, np.array([7, 7]), weight=1.0).tolist() == [3.0, 2.0]


def test_the_shipped_model_is_for_the_features_of_this_version() -> None:
    model = shipped_model()
    assert model.features == tuple(FEATURES)
    assert len(model.weights) == len(model.means) == len(model.deviations) == len(FEATURES)
    assert (np.diff(model.table) >= 0).all()
    assert model.table[:, 0].tolist() == [0.0, 0.0]


def test_weights_for_other_features_are_rejected() -> None:
    data = {"features": ["x"], "means": [0], "deviations": [1], "weights": [1], "table": [[0, 0]]}
    with pytest.raises(OptionError, match=r"features \('x',\), and this .*'coverage'.* train"):
        RelevanceModel.from_json(json.dumps(data), features=tuple(FEATURES))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"features": 3}'])
def test_an_invalid_model_is_rejected(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        RelevanceModel.from_json(text, features=tuple(FEATURES))


def test_a_table_that_begins_flat_has_a_share_for_no_relevance() -> None:
    model = replace(MODEL, table=np.array([[0.0, 0.1, 0.4], [0.0, 0.0, 0.8]]))
    assert model.shares_at(np.array([0.0, 0.4, 0.8, 1.0])).tolist() == [0.0, 0.25, 0.4, 0.4]

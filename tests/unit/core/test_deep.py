"""Second linear model over scores and cosines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spanwise.core.ranking.deep import (
    DEEP_FEATURES,
    DeepModel,
    certainty,
    deep_features,
    load_deep_model,
    scaled_scores,
)
from spanwise.core.ranking.features import build_rows
from spanwise.core.ranking.relevance import softmax_shares
from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import OptionError

ROWS = build_rows([(0, PassageRange(1, 0, 6)), (1, PassageRange(2, 0, 4))])
CANDIDATES = np.array([0, 1, 2, 5, 6, 9])
SCORES = np.array([3.0, 2.0, 1.0, 0.0, -1.0, -2.0])
NAN = float("nan")


def features(*cosines: float, found: float = 1.0) -> dict[str, list[float]]:
    columns = deep_features(
        SCORES, np.array(cosines), candidates=CANDIDATES, rows=ROWS, found=found
    ).T
    return dict(zip(DEEP_FEATURES, columns.tolist(), strict=True))


def test_cosines_are_standardised_over_the_candidates_that_were_read() -> None:
    found = features(0.6, 0.4, NAN, NAN, 0.5, NAN)
    assert found["read"] == [1, 1, 0, 0, 1, 0]
    meaning = np.array(found["meaning"])[[0, 1, 4]]
    assert meaning.mean() == pytest.approx(0)
    assert meaning.std() == pytest.approx(1)


def test_unread_candidates_have_no_meaning() -> None:
    found = features(0.6, 0.4, NAN, NAN, 0.5, NAN)
    for name in DEEP_FEATURES[2:]:
        assert np.array(found[name])[[2, 3, 5]].tolist() == [0, 0, 0]


def test_neighbours_that_were_read_count_and_other_documents_do_not() -> None:
    found = features(0.9, 0.1, NAN, 0.9, 0.5, NAN)
    assert found["meaning_best"][1] == found["meaning"][0]
    assert found["meaning_best"][4] == found["meaning"][4]
    assert found["meaning"][1] < found["meaning_smooth"][1] < found["meaning"][0]


def test_equal_cosines_say_nothing() -> None:
    assert features(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)["meaning"] == [0] * 6


def test_words_that_are_not_found_count_less() -> None:
    found = features(0.9, 0.1, 0.2, 0.3, 0.4, 0.5, found=0.5)
    assert found["score_found"] == (SCORES / 2).tolist()
    assert found["meaning_smooth_found"] == (np.array(found["meaning_smooth"]) / 2).tolist()


def test_a_higher_cosine_gives_a_higher_score() -> None:
    columns = deep_features(
        np.zeros(6),
        np.array([0.9, NAN, NAN, 0.1, 0.5, NAN]),
        candidates=CANDIDATES,
        rows=ROWS,
        found=0.5,
    )
    scores = load_deep_model().scores(columns)
    assert scores[0] > scores[4] > scores[3]


@pytest.mark.parametrize(
    "text",
    ["[]", "{", json.dumps({"features": ["x"], "means": [0], "deviations": [1], "weights": [1]})],
)
def test_an_unsuitable_model_is_an_error(text: str) -> None:
    with pytest.raises(OptionError, match="second linear model"):
        DeepModel.from_json(text)


def test_a_high_cosine_makes_the_scores_more_certain() -> None:
    low, usual, high = (certainty(np.array([best, 0.1, NAN])) for best in (0.3, 0.53, 0.8))
    assert low < usual < high
    assert usual == pytest.approx(1)
    assert certainty(np.array([1.0, NAN])) == pytest.approx(2, rel=0.3)
    assert certainty(np.array([-1.0, NAN])) == 0.5
    assert certainty(np.array([1.0, NAN]), is_lifted=True) < 1
    assert certainty(np.array([-1.0, NAN]), is_lifted=True) == 0.5


def test_certainty_changes_the_shares_and_not_the_order() -> None:
    spread = scaled_scores(SCORES, 2.0)
    assert spread.tolist() == [3.0, 1.0, -1.0, -3.0, -5.0, -7.0]
    assert softmax_shares(spread)[0] > softmax_shares(SCORES)[0]
    assert np.argsort(spread).tolist() == np.argsort(SCORES).tolist()

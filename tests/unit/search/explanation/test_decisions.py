from __future__ import annotations

from typing import get_args

import pytest

from spanwise.search.explanation import DECISIONS, Decision, decision_text


def test_each_decision_has_a_sentence() -> None:
    assert list(DECISIONS) == list(get_args(Decision))


def test_numbers_have_three_significant_digits() -> None:
    said = decision_text("charge", value=0.0123456, charge=0.0175)
    assert said == "not worth a segment of its own: value 0.0123 at a charge of 0.0175"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.0, "0"),
        (0.00004, "under 0.0001"),
        (-0.00004, "above -0.0001"),
        (0.0001, "0.0001"),
        (0.91757, "0.918"),
    ],
)
def test_tiny_numbers_are_described_in_words(number: float, words: str) -> None:
    expected = f"its share is below the price of its 80 tokens: value {words}"
    assert decision_text("price", tokens=80, value=number) == expected

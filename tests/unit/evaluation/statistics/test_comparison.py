"""Differences of two retrievers, and what is said of them."""

import numpy as np
import pytest

from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.statistics import Comparison, Wording, compare

NAMES = Wording(first="exact", second="top-k")


def pair(gain: float, *, count: int = 200, noise: float = 0.2) -> tuple[list[float], list[float]]:
    """Return two retrievers of which the first is better by a gain."""
    random = np.random.default_rng(11)
    second = random.uniform(0, 1, count)
    first = second + gain + random.normal(0, noise, count)
    return first.tolist(), second.tolist()


def compared(gain: float, *, count: int = 200, metric: str = "recall") -> Comparison:
    first, second = pair(gain, count=count)
    return compare(
        first, second, wording=Wording(first="exact", second="top-k", metric=METRICS[metric])
    )


def test_a_better_one_is_named_with_the_interval() -> None:
    found = compared(0.1)
    low, high = found.difference.low * 100, found.difference.high * 100
    mean = found.difference.mean * 100
    assert found.verdict == "first"
    assert found.p_value < 0.01
    assert found.sentence == (
        f"exact is better than top-k by {mean:.1f} points of recall, "
        f"95 % interval {low:.1f} to {high:.1f}"
    )


def test_a_worse_one_is_said_the_other_way_round() -> None:
    found = compared(-0.1)
    low, high = -found.difference.high * 100, -found.difference.low * 100
    assert found.verdict == "second"
    assert found.sentence == (
        f"top-k is better than exact by {-found.difference.mean * 100:.1f} points of recall, "
        f"95 % interval {low:.1f} to {high:.1f}"
    )


def test_what_cannot_be_told_apart_needs_more_questions() -> None:
    found = compared(0.0)
    assert found.verdict == "none"
    assert found.questions_needed is not None
    # (1.96 + 0.84)^2 * 0.2^2 / 0.01^2 for independent differences of deviation 0.2
    assert found.questions_needed == pytest.approx(3_140, rel=0.15)
    assert found.sentence.startswith("exact and top-k do not differ significantly: ")
    assert found.sentence.endswith("more questions are needed to detect a difference of 1 point")


def test_a_difference_that_would_have_shown() -> None:
    first = [0.5 + 0.01 * (-1) ** at for at in range(400)]
    found = compare(first, [0.5] * 400, wording=NAMES)
    assert found.sentence == (
        "exact and top-k do not differ significantly: exact minus top-k +0.0 points of recall, "
        "95 % interval -0.1 to 0.1; "
        "a difference of 1 point would probably have been detected"
    )


def test_the_wanted_difference_is_said() -> None:
    first, second = pair(0.0)
    found = compare(first, second, wording=Wording(show=0.02))
    assert found.questions_needed == pytest.approx(3_140 / 4, rel=0.15)
    assert found.sentence.endswith("more questions are needed to detect a difference of 2 points")


def test_a_power_of_four_fifths_is_kept() -> None:
    """With as many questions as are said to be needed, four of five tests show the difference."""
    random = np.random.default_rng(5)
    needed = compare(*pair(0.0, count=2_000), wording=Wording(show=0.05)).questions_needed
    assert needed is not None
    shown = 0
    for _ in range(300):
        differences = random.normal(0.05, 0.2, needed)
        shown += compare(differences.tolist(), [0.0] * needed).verdict == "first"
    assert 0.73 <= shown / 300 <= 0.87


def test_questions_about_one_document_count_less() -> None:
    """Were all ten questions of a document one, ten times as many are needed."""
    first = [0.5 + 0.2 * (-1) ** at for at in range(40) for _ in range(10)]
    documents = [str(at) for at in range(40) for _ in range(10)]
    plain = compare(first, [0.5] * 400).questions_needed
    clustered = compare(first, [0.5] * 400, clusters=documents).questions_needed
    assert plain is not None
    assert clustered is not None
    assert clustered / plain == pytest.approx(10, rel=0.05)


def test_equal_ones_are_said_to_be_equal() -> None:
    found = compare([0.5] * 20, [0.5] * 20, wording=NAMES)
    assert found.questions_needed is None
    assert found.p_value == 1
    assert found.sentence == "exact and top-k have equal recall on every question"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_handful_of_questions_claims_nothing(count: int) -> None:
    found = compare([1.0] * count, [0.0] * count, wording=NAMES)
    assert found.verdict == "none"
    assert found.sentence == (
        "exact and top-k cannot be compared by so few questions: "
        "exact minus top-k +100.0 points of recall; "
        f"only {count} question{'s' * (count > 1)}: no more than a hint"
    )


def test_few_questions_are_a_hint() -> None:
    found = compare([1.0] * 8, [0.0] * 8, wording=NAMES)
    assert found.verdict == "first"
    assert found.sentence.endswith("100.0 to 100.0; only 8 questions: no more than a hint")


def test_few_clusters_are_a_hint() -> None:
    first, second = pair(0.2)
    documents = [str(at % 7) for at in range(200)]
    found = compare(first, second, clusters=documents, wording=NAMES)
    assert found.sentence.endswith("; only 200 questions in 7 clusters: no more than a hint")


@pytest.mark.parametrize("small", [1, 5])
def test_a_dataset_of_a_handful_of_questions_decides_nothing(small: int) -> None:
    """It weighs as much as the large one, and its spread is hardly known."""
    strata = ["large"] * 100 + ["small"] * small
    found = compare([0.5, 0.6] * 50 + [1.0] * small, [0.5, 0.6] * 50 + [0.0] * small, strata=strata)
    assert found.verdict == "none"
    assert found.sentence == (
        "the first and the second cannot be compared by so few questions: "
        f"the first minus the second +50.0 points of recall; "
        f"only {small} question{'s' * (small > 1)} in one dataset: "
        "no more than a hint"
    )


def test_differences_that_balance_are_not_said_to_be_none() -> None:
    found = compare(
        [1.0, 0.0] * 20, [0.0, 1.0] * 20, clusters=[str(at // 2) for at in range(40)], wording=NAMES
    )
    assert found.differing == 40
    assert found.sentence.startswith(
        "exact and top-k do not differ significantly: exact minus top-k +0.0 points of recall, "
        "95 % interval 0.0 to 0.0; "
    )


def test_less_is_better_where_it_is() -> None:
    found = compared(0.1, metric="wrong_doc")
    assert found.verdict == "second"
    assert found.sentence.startswith("top-k is better than exact by ")
    assert "points of wrong-document rate (lower is better)" in found.sentence
    assert compared(-0.1, metric="wrong_doc").verdict == "first"


def test_amounts_are_neither_better_nor_worse() -> None:
    found = compared(150.0, metric="tokens")
    assert found.verdict == "first"
    assert found.questions_needed is None
    assert found.sentence == (
        "exact is higher than top-k by 150.0 tokens, 95 % interval 150.0 to 150.0"
    )
    undecided = compared(0.0, metric="tokens")
    assert "more questions" not in undecided.sentence


def test_seconds_are_said_to_three_digits() -> None:
    found = compare([0.01234] * 12, [0.0] * 12, wording=Wording(metric=METRICS["seconds"]))
    assert found.sentence == (
        "the second is better than the first by 0.0123 seconds (lower is better), "
        "95 % interval 0.0123 to 0.0123"
    )


def test_a_note_is_said_at_the_end() -> None:
    first, second = pair(0.1)
    found = compare(first, second, wording=Wording(note="of one document"))
    assert found.sentence.endswith("; of one document")


def test_questions_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="longer"):
        compare([1.0], [1.0, 0.0])

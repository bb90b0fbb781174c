"""Intervals of means."""

import numpy as np
import pytest

from spanwise.evaluation.statistics import (
    Interval,
    Sampling,
    bootstrap_means,
    mean_interval,
    standard_error,
)

FEWER = Sampling(samples=400)


def coverage(*, clustered: bool) -> float:
    """Return how often an interval holds the true mean, where questions of one document agree."""
    random = np.random.default_rng(7)
    documents = [str(at // 5) for at in range(400)]
    held = 0
    for _ in range(400):
        values = random.normal(0, 0.3, 80).repeat(5) + random.normal(0, 0.3, 400)
        interval = mean_interval(
            values.tolist(), clusters=documents if clustered else None, sampling=FEWER
        )
        held += interval.low <= 0 <= interval.high
    return held / 400


def test_a_clustered_interval_holds_the_mean_as_often_as_it_says() -> None:
    assert 0.92 <= coverage(clustered=True) <= 0.98


def test_an_interval_that_ignores_documents_is_too_narrow() -> None:
    assert coverage(clustered=False) < 0.8


def test_the_same_values_give_the_same_interval() -> None:
    values = [at**0.5 for at in range(60)]
    assert mean_interval(values) == mean_interval(values)
    other = mean_interval(values, sampling=Sampling(seed=1))
    assert mean_interval(values).mean == other.mean
    assert mean_interval(values).low != other.low


def test_an_interval_is_that_of_a_normal_mean() -> None:
    values = np.random.default_rng(3).normal(5, 2, 1_000)
    interval = mean_interval(values.tolist(), sampling=Sampling(samples=4_000))
    assert interval.mean == pytest.approx(values.mean())
    error = values.std(ddof=1) / np.sqrt(1_000)
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.01)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.01)
    assert standard_error(values.tolist()) == pytest.approx(error)


def test_a_wider_level_is_a_wider_interval() -> None:
    values = [float(at % 7) for at in range(60)]
    wide = mean_interval(values, sampling=Sampling(level=0.99))
    assert wide.low < mean_interval(values).low
    assert wide.level == 0.99


def test_clusters_of_one_are_no_clusters() -> None:
    values = [float(at % 3) for at in range(30)]
    alone = [f"{at:02}" for at in range(30)]
    assert mean_interval(values) == mean_interval(values, clusters=alone)
    assert standard_error(values) == pytest.approx(standard_error(values, clusters=alone))


def test_a_large_cluster_weighs_as_much_as_its_questions() -> None:
    interval = mean_interval([1.0, 1.0, 1.0, 0.0], clusters=["a", "a", "a", "b"])
    assert interval.mean == 0.75
    assert (interval.low, interval.high) == (0, 1)
    assert (interval.questions, interval.clusters) == (4, 2)


def test_several_datasets_weigh_the_same() -> None:
    interval = mean_interval([1.0] * 90 + [0.0] * 10, strata=["large"] * 90 + ["small"] * 10)
    assert interval == Interval(
        mean=0.5, low=0.5, high=0.5, questions=100, clusters=100, fewest_clusters=10
    )


def test_samples_of_several_datasets_are_means_of_means() -> None:
    values = [0.0, 1.0] * 50 + [0.0, 4.0] * 5
    strata = ["a"] * 100 + ["b"] * 10
    means = bootstrap_means(values, strata=strata, sampling=Sampling())
    assert means.mean() == pytest.approx(1.25, abs=0.03)
    expected = np.sqrt((0.25 / 99 + 4 / 9) / 4)
    assert standard_error(values, strata=strata) == pytest.approx(expected)
    assert means.std() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("clusters", [None, ["one"] * 3])
def test_one_cluster_says_nothing_about_others(clusters: list[str] | None) -> None:
    values = [0.25] if clusters is None else [0.0, 0.25, 0.5]
    interval = mean_interval(values, clusters=clusters)
    assert interval.mean == interval.low == interval.high == 0.25
    assert interval.is_rough
    assert not interval.has_range


def test_few_questions_are_rough() -> None:
    assert mean_interval([0.0, 1.0] * 4).is_rough
    assert not mean_interval([0.0, 1.0] * 5).is_rough


def test_one_small_dataset_makes_the_mean_of_all_rough() -> None:
    interval = mean_interval([0.0, 1.0] * 50 + [1.0], strata=["large"] * 100 + ["small"])
    assert (interval.clusters, interval.fewest_clusters) == (101, 1)
    assert interval.is_rough


def test_a_correlated_cluster_counts_in_the_error() -> None:
    """Five questions a document with the same answer are one question."""
    values = [float(at % 2) for at in range(40) for _ in range(5)]
    documents = [str(at) for at in range(40) for _ in range(5)]
    clustered = standard_error(values, clusters=documents)
    assert clustered == pytest.approx(standard_error([float(at % 2) for at in range(40)]))
    assert clustered > 2 * standard_error(values)


def test_an_error_is_never_below_that_of_independent_questions() -> None:
    """Documents whose questions balance each other do so by chance."""
    values = [0.0, 1.0] * 30
    documents = [str(at // 2) for at in range(60)]
    assert standard_error(values, clusters=documents) == pytest.approx(standard_error(values))


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [([], None, "no values"), ([1.0, 2.0], ["a"], "2 values and 1 clusters")],
)
def test_values_that_make_no_mean(
    values: list[float], labels: list[str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        mean_interval(values, clusters=labels)

"""Laws of intervals and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.statistics import (
    Comparison,
    Interval,
    Sampling,
    Wording,
    among,
    compare,
    document_clusters,
    mean_interval,
)

QUICK = Sampling(samples=200)

values = st.lists(st.floats(0, 1), min_size=1, max_size=30)
labelled = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("abcdefghijkl")),
    min_size=1,
    max_size=30,
)


@given(labelled)
def test_an_interval_lies_among_the_values(rows: list[tuple[float, float, str]]) -> None:
    numbers = [row[0] for row in rows]
    interval = mean_interval(numbers, clusters=[row[2] for row in rows], sampling=QUICK)
    assert interval.mean == pytest.approx(np.mean(numbers))
    assert min(numbers) - 1e-9 <= interval.low <= interval.high <= max(numbers) + 1e-9
    assert interval.clusters == len({row[2] for row in rows})


@given(values, st.floats(-5, 5), st.sampled_from([0.5, 2.0, 4.0]))
def test_an_interval_moves_with_its_values(
    numbers: list[float], shift: float, scale: float
) -> None:
    one = mean_interval(numbers, sampling=QUICK)
    other = mean_interval([scale * value + shift for value in numbers], sampling=QUICK)
    for edge in ("mean", "low", "high"):
        expected = scale * getattr(one, edge) + shift
        assert getattr(other, edge) == pytest.approx(expected, abs=1e-9)


@given(labelled)
def test_names_of_clusters_do_not_matter(rows: list[tuple[float, float, str]]) -> None:
    numbers = [row[0] for row in rows]
    one = mean_interval(numbers, clusters=[row[2] for row in rows], sampling=QUICK)
    other = mean_interval(numbers, clusters=[f"x{row[2]}" for row in rows], sampling=QUICK)
    assert one == other


@given(labelled)
def test_the_other_way_round_is_the_other_sign(rows: list[tuple[float, float, str]]) -> None:
    first, second = [row[0] for row in rows], [row[1] for row in rows]
    one = compare(first, second, sampling=QUICK)
    other = compare(second, first, sampling=QUICK)
    assert other.difference.mean == pytest.approx(-one.difference.mean)
    assert other.difference.low == pytest.approx(-one.difference.high)
    assert other.p_value == one.p_value
    assert other.questions_needed == one.questions_needed
    opposite = {"first": "second", "second": "first", "none": "none"}
    assert other.verdict == opposite[one.verdict]


@settings(max_examples=200)
@given(
    st.floats(-1, 1),
    st.floats(0, 0.5),
    st.integers(1, 500),
    st.sampled_from(sorted(METRICS)),
    st.none() | st.integers(1, 100_000),
)
def test_a_sentence_can_always_be_said(
    mean: float, width: float, questions: int, metric: str, needed: int | None
) -> None:
    found = Comparison(
        wording=Wording(first="exact", second="top-k", metric=METRICS[metric], note="said"),
        difference=Interval(
            mean=mean,
            low=mean - width,
            high=mean + width,
            questions=questions,
            clusters=questions,
            fewest_clusters=questions,
        ),
        p_value=0.5,
        differing=0 if mean == width == 0 else questions,
        questions_needed=needed,
    )
    sentence = found.sentence
    assert "exact" in sentence
    assert "top-k" in sentence
    assert "-0.0 " not in sentence
    assert sentence.endswith("; said")
    assert (
        "do not differ significantly" in sentence
        or "cannot be compared" in sentence
        or "equal" in sentence
    ) == (found.verdict == "none")


@given(st.lists(st.floats(0.0001, 1), max_size=12))
def test_adjusted_values_keep_their_order_and_are_no_smaller(p_values: list[float]) -> None:
    interval = Interval(mean=0.1, low=0.05, high=0.2, questions=50, clusters=50, fewest_clusters=50)
    made = [
        Comparison(
            wording=Wording(), difference=interval, p_value=p, differing=50, questions_needed=None
        )
        for p in p_values
    ]
    found = among(made)
    assert [one.p_value for one in found] == p_values
    for one in found:
        assert one.adjusted_p_value is not None
        assert one.p_value <= one.adjusted_p_value <= min(1, len(p_values) * one.p_value)
    ordered = sorted(found, key=lambda one: one.p_value)
    adjusted = [one.adjusted_p_value or 0 for one in ordered]
    assert adjusted == sorted(adjusted)


@given(st.lists(st.tuples(st.sampled_from(["", *"abcdefghijklmn"]), st.sampled_from("xy"))))
def test_clusters_are_never_of_two_documents(rows: list[tuple[str, str]]) -> None:
    documents, strata = [row[0] for row in rows], [row[1] for row in rows]
    found = document_clusters(documents, strata=strata)
    held: dict[str, set[tuple[str, str]]] = {}
    for name, row in zip(found.ids, rows, strict=True):
        held.setdefault(name, set()).add(row)
    assert all(len(members) == 1 for members in held.values())
    alone = [name for name, row in zip(found.ids, rows, strict=True) if not row[0]]
    assert len(set(alone)) == len(alone)

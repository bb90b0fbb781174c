"""Quantised vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spanwise.core.ranking.vectors import cosines, quantise_rows, unit_rows

ROWS = np.array([[3.0, 4.0], [0.0, 0.0], [-1e-30, 0.0], [1e30, 1e30]])


def test_stored_rows_have_unit_length() -> None:
    """Input vectors may have any length; zeros stay zeros."""
    stored = unit_rows(ROWS)
    assert stored.dtype == np.float16
    expected = np.array([[0.6, 0.8], [0, 0], [-1, 0], [0.70710678, 0.70710678]])
    np.testing.assert_allclose(stored.astype(np.float64), expected, atol=5e-4)


def test_quantised_rows_and_their_scales() -> None:
    """The largest component becomes 127, halves round to even, the scale makes unit length."""
    rows, scales = quantise_rows(ROWS)
    assert rows.dtype == np.int8
    assert rows.tolist() == [[95, 127], [0, 0], [-127, 0], [127, 127]]
    assert scales.dtype == np.float32
    assert scales[0] == np.float32(1 / np.sqrt(95**2 + 127**2))
    assert scales[1] == 0


@pytest.mark.parametrize("function", [unit_rows, quantise_rows])
@pytest.mark.parametrize("vectors", [[[1.0, np.nan]], [[np.inf]], [1.0, 2.0]])
def test_unusable_vectors_are_rejected(function: object, vectors: object) -> None:
    """Not finite, or not rows."""
    assert callable(function)
    with pytest.raises(ValueError, match=r"vectors (hold|have)"):
        function(vectors)


def test_no_rows_give_no_rows() -> None:
    """The empty cases keep their shapes."""
    assert unit_rows(np.empty((0, 4))).shape == (0, 4)
    rows, scales = quantise_rows(np.empty((3, 0)))
    assert rows.shape == (3, 0)
    assert scales.tolist() == [0, 0, 0]


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    rows, scales = quantise_rows(np.stack([left, right]))
    dot = rows[0].astype(np.int64) @ rows[1].astype(np.int64)
    return float(cosines([dot], scales[:1], query_scale=scales[1])[0])


@given(seed=st.integers(0, 10_000), length=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=50)
def test_cosines_are_close_symmetric_and_bounded(seed: int, length: float) -> None:
    """Within .01 of the exact cosine, independent of length, in [-1, 1] up to rounding."""
    generator = np.random.default_rng(seed)
    left, right = generator.normal(size=(2, 64)).astype(np.float32)
    exact = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    found = _cosine(left, right)
    assert found == pytest.approx(exact, abs=0.01)
    assert found == pytest.approx(_cosine(right * np.float32(length), left), abs=0.01)
    assert _cosine(left, right) == _cosine(right, left)
    assert _cosine(left, left) == pytest.approx(1.0, abs=1e-6)
    assert _cosine(left, -left) == pytest.approx(-1.0, abs=1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_rows_do_not_depend_on_their_neighbours(seed: int) -> None:
    """One by one and all together give the same bits."""
    rows = np.random.default_rng(seed).normal(size=(7, 32))
    together, scales = quantise_rows(rows)
    for index, row in enumerate(rows):
        alone, scale = quantise_rows(row[None, :])
        assert alone[0].tobytes() == together[index].tobytes()
        assert scale[0] == scales[index]
        assert unit_rows(row[None, :])[0].tobytes() == unit_rows(rows)[index].tobytes()


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 256])
def test_stored_vectors_are_unchanged_when_stored_again(dimension: int) -> None:
    """Otherwise unchanged chunks of a replaced document would differ from those of a new one."""
    once = unit_rows(np.random.default_rng(0).standard_normal((2_000, dimension)))
    assert np.array_equal(unit_rows(once.astype(np.float32)), once)


def test_rows_of_any_size_become_units() -> None:
    rows = np.array([[3e-300, 4e-300], [3e300, 4e300], [1.0, 0.0], [0.0, 0.0], [70_000.0, 0.0]])
    assert unit_rows(rows) == pytest.approx(
        np.array([[0.6, 0.8], [0.6, 0.8], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), abs=1e-3
    )

"""The check of linear time itself."""

import pytest
from tests.growth import assert_linear_time


def count_pairs(size: int) -> int:
    """Count in quadratic time."""
    return sum(1 for _ in range(size) for _ in range(size))


def test_linear_time_passes() -> None:
    assert_linear_time(lambda size: sum(range(size)), lambda size: size, size=50_000)


def test_quadratic_time_fails() -> None:
    with pytest.raises(AssertionError, match="became"):
        assert_linear_time(count_pairs, lambda size: size, size=700)

"""Estimates of the costs of large knowledge bases."""

import pytest
from benchmarks.scaling import Prices, costs, report

ROWS = [
    {"store": "postgres", "chunks": 1_000, "chunks_per_second": 100, "disk_mb": 10, "median_ms": 5},
    {"store": "postgres", "chunks": 2_000, "chunks_per_second": 100, "disk_mb": 20, "median_ms": 6},
    {"store": "postgres", "chunks": 2_000, "chunks_per_second": 100, "disk_mb": 20, "median_ms": 6},
    {"store": "postgres-cache", "chunks": 2_000, "client_mb": 3},
]


def test_a_size_that_was_measured_twice_does_not_hide_the_growth() -> None:
    assert costs(ROWS, 4_000, store="postgres").disk_gb == pytest.approx(0.04)


def test_searches_of_the_same_copy_take_its_hours() -> None:
    copied, cached = (costs(ROWS, 36_000, store=name) for name in ("postgres", "postgres-cache"))
    assert copied.hours == cached.hours == pytest.approx(0.1)


def test_what_was_not_measured_has_no_price() -> None:
    estimate = costs(ROWS, 4_000, store="postgres-cache")
    assert (estimate.disk_gb, estimate.month(Prices(1, 1, 1))) == (None, None)
    assert "| postgres-cache | 1,000,000 | 2.8 | - | 0.003 | - | - |" in report(
        ROWS, Prices(1, 1, 1), shard=10
    )

"""Estimates of the costs of large knowledge bases."""

import pytest
from benchmarks.scaling import Prices, costs, report

ROWS = [
    {"store": "postgres", "chunks": 1_000, "chunks_per_second": 100, "disk_mb": 10, "median_ms": 5},
    {"store": "postgres", "chunks": 2_000, "chunks_per_second": 100, "disk_mb": 20, "median_ms": 6},
    {"store": "postgres", "chunks": 2_000, "chunks_per_second": 100, "disk_mb": 20, "median_ms": 6},
    {"store": "postgres-hnsw", "chunks": 2_000, "chunks_per_second": 50, "client_mb": 3},
]


def test_a_size_that_was_measured_twice_does_not_hide_the_growth() -> None:
    assert costs(ROWS, 4_000, store="postgres").disk_gb == pytest.approx(0.04)


def test_the_hours_of_an_index_include_those_of_the_copy() -> None:
    copied, indexed = (costs(ROWS, 36_000, store=name) for name in ("postgres", "postgres-hnsw"))
    assert copied.hours == pytest.approx(0.1)
    assert indexed.hours == pytest.approx(0.3)


def test_what_was_not_measured_has_no_price() -> None:
    estimate = costs(ROWS, 4_000, store="postgres-hnsw")
    assert (estimate.disk_gb, estimate.month(Prices(1, 1, 1))) == (None, None)
    assert "| postgres-hnsw | 1,000,000 | 8.3 | - | 0.003 | - | - |" in report(
        ROWS, Prices(1, 1, 1), shard=10
    )

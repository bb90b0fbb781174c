"""Samples of the resources of a process over a long run, and the check that they do not grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

__all__ = ["LIMITS", "Limit", "Sample", "Trend", "sample_of_cycle", "trends", "violations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Resources at the end of one round, or of one cycle, of a run."""

    anonymous_mb: float
    """Anonymous memory of the process in MB."""
    free_mb: float
    """Free memory that the allocator held and returned to the system before the sample, in MB."""
    disk_mb: float
    """Size of the knowledge base in MB."""
    compacted_mb: float
    """Size of the knowledge base after the last `compact` in MB."""
    open_files: float
    """Number of open file handles."""
    threads: float
    """Number of threads."""
    median_ms: float
    """Median time of the searches of a round."""
    p99_ms: float
    """99th percentile of the times of the searches of a round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Growth that is allowed between the beginning and the end of a run."""

    share: float
    """Allowed growth as a share of the value at the beginning."""
    floor: float
    """Growth that is always allowed, in the unit of the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Course of one value over a run."""

    first: float
    """Median of the first fifth of the samples."""
    last: float
    """Median of the last fifth of the samples."""
    rise: float
    """Rise over the run of the line with the median slope of all pairs of samples (Theil-Sen)."""


LIMITS: Mapping[str, Limit] = {
    "anonymous_mb": Limit(share=0.05, floor=4.0),
    "free_mb": Limit(share=0.50, floor=16.0),
    "disk_mb": Limit(share=0.10, floor=1.0),
    "compacted_mb": Limit(share=0.10, floor=0.5),
    "open_files": Limit(share=0.0, floor=2.0),
    "threads": Limit(share=0.0, floor=1.0),
    "median_ms": Limit(share=0.25, floor=1.0),
    "p99_ms": Limit(share=0.50, floor=10.0),
}
"""Limit of each value of a sample."""


def sample_of_cycle(samples: Sequence[Sample]) -> Sample:
    """Return the sample of a cycle of rounds.

    It has the memory of the last round, the largest size and numbers, and the median times.
    """
    return Sample(
        anonymous_mb=samples[-1].anonymous_mb,
        free_mb=samples[-1].free_mb,
        disk_mb=max(sample.disk_mb for sample in samples),
        compacted_mb=samples[-1].compacted_mb,
        open_files=max(sample.open_files for sample in samples),
        threads=max(sample.threads for sample in samples),
        median_ms=float(np.median([sample.median_ms for sample in samples])),
        p99_ms=float(np.median([sample.p99_ms for sample in samples])),
    )


def trend_of(values: Sequence[float]) -> Trend:
    """Return the trend of at least five values."""
    fifth = len(values) // 5
    slopes = [
        (values[later] - values[earlier]) / (later - earlier)
        for earlier, later in combinations(range(len(values)), 2)
    ]
    return Trend(
        first=float(np.median(values[:fifth])),
        last=float(np.median(values[-fifth:])),
        rise=float(np.median(slopes)) * (len(values) - 1),
    )


def trends(samples: Sequence[Sample]) -> dict[str, Trend]:
    """Return the trend of each value of the samples."""
    return {name: trend_of([getattr(sample, name) for sample in samples]) for name in LIMITS}


def violations(
    samples: Sequence[Sample], *, factor: float = 1.0, checks_times: bool = True
) -> list[str]:
    """Return a message for each value that grows by more than its limit.

    Args:
        samples: Samples of rounds or cycles with the same work, without those of the warm-up.
        factor: Factor of all limits, for short runs.
        checks_times: Whether the times of searches are checked too.
    """
    found = []
    for name, trend in trends(samples).items():
        if name.endswith("_ms") and not checks_times:
            continue
        limit = LIMITS[name]
        allowed = factor * max(limit.floor, limit.share * trend.first)
        if trend.last - trend.first > allowed or trend.rise > allowed:
            found.append(
                f"{name} grows from {trend.first:.1f} to {trend.last:.1f} (slope times length "
                f"{trend.rise:+.1f}); the limit is {allowed:.1f}"
            )
    return found

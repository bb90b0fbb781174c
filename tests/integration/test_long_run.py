"""A long run needs no more memory, disk, file handles or time at its end; growth is found."""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from benchmarks.lib.flatness import LIMITS, Sample, sample_of_cycle, violations
from benchmarks.lib.places import place_of
from benchmarks.long_run import run

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.knowledge_base.internals import store_of

ROOT = Path(__file__).resolve().parents[2]
FLAT = Sample(
    anonymous_mb=150,
    free_mb=20,
    disk_mb=20,
    compacted_mb=15,
    open_files=12,
    threads=3,
    median_ms=5.0,
    p99_ms=20.0,
)
ROUNDS = 50


def course(name: str, *, growth: float) -> list[Sample]:
    """Return samples of which one value grows steadily by a share, with noise."""
    first = asdict(FLAT)[name]
    noise = (0.0, 0.01, -0.01)
    return [
        replace(FLAT, **{name: first * (1 + growth * turn / ROUNDS + noise[turn % 3])})
        for turn in range(ROUNDS)
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_growth_is_found(name: str) -> None:
    assert violations(course(name, growth=0.0)) == []
    (found,) = violations(course(name, growth=2.0))
    assert found.startswith(f"{name} grows from")
    assert violations(course(name, growth=-0.5)) == [], "less is no violation"
    without_times = violations(course(name, growth=2.0), checks_times=False)
    assert bool(without_times) == (not name.endswith("_ms"))


@pytest.mark.parametrize("name", ["anonymous_mb", "disk_mb", "compacted_mb"])
def test_a_small_leak_is_found(name: str) -> None:
    """A fifth more at the end than at the beginning."""
    assert violations(course(name, growth=0.2))


def test_a_single_outlier_is_no_growth() -> None:
    """A slow round, as other processes cause it, has no effect on the medians."""
    samples = course("p99_ms", growth=0.0)
    assert violations([*samples[:-1], replace(FLAT, p99_ms=5_000.0, anonymous_mb=900.0)]) == []


def test_a_cycle_has_the_largest_size_and_the_memory_of_its_end() -> None:
    """Disk grows from one `compact` to the next, and the first rounds hold free memory."""
    rounds = [replace(FLAT, disk_mb=size, anonymous_mb=180 - size) for size in (15, 19, 17)]
    assert sample_of_cycle(rounds) == replace(FLAT, disk_mb=19, anonymous_mb=163)


@pytest.mark.slow
def test_a_short_run_is_flat() -> None:
    """In a process of its own: threads of other tests allocate memory too."""
    rounds = ["--searches", "400", "--replacements", "80", "--rounds", "20", "--chunks", "200"]
    rare = ["--rebuilds", "4", "--compacts", "5", "--factor", "4", "--ignore-times"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.long_run", *rounds, *rare],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "400 searches, 80 replacements, 4 rebuilds, 5 compacts" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="counts the handles in /proc")
def test_samples_see_a_handle_that_stays_open(tmp_path: Path) -> None:
    given = argparse.Namespace(
        chunks=50, searches=20, replacements=2, rounds=2, rebuilds=0, compacts=1, deep=False
    )
    run(given, str(tmp_path / "first.kb"))  # what a process opens once
    ((before, _),) = run(given, str(tmp_path / "a.kb"))
    with (tmp_path / "open").open("wb"), (tmp_path / "other").open("wb"):
        ((after, _),) = run(given, str(tmp_path / "b.kb"))
    assert after.open_files == before.open_files + 2


@pytest.mark.skipif(sys.platform != "linux", reason="counts the handles in /proc")
@pytest.mark.parametrize("store", ["folder", "postgres"])
def test_rebuilds_leave_nothing_open(store: str) -> None:
    """Not in the process that rebuilds, and not in one that only follows."""
    with (
        place_of(store) as address,
        KnowledgeBase(address, embedder=None) as base,
        KnowledgeBase(address) as follower,
    ):
        base.add_text("Freight by barge is cheap.", document_id="a")
        counts = []
        for turn in range(5):
            base.rebuild(chunks=ChunkOptions(target=300 + turn))
            for one in (base, follower):
                assert one.search("freight", deep=False).segments
            gc.collect()
            handles = len(list(Path("/proc/self/fd").iterdir()))
            counts.append((handles, threading.active_count()))
        assert len({handles for handles, _ in counts[1:]}) == 1, counts
        assert len({threads for _, threads in counts[1:]}) == 1, counts


def test_many_rebuilds_of_one_object(tmp_path: Path) -> None:
    """The states between the first and the current one are freed."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        base.add_text("Freight by barge is cheap.", document_id="a")
        states = []
        for turn in range(3):
            base.rebuild(chunks=ChunkOptions(target=300 + turn))
            base.search("freight")
            states.append(weakref.ref(store_of(base)))
        gc.collect()
        assert [state() is None for state in states] == [True, True, False]

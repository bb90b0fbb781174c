"""Every benchmark runs: a short run of each, on data of our own."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.lib.command_line import command_line, given

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__"
)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_short_run_ends_well_and_says_something(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{script}", "--smoke"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.strip()


@pytest.mark.parametrize(("said", "queries"), [([], 400), (["7"], 7), (["0"], None)])
def test_a_set_is_measured_with_so_many_queries(
    said: list[str], queries: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "sets", *(["--queries", *said] if said else [])])
    with given(command_line("Measures.", sets=["a"], queries=400)) as arguments:
        assert (arguments.datasets, arguments.queries) == (Path("sets"), queries)

"""Fuzz all functions that read untrusted bytes, guided by the coverage of the code.

    python -m benchmarks.fuzz --target pdf --seconds 600
    python -m benchmarks.fuzz --all --hours 2
    python -m benchmarks.fuzz --report

Needs Atheris: pip install 'spanwise[fuzz]'. The targets are in `tests/fuzz`. An unexpected
exception, a slow input, a hang, too much memory and a crash are findings, which are written to
`findings/TARGET` below the folder of `--out`. The inputs with new coverage are kept in
`corpus/TARGET`, so that a later run continues there. `log.jsonl` has one line for each run, and
`--report` prints their totals.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from tests.fuzz.mutation import change_bytes
from tests.fuzz.target import Target, kept_inputs, run_input
from tests.fuzz.targets import all_targets

_SLICE_SECONDS = 300
"""Maximum time of one run of a target with `--all`."""
_SMOKE_INPUTS = 3
_END_SECONDS = 300
"""Time after which a run that does not end is killed."""
_COVERAGE = re.compile(r"cov: (\d+) ft: (\d+)")
_INPUTS = re.compile(r"stat::number_of_executed_units:\s+(\d+)|^#(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Run of one target."""

    target: str
    seconds: float
    inputs: int
    """Number of inputs that were tried."""
    edges: int
    """Number of edges of the code that the inputs reached."""
    features: int
    """Number of features: edges with their counts, and compared values."""
    findings: int
    """Number of findings of the target so far."""
    processor_seconds: float = 0.0
    """Processor time, which is less than the time if other programs run or stop this one."""


def seed_corpus(target: Target, folder: Path) -> None:
    """Write the valid inputs of a target, and those kept in the repository, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [path.read_bytes() for path in kept_inputs(target.name)]
    for data in (*target.seeds(), *kept):
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def fuzz(name: str, *, seconds: float, folder: Path) -> Run:
    """Fuzz a target in a process of its own, again after each crash, and log the run."""
    began, processor = time.monotonic(), _processor_seconds()
    inputs, coverage = 0, (0, 0)
    while (left := seconds - (time.monotonic() - began)) >= 1:
        output, code = _run_worker(name, seconds=int(left), folder=folder)
        inputs += max((int(a or b) for a, b in _INPUTS.findall(output)), default=0)
        found = [(int(edges), int(features)) for edges, features in _COVERAGE.findall(output)]
        coverage = max([coverage, *found])
        if code and not found:
            raise SystemExit(f"{name}: the fuzzer did not start:\n{output[-3_000:]}")
    run = Run(
        target=name,
        seconds=round(time.monotonic() - began, 1),
        inputs=inputs,
        edges=coverage[0],
        features=coverage[1],
        findings=len(_findings(folder, name)),
        processor_seconds=round(_processor_seconds() - processor, 1),
    )
    with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(asdict(run)) + "\n")
    return run


def _processor_seconds() -> float:
    """Return the processor time of the fuzzing processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_worker(name: str, *, seconds: int, folder: Path) -> tuple[str, int]:
    """Return the output and the status of a fuzzing process."""
    seed = str(random.SystemRandom().randrange(1, 1 << 31))
    arguments = [name, str(seconds), str(folder), seed]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as temporary:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.lib.fuzz_worker", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": temporary},  # noqa: TID251 - removed after a crash too
        )
        try:
            code = process.wait(seconds + _END_SECONDS)
        except subprocess.TimeoutExpired:  # the fuzzer hangs itself, so it left no input
            code = 0
            _copy_output(output, folder / "findings" / name / f"hang-{seed}.log")
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return output.read().decode("utf-8", "replace"), code


def _copy_output(output: IO[bytes], path: Path) -> None:
    """Write what a fuzzing process printed so far to a file, which counts as a finding."""
    path.parent.mkdir(parents=True, exist_ok=True)
    output.seek(0)
    path.write_bytes(output.read())


def _findings(folder: Path, name: str) -> list[str]:
    """Return the names of the inputs with a defect."""
    return sorted(
        path.name for path in (folder / "findings" / name).glob("*") if path.suffix != ".txt"
    )


def read_log(folder: Path) -> dict[str, list[Run]]:
    """Return the runs by target."""
    runs: dict[str, list[Run]] = defaultdict(list)
    if (folder / "log.jsonl").exists():
        for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
            run = Run(**json.loads(line))
            runs[run.target].append(run)
    return runs


def print_report(folder: Path, names: Iterable[str]) -> None:
    """Print the totals of all runs in the log."""
    runs = read_log(folder)
    print(f"{'target':<14} {'minutes':>8} {'processor':>9} {'inputs':>11} {'a second':>9} "
          f"{'edges':>7} {'features':>9} {'findings':>9}")  # fmt: skip
    totals = [0.0, 0.0, 0, 0]
    for name in names:
        seconds = sum(run.seconds for run in runs[name])
        processor = sum(run.processor_seconds for run in runs[name])
        inputs = sum(run.inputs for run in runs[name])
        edges = max((run.edges for run in runs[name]), default=0)
        features = max((run.features for run in runs[name]), default=0)
        found = _findings(folder, name)
        speed = inputs / seconds if seconds else 0
        print(f"{name:<14} {seconds / 60:>8.1f} {processor / 60:>9.1f} {inputs:>11,} "
              f"{speed:>9,.0f} {edges:>7,} {features:>9,} {len(found):>9}")  # fmt: skip
        row = (seconds, processor, inputs, len(found))
        totals = [total + value for total, value in zip(totals, row, strict=True)]
    print(f"{'all':<14} {totals[0] / 60:>8.1f} {totals[1] / 60:>9.1f} {totals[2]:>11,} {'':>9} "
          f"{'':>7} {'':>9} {totals[3]:>9}")  # fmt: skip


def fuzz_all(names: Sequence[str], *, seconds: float, folder: Path) -> None:
    """Fuzz the targets in turn, always the one with the least time in the log."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) >= 1:
        runs = read_log(folder)
        name = min(names, key=lambda name: sum(run.seconds for run in runs[name]))
        part = min(left, _SLICE_SECONDS, max(1, seconds / len(names)))
        run = fuzz(name, seconds=part, folder=folder)
        print(f"{name}: {run.inputs:,} inputs in {run.seconds:.0f} s, {run.edges:,} edges, "
              f"{run.findings} findings", flush=True)  # fmt: skip


def smoke(names: Sequence[str]) -> int:
    """Run a few valid and a few changed inputs of each target, without Atheris.

    Returns:
        Number of findings.
    """
    failed = 0
    for name in names:
        target = all_targets()[name]
        chance = random.Random(name)
        inputs = [*target.seeds()[:_SMOKE_INPUTS]]
        inputs += [change_bytes(data, chance) for data in inputs[:_SMOKE_INPUTS]]
        found = [finding for data in inputs if (finding := run_input(target, data))]
        failed += len(found)
        print(f"{name}: {len(inputs)} inputs, {len(found)} findings")
        for finding in found:
            print(finding.report)
    return failed


def main() -> None:
    """Run the command line."""
    names = list(all_targets())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", action="append", choices=names, help="target; repeatable")
    parser.add_argument("--all", action="store_true", help="all targets in turn")
    parser.add_argument("--seconds", type=float, default=60, help="time for each --target")
    parser.add_argument("--hours", type=float, default=2, help="time for --all in all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/fuzz"))
    parser.add_argument("--report", action="store_true", help="only print the totals of the log")
    parser.add_argument("--smoke", action="store_true", help="a few inputs, without Atheris")
    arguments = parser.parse_args()
    chosen = arguments.target or names
    if arguments.smoke:
        raise SystemExit(1 if smoke(chosen) else 0)
    folder = arguments.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.report:
        if not (arguments.all or arguments.target):
            parser.error("give --all, --target, --report or --smoke")
        if find_spec("atheris") is None:
            raise SystemExit("Atheris is not installed; run: pip install 'spanwise[fuzz]'")
        os.environ["SPANWISE_CONFIG"] = "none"  # noqa: TID251 - no settings of the user
        if arguments.all:
            fuzz_all(chosen, seconds=arguments.hours * 3_600, folder=folder)
        else:
            for name in chosen:
                fuzz(name, seconds=arguments.seconds, folder=folder)
    print_report(folder, chosen)


if __name__ == "__main__":
    main()

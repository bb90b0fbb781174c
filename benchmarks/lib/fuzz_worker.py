"""Process that fuzzes one target for some seconds: `python -m benchmarks.lib.fuzz_worker`.

Atheris instruments the modules of Spanwise when they are imported, so the targets are imported
here and not in the script that starts this process. An unexpected exception is written to a file
and the run continues. A hang, too much memory or a crash of native code ends the process; libFuzzer
then leaves the input as a file.
"""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.target import Finding, Target

_MAX_MEMORY_MIB = 2_000
_MAX_ADDRESSES_GIB = 6
_HANG_SECONDS = 120
_TOKEN_SHARE = 0.2
_FIRST_SEEDS = 5


def fuzz(name: str, *, seconds: int, folder: Path, seed: int) -> None:
    """Fuzz a target until the time is over. Ends the process.

    Args:
        name: Target.
        seconds: Maximum time.
        folder: Folder with the sub-folders "corpus" and "findings".
        seed: Seed of the randomness.
    """
    import atheris

    limit = _MAX_ADDRESSES_GIB << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with atheris.instrument_imports(include=["spanwise"]):
        from tests.fuzz.targets import all_targets

        from benchmarks.fuzz import seed_corpus

        target = all_targets()[name]
        for data in target.seeds()[:_FIRST_SEEDS]:  # parsers import their modules at first use
            _try(target, data)
    corpus, findings = folder / "corpus" / name, folder / "findings" / name
    findings.mkdir(parents=True, exist_ok=True)
    seed_corpus(target, corpus)

    def run(data: bytes) -> None:
        if found := _try(target, data):
            write_finding(findings, data, found)

    options = [
        sys.argv[0],
        str(corpus),
        f"-max_total_time={seconds}",
        f"-timeout={_HANG_SECONDS}",
        f"-report_slow_units={_HANG_SECONDS}",  # by elapsed time; the target limits CPU time
        f"-rss_limit_mb={_MAX_MEMORY_MIB}",
        f"-max_len={target.max_bytes}",
        f"-seed={seed}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        "-detect_leaks=0",
    ]
    atheris.Setup(options, run, custom_mutator=_mutator(target))
    atheris.Fuzz()


def _try(target: Target, data: bytes) -> Finding | None:
    from tests.fuzz.target import run_input

    return run_input(target, data)


def _mutator(target: Target) -> Callable[[bytes, int, int], bytes]:
    """Return the function that makes an input from another one."""
    import atheris
    from tests.fuzz.mutation import change_bytes, change_member

    def with_tokens(data: bytes, max_bytes: int, chance: random.Random) -> bytes:
        if target.tokens and chance.random() < _TOKEN_SHARE:
            return change_bytes(data, chance, tokens=target.tokens)[:max_bytes]
        return bytes(atheris.Mutate(data, max_bytes))  # replaced by Fuzz(), so read late

    def mutate(data: bytes, max_bytes: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if not target.is_zip:
            return with_tokens(data, max_bytes, chance)
        return change_member(
            data, max_bytes, chance, lambda part, most: with_tokens(part, most, chance)
        )

    return mutate


def write_finding(folder: Path, data: bytes, finding: Finding) -> None:
    """Write an input and its report; of the inputs with one cause the shortest is kept."""
    path = folder / f"{finding.key}.bin"
    if path.exists() and path.stat().st_size <= len(data):
        return
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(finding.report, encoding="utf-8", errors="replace")


if __name__ == "__main__":
    fuzz(sys.argv[1], seconds=int(sys.argv[2]), folder=Path(sys.argv[3]), seed=int(sys.argv[4]))

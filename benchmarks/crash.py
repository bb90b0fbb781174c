"""Kill processes that write to a store many times, and check the store after each kill.

    python -m benchmarks.crash --kills 100

Prints the number of kills by phase. If a check fails, the script ends with an error and keeps the
folder.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from tests.crash.crash_child import Phase
from tests.crash.crash_rounds import WANTED_PHASES, run_crashes


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="writers to kill at least")
    parser.add_argument("--each", type=int, default=15, help="kills in each phase at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="one round only")
    arguments = parser.parse_args()
    kills, each = (2, 0) if arguments.smoke else (arguments.kills, arguments.each)
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    began = time.monotonic()
    try:
        report = run_crashes(folder, kills=kills, kills_each=each, seed=arguments.seed)
    except AssertionError:
        print(f"failed; what was left behind is in {folder}")
        raise
    shutil.rmtree(folder)
    print(f"{'phase':<12} {'kills':>5}")
    for phase in (*WANTED_PHASES, Phase.IDLE):
        print(f"{phase.name.lower():<12} {report.landed[phase]:>5}")
    print(
        f"{report.kills} writers killed in {report.rounds} rounds, each followed by all checks; "
        f"{report.acknowledged} acknowledged writes, {report.searches} checked searches, "
        f"0 errors, {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()

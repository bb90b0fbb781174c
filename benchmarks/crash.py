"""Kill processes of a store, or let its disk fail, many times, and check what is left each time.

    python -m benchmarks.crash --kills 100
    python -m benchmarks.crash --operations all --store postgres --kills 20
    python -m benchmarks.crash --operations add,compact --faults power
    python -m benchmarks.crash --operations add,delete --store postgres --faults server

Without `--operations`, two writers and a reader use one knowledge base, and kills are counted by
phase. With it, each of the operations is killed, checked, continued and compared with a run that
was not killed; or, with `--faults`, it meets a fault of storage or a kill of PostgreSQL. If a check
fails, the script ends with an error and keeps the folder.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.crash.crash_child import Phase
from tests.crash.crash_rounds import WANTED_PHASES, run_crashes
from tests.crash.database_kills import kill_database
from tests.crash.disk_faults import fill_disk, inject_errors, jump_clock, small_disk
from tests.crash.operation_kills import PostgresStore, Store, Workplace, run_kills
from tests.crash.operations import OPERATIONS
from tests.crash.power_loss import lose_power
from tests.crash.server_kills import ServerKills
from tests.servers.postgres import PostgresServer, postgres_server

FAULTS = {
    "none": ("folder", "postgres"),
    "clock": ("folder", "postgres"),
    "errors": ("folder",),
    "full": ("folder",),
    "power": ("folder",),
    "server": ("postgres",),
}
"""Stores that can meet each fault."""
_SERVE = "serve"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, help="kills, or faults, of each operation at least")
    parser.add_argument("--each", type=int, default=15, help="kills in each phase at least")
    parser.add_argument(
        "--operations", metavar="NAMES", help=f"all, or some of {','.join([*OPERATIONS, _SERVE])}"
    )
    parser.add_argument("--store", choices=("folder", "postgres"), default="folder")
    parser.add_argument("--faults", choices=FAULTS, default="none", help="faults of a store")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="one round only")
    arguments = parser.parse_args()
    if arguments.store not in FAULTS[arguments.faults]:
        parser.error(f"the fault {arguments.faults!r} is none of the store {arguments.store!r}")
    names = _names(arguments.operations or "all")
    unknown = [name for name in names if name not in OPERATIONS and name != _SERVE]
    if unknown:
        parser.error(f"unknown operations: {', '.join(unknown)}")
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    try:
        if arguments.operations is None:
            _kill_writers(folder, arguments)
        else:
            _run_operations(folder, arguments, names)
    except BaseException:
        print(f"failed; what was left behind is in {folder}")
        raise
    shutil.rmtree(folder)


def _kill_writers(folder: Path, arguments: argparse.Namespace) -> None:
    """Kill writers of one knowledge base in all phases."""
    kills, each = (2, 0) if arguments.smoke else (arguments.kills or 100, arguments.each)
    began = time.monotonic()
    report = run_crashes(folder, kills=kills, kills_each=each, seed=arguments.seed)
    print(f"{'phase':<12} {'kills':>5}")
    for phase in (*WANTED_PHASES, Phase.IDLE):
        print(f"{phase.name.lower():<12} {report.landed[phase]:>5}")
    print(
        f"{report.kills} writers killed in {report.rounds} rounds, each followed by all checks; "
        f"{report.acknowledged} acknowledged writes, {report.searches} checked searches, "
        f"0 errors, {time.monotonic() - began:.0f} s"
    )


def _run_operations(folder: Path, arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Kill each operation, or let it meet a fault, and print the counts."""
    count = 1 if arguments.smoke else arguments.kills or 20
    with ExitStack() as stack:
        store, server = Store(), None
        if arguments.store == "postgres":
            durable = arguments.faults == "server"
            server = stack.enter_context(postgres_server(durable=durable))
            store = PostgresStore(server.address)
        for name in names:
            began = time.monotonic()
            if name == _SERVE:
                if arguments.faults != "none":
                    continue
                store.clear()
                base = store.base(folder / _SERVE)
                line: object = ServerKills(
                    folder / _SERVE, base, random.Random(arguments.seed)
                ).run(count)
            elif server is not None and OPERATIONS[name].embedded_only:
                continue
            else:
                workplace = Workplace(folder / name, OPERATIONS[name], store)
                line = _run_operation(workplace, server, arguments, count)
            print(f"{name:<8} {line}, {time.monotonic() - began:.0f} s", flush=True)


def _run_operation(
    workplace: Workplace, server: PostgresServer | None, arguments: argparse.Namespace, count: int
) -> object:
    seed = arguments.seed
    if arguments.faults == "none":
        return run_kills(workplace, kills=count, seed=seed)
    if arguments.faults == "server" and server is not None:
        return kill_database(workplace, server, kills=count, seed=seed)
    if arguments.faults == "errors":
        return inject_errors(workplace, faults=count, seed=seed)
    if arguments.faults == "clock":
        return jump_clock(workplace, runs=count, seed=seed)
    if arguments.faults == "full":
        with small_disk(workplace.folder):
            return fill_disk(workplace, fills=count, seed=seed)
    workplace.make()
    return lose_power(workplace, losses=count, seed=seed)


def _names(given: str) -> Sequence[str]:
    return [*OPERATIONS, _SERVE] if given == "all" else given.split(",")


if __name__ == "__main__":
    main()

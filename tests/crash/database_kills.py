"""Kills of the PostgreSQL server in the middle of an operation."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from tests.crash.operation_child import REFUSED
from tests.crash.operation_kills import Runner, Workplace
from tests.crash.operations import final_state
from tests.servers.postgres import PostgresServer

_DOWN_SECONDS = 0.2


@dataclass(slots=True)
class DatabaseKills:
    """Counts of the kills of a server during one operation."""

    kills: int = 0
    refused: int = 0
    """Number of operations that ended with an error; the others waited for the server."""
    acknowledged: int = 0
    """Number of acknowledgements in these operations."""


def kill_database(
    workplace: Workplace, server: PostgresServer, *, kills: int, seed: int = 0
) -> DatabaseKills:
    """Kill the server at random moments of an operation, and start it again.

    The operation may end with an error of the library. After the restart, everything that was
    acknowledged must be there, and the operation must continue to the same state as without kills.

    Args:
        workplace: Workplace with an unused folder, in a database of the server.
        server: Server whose commits reach the disk.
        kills: Number of kills.
        seed: Seed of the moments.

    Raises:
        AssertionError: If a check fails.
    """
    chooser = random.Random(f"{seed} {workplace.operation.name}")
    runner = Runner(workplace, chooser)
    workplace.make()
    expected = runner.measure()
    report = DatabaseKills()
    while report.kills < kills:
        workplace.reset()
        process = runner.start_ready()
        time.sleep(chooser.uniform(0, runner.seconds))
        server.kill()
        time.sleep(_DOWN_SECONDS)
        server.start()
        report.kills += 1
        report.refused += runner.join(process, (0, REFUSED)) == REFUSED
        report.acknowledged += len(workplace.acknowledged())
        workplace.check()
        runner.finish()
        workplace.check()
        assert final_state(workplace.operation, workplace.place) == expected
    return report

"""A PostgreSQL server that is killed in the middle of an operation loses nothing."""

from pathlib import Path

import pytest
from tests.crash.database_kills import kill_database
from tests.crash.operation_kills import PostgresStore, Workplace
from tests.crash.operations import OPERATIONS
from tests.processes import linux_only
from tests.servers.postgres import postgres_server


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "sync"])
def test_a_killed_database_loses_nothing_that_was_acknowledged(name: str, tmp_path: Path) -> None:
    with postgres_server(durable=True) as server:
        store = PostgresStore(server.address)
        workplace = Workplace(tmp_path / "work", OPERATIONS[name], store)
        report = kill_database(workplace, server, kills=2)
        assert report.refused or report.acknowledged

"""Process that writes index parts to PostgreSQL while another process adds documents.

The owner sends the address of the knowledge base, then a line for each flush (`FlushProcess`). The
address is sent through the pipe, because it may contain a password, and other users see the
arguments of a process.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg.conninfo import make_conninfo

from spanwise.loading import fast_imports
from spanwise.parsers.process.child_processes import start_module
from spanwise.parsers.process.streams import take_streams
from spanwise.stores.flush_process import FlushProcess, serve_flushes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from spanwise.stores.postgres.connections import PostgresConnections

_CONNECTIONS = 2


def postgres_flush_process(connections: PostgresConnections) -> FlushProcess:
    """Return the owner's side of a process for a knowledge base in PostgreSQL.

    Args:
        connections: Connections to the knowledge base.

    Raises:
        StoreError: If the server cannot be reached.
    """
    return FlushProcess(partial(_start_process, _address(connections)))


def _start_process(address: Mapping[str, object]) -> subprocess.Popen[bytes]:
    process = start_module(__name__)
    if process.stdin is not None:
        process.stdin.write(json.dumps(address).encode() + b"\n")
    return process


def _address(connections: PostgresConnections) -> dict[str, Any]:
    """Return the address with the values that libpq took from the environment and files."""
    with connections.reading() as connection:
        info = connection.info
        conninfo = make_conninfo(
            **info.get_parameters(), **({"password": info.password} if info.password else {})
        )
    return {
        "conninfo": conninfo,
        "name": connections.address.name,
        "schema": connections.schema,
        "tenant": connections.address.tenant,
        "connections": _CONNECTIONS,
    }


def main() -> None:
    """Flush the index of the address in the first line of the input for each further line."""
    with fast_imports():
        from spanwise.stores.postgres.address import PostgresAddress
        from spanwise.stores.postgres.store import open_postgres

    requests, answers = take_streams()
    address = PostgresAddress(**json.loads(requests.readline()))
    store = open_postgres(address, create=False)
    store.ensure_settings({})
    serve_flushes(requests, answers, store.flush_index)


if __name__ == "__main__":
    main()

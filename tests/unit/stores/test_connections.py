"""Connections: what errors of SQLite mean, and where a file system is not up to it."""

import logging
import os
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from spanwise.errors import FormatError, StoreBusyError, StoreError, StoreFullError
from spanwise.stores import connections
from spanwise.stores.connections import ConnectionPool, translated_errors


def error_with(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_NAME"
    return error


FAILED_WRITES = (
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
"""What SQLite reports for a disk that fails, and for one that is full in another way."""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
        (sqlite3.SQLITE_CORRUPT, FormatError),
        (sqlite3.SQLITE_NOTADB, FormatError),
        (sqlite3.SQLITE_IOERR_READ, StoreError),
        (sqlite3.SQLITE_IOERR, StoreError),
        *((code, StoreError) for code in FAILED_WRITES),
    ],
)
def test_each_error_has_its_kind(tmp_path: Path, code: int, kind: type[StoreError]) -> None:
    cause = error_with(code)
    with pytest.raises(kind) as caught, translated_errors(tmp_path / "truth.db"):
        raise cause
    assert type(caught.value) is kind
    assert caught.value.__cause__ is cause
    assert "truth.db" in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file size")
@pytest.mark.parametrize("code", FAILED_WRITES)
def test_a_failed_write_at_the_limit_of_file_size_is_a_full_disk(tmp_path: Path, code: int) -> None:
    import resource

    (tmp_path / "truth.db-wal").write_bytes(bytes(100_000))
    cause = error_with(code)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(StoreFullError), translated_errors(tmp_path / "truth.db"):
            raise cause
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def pool_of(path: Path) -> ConnectionPool:
    path.touch()
    pool = ConnectionPool(path, writable=True)
    pool.prepare()
    return pool


def test_connections_are_used_again_and_come_back_clean(tmp_path: Path) -> None:
    pool = pool_of(tmp_path / "truth.db")
    with pool.lend() as first:
        first.execute("begin immediate")
        first.execute("insert into setting values ('a', '1', 0)")
        with pool.lend() as second:
            assert second is not first
    with pool.lend() as again, pool.lend() as other:
        assert {again, other} == {first, second}
        assert not first.in_transaction
        assert first.execute("select count(*) from setting").fetchone() == (0,)
    pool.close()


def test_a_connection_that_comes_back_late_is_closed(tmp_path: Path) -> None:
    pool = pool_of(tmp_path / "truth.db")
    with pool.lend() as connection:
        pool.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")
    with pytest.raises(StoreError, match="closed"), pool.lend():
        pass


def test_few_idle_connections_are_kept(tmp_path: Path) -> None:
    pool = pool_of(tmp_path / "truth.db")
    ready = threading.Barrier(20)

    def hold() -> None:
        with pool.lend():
            ready.wait()

    threads = [threading.Thread(target=hold) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool._idle) == 8
    pool.close()


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for such a file system needs POSIX")
def test_a_file_system_without_shared_memory_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "truth.db"
    path.touch()
    connection = sqlite3.connect(
        f"{path.as_uri()}?vfs=unix-dotfile", uri=True, isolation_level=None
    )
    with caplog.at_level(logging.WARNING, "spanwise"):
        connections._set_journal(connection, path)
    assert "without shared memory" in caplog.text
    connection.close()

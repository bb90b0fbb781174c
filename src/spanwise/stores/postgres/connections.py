"""Connections to PostgreSQL, transactions, and the translation of errors.

Rules:
    A transaction sets what it needs for itself: search path, tenant and time limits. A connection
        has no other state, so a transaction pooler may give each transaction another session.
        There are no prepared statements, session locks or temporary tables.
    A read transaction is a snapshot (repeatable read). A write transaction sees the latest commits
        (read committed) and takes an advisory lock where the order matters.
    A forked process gets a pool of its own; the connections of its parent are never used.
    No message contains a password.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import psycopg
import psycopg_pool
from psycopg import errors, pq, sql

from spanwise.errors import (
    FormatError,
    OptionError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StorePermissionError,
    StoreUnavailableError,
)
from spanwise.stores.postgres.values import register_values

if TYPE_CHECKING:
    from spanwise.stores.postgres.address import PostgresAddress
    from spanwise.types import Durability

Connection = psycopg.Connection[Any]

BUSY_TIMEOUT_SECONDS = 60
"""Maximum time that a writer waits for another one, in seconds."""

_POOL_TIMEOUT_SECONDS = 60.0
_CONNECT_TIMEOUT_SECONDS = 10
_UNREACHABLE_SECONDS = 2.0  # wait for a connection before the server is checked
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.02
_Result = TypeVar("_Result")
_abandoned: list[object] = []
"""Pools of the parent process, which must not be closed by a forked one."""

# Its warnings repeat errors that are raised; without a handler, they are printed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_REPEATED = (errors.SerializationFailure, errors.DeadlockDetected)
_BUSY = (*_REPEATED, errors.LockNotAvailable, psycopg_pool.PoolTimeout, errors.TooManyConnections)
_FORBIDDEN = (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)
_DOWN = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)


@contextmanager
def translated_errors(address: PostgresAddress) -> Iterator[None]:
    """Translate errors of PostgreSQL to errors of this library, without passwords.

    Raises:
        StoreFullError: If the disk of the server is full.
        StoreBusyError: If other transactions hold a lock, or all connections, for too long.
        StorePermissionError: If the role has no right to do this, or the server is read-only.
        StoreUnavailableError: If the server cannot be reached, refuses the login, or has closed the
            connection.
        StoreError: If the server refuses a statement.
    """
    try:
        yield
    except psycopg.Error as error:
        _raise(error, address)


def _raise(error: psycopg.Error, address: PostgresAddress) -> NoReturn:
    reason = address.without_secrets(error.diag.message_primary or str(error).strip())
    # The cause is left out where its text could contain the connection string.
    cause = error if error.diag.message_primary else None
    if isinstance(error, errors.DiskFull):
        raise StoreFullError(
            f"the disk of {address} is full ({reason}); nothing of the current document was "
            "stored: free some space, and try again"
        ) from cause
    if isinstance(error, _BUSY):
        raise StoreBusyError(
            f"{address} is busy: {reason}; wait for other writers, or allow more connections by "
            "?connections=N"
        ) from cause
    if isinstance(error, _FORBIDDEN):
        raise StorePermissionError(
            f"the role may not do this in {address}: {reason}; grant it, or use another role"
        ) from cause
    if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
        raise FormatError(
            f"tables are missing in {address} ({reason}); restore them from a backup"
        ) from cause
    if _is_unavailable(error):
        raise StoreUnavailableError(
            f"{address} cannot be reached: {reason}; check that the server runs, that the database "
            "exists, and the user and password"
        ) from cause
    raise StoreError(f"{address} cannot be read or written: {reason}") from cause


def _check_parameters(address: PostgresAddress) -> None:
    try:
        psycopg.conninfo.conninfo_to_dict(address.conninfo)
    except psycopg.ProgrammingError as error:
        reason = address.without_secrets(str(error).strip())
        raise OptionError(
            f"the address {address} cannot be used: {reason}; give schema, tenant, connections, "
            "cache, or a parameter of libpq such as sslmode"
        ) from None  # its text could contain the connection string


def _is_unavailable(error: psycopg.Error) -> bool:
    """Return whether the connection failed, or the server starts, stops or has crashed."""
    if isinstance(error, _DOWN):
        return True
    state = error.sqlstate
    is_connection = state is None or state.startswith("08")
    return isinstance(error, psycopg.OperationalError) and is_connection


def lock_key(schema: str, purpose: str) -> int:
    """Return the key of an advisory lock of a knowledge base, a signed 64-bit integer."""
    digest = hashlib.sha256(f"spanwise\0{schema}\0{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class PostgresConnections:
    """Connections of one process to one knowledge base; safe for several threads."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        durability: Durability = "full",
        schema: str = "",
    ) -> None:
        """Create the object; no connection is made.

        Args:
            address: Address of the knowledge base.
            durability: "fast" lets commits return before they are on the disk of the server.
            schema: Schema to use instead of that of the address.

        Raises:
            OptionError: If libpq does not know a parameter of the address.
        """
        _check_parameters(address)
        self.address = address
        self.schema = schema or address.schema
        self.durability = durability
        self.vector_schema = "public"
        """Schema of the extension `vector`; set by `schema.prepare`."""
        self.halfvec_oid = 0
        """OID of the type `halfvec`; set by `schema.prepare`."""
        self.breaks = 0
        """Number of connections that broke."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._pool: psycopg_pool.ConnectionPool[Connection] | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"PostgresConnections({self.address.name!r})"

    @property
    def closed(self) -> bool:
        """Whether the connections are closed."""
        return self._closed

    def check_open(self) -> None:
        """Raise an error if the connections are closed.

        Raises:
            StoreError: If they are.
        """
        if self._closed:
            raise StoreError(f"the knowledge base {self.address} is closed; open it again")

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a single connection outside of the pool, and close it at the end.

        Raises:
            StoreError: As `translated_errors`.
        """
        self.check_open()
        with translated_errors(self.address):
            connection = _opened(self.address)
            try:
                register_values(connection)
                yield connection
            finally:
                connection.close()

    @contextmanager
    def beside(self) -> Iterator[Connection]:
        """Open a transaction on a connection outside of the pool; it is rolled back at the end.

        It may last long and hold locks, without taking a connection from other work.

        Raises:
            StoreError: As `translated_errors`.
        """
        with self.connect() as connection:
            connection.execute(self._begin(_WRITE, durable=False))
            yield connection

    def _current_pool(self) -> psycopg_pool.ConnectionPool[Connection]:
        """Return the pool of this process; a forked process gets a new one."""
        with self._lock:
            if self._process != os.getpid():
                _abandoned.append(self._pool)
                self._pool, self._process = None, os.getpid()
            if self._pool is None:
                self._pool = psycopg_pool.ConnectionPool(
                    self.address.conninfo,
                    kwargs=_arguments(self.address),
                    configure=register_values,
                    min_size=0,
                    max_size=self.address.connections,
                    timeout=_POOL_TIMEOUT_SECONDS,
                    reconnect_timeout=_UNREACHABLE_SECONDS,
                    name="spanwise",
                    open=True,
                )
            return self._pool

    def _begin(self, mode: str, *, durable: bool) -> str:
        """Return the statements that begin a transaction."""
        path = ", ".join(f'"{name}"' for name in self._search_path())
        settings = [("search_path", path), ("spanwise.tenant", self.address.tenant)]
        if mode != _READ:
            settings.append(("lock_timeout", f"{BUSY_TIMEOUT_SECONDS}s"))
            if not durable:
                settings.append(("synchronous_commit", "off"))
        calls = sql.SQL(", ").join(
            sql.SQL("set_config({}, {}, true)").format(name, value) for name, value in settings
        )
        return (
            sql.SQL("begin isolation level {}; select {}")
            .format(sql.SQL(mode), calls)
            .as_string(None)
        )

    def _search_path(self) -> tuple[str, ...]:
        return tuple(name.replace('"', '""') for name in (self.schema, self.vector_schema))

    @contextmanager
    def _lend(self, begin: str) -> Iterator[Connection]:
        """Lend a connection inside a new transaction, which is rolled back unless committed."""
        self.check_open()
        with translated_errors(self.address):
            pool = self._current_pool()
            try:
                connection = self._begun(pool, begin)
            except psycopg_pool.PoolClosed:  # retired or closed meanwhile
                self.check_open()
                pool = self._current_pool()
                connection = self._begun(pool, begin)
            try:
                yield connection
            finally:
                if not connection.closed:
                    with suppress(psycopg.Error):
                        if connection.info.transaction_status != pq.TransactionStatus.IDLE:
                            connection.execute("rollback")
                self._return(connection, pool)

    def _begun(self, pool: psycopg_pool.ConnectionPool[Connection], begin: str) -> Connection:
        """Return a connection inside a new transaction; connections that broke are replaced."""
        for _ in range(self.address.connections):
            connection = self._lent(pool)
            try:
                connection.execute(begin)
            except BaseException as error:
                is_broken = isinstance(error, psycopg.OperationalError) and connection.closed
                self._return(connection, pool)
                if not is_broken:
                    raise
            else:
                return connection
        raise psycopg.OperationalError("the server closes each new connection")

    def _return(
        self, connection: Connection, pool: psycopg_pool.ConnectionPool[Connection]
    ) -> None:
        """Return a connection to its pool, and count it if it is broken."""
        if connection.closed:
            with self._lock:
                self.breaks += 1
        pool.putconn(connection)

    def _lent(self, pool: psycopg_pool.ConnectionPool[Connection]) -> Connection:
        """Return a connection of the pool, and fail soon if the server cannot be reached.

        A pool does not say why it has no connection, so a further one is opened after a moment.
        """
        try:
            return pool.getconn(timeout=_UNREACHABLE_SECONDS)
        except psycopg_pool.PoolTimeout:
            _opened(self.address).close()
        return pool.getconn()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction: all its reads see one state.

        Raises:
            StoreError: As `translated_errors`.
        """
        with self._lend(self._begin(_READ, durable=True)) as connection:
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """Open a write transaction; it is committed on exit and rolled back on error.

        Args:
            durable: Whether the commit waits for the disk of the server.

        Raises:
            StoreError: As `translated_errors`.
        """
        forced = durable and self.durability == "full"
        with self._lend(self._begin(_WRITE, durable=forced)) as connection:
            yield connection
            connection.execute("commit")

    @contextmanager
    def maintaining(self) -> Iterator[Connection]:
        """Open a write transaction whose reads see one state; it is committed on exit.

        The commit does not wait for the disk, because what it writes can be derived again.

        Raises:
            StoreBusyError: If another transaction wrote the same rows.
            StoreError: As `translated_errors`.
        """
        with self._lend(self._begin(_MAINTAIN, durable=False)) as connection:
            yield connection
            connection.execute("commit")

    def write(self, action: Callable[[Connection], _Result], *, durable: bool = True) -> _Result:
        """Return the result of an action in a write transaction; deadlocks are retried.

        Args:
            action: Function of the connection. It may be called several times.
            durable: See `writing`.
        """
        for attempt in range(_ATTEMPTS):
            try:
                with self.writing(durable=durable) as connection:
                    return action(connection)
            except StoreBusyError as error:
                is_last = attempt == _ATTEMPTS - 1
                if is_last or not isinstance(error.__cause__, _REPEATED):
                    raise
            time.sleep(random.uniform(0.5, 1) * _PAUSE_SECONDS * 2**attempt)  # noqa: S311
        raise AssertionError("unreachable")

    @property
    def documents_lock(self) -> int:
        """Key of the lock of documents, see `lock_documents`."""
        return lock_key(self.schema, "documents")

    def lock_documents(self, connection: Connection) -> None:
        """Wait until no other transaction writes documents; held to the end of the transaction.

        Document numbers therefore become visible in ascending order.
        """
        self.lock(connection, "documents")

    def lock(self, connection: Connection, purpose: str) -> None:
        """Take an advisory lock of the knowledge base until the end of the transaction."""
        connection.execute("select pg_advisory_xact_lock(%s)", (lock_key(self.schema, purpose),))

    def try_lock(self, connection: Connection, purpose: str) -> bool:
        """Take an advisory lock without waiting, and return whether it was free."""
        row = connection.execute(
            "select pg_try_advisory_xact_lock(%s)", (lock_key(self.schema, purpose),)
        ).fetchone()
        return row is not None and bool(row[0])

    def flush(self) -> None:
        """Wait until all earlier commits of the server are on its disk."""
        if self.durability != "full":
            return
        with self.writing() as connection:
            connection.execute("select pg_logical_emit_message(true, 'spanwise', '')")

    def retire(self) -> None:
        """Close all connections, those in use when they are returned; later calls open new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.close()

    def close(self) -> None:
        """Close all connections; later calls raise StoreError."""
        self._closed = True
        self.retire()


_READ = "repeatable read, read only"
_WRITE = "read committed, read write"
_MAINTAIN = "repeatable read, read write"


def _opened(address: PostgresAddress) -> Connection:
    """Return a new connection.

    Raises:
        StoreUnavailableError: If the server has asked for a password, and refuses the connection.
        OperationalError: If it cannot be opened for another reason.
    """
    try:
        return psycopg.connect(address.conninfo, **_arguments(address))
    except psycopg.OperationalError as error:
        state = error.pgconn  # its flags do not depend on the language of the server
        if state is None or not (state.used_password or state.needs_password):
            raise
        reason = address.without_secrets(str(error).strip())
        raise StoreUnavailableError(
            f"the login to {address} failed: {reason}; check the user and the password (in the "
            "address, PGPASSWORD or a password file), and that the database exists"
        ) from None  # its text could contain the connection string


def _arguments(address: PostgresAddress) -> dict[str, Any]:
    """Return the arguments of each connection."""
    arguments: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": None,
        "client_encoding": "UTF8",
    }
    if "connect_timeout=" not in address.conninfo:
        arguments["connect_timeout"] = _CONNECT_TIMEOUT_SECONDS
    if "application_name=" not in address.conninfo:
        arguments["application_name"] = "spanwise"
    return arguments

"""The PostgreSQL store behind poolers, after broken connections, forks and kills."""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.servers.pooler import transaction_pooler
from tests.servers.postgres import postgres_server

from spanwise import KnowledgeBase
from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.errors import (
    FormatError,
    OptionError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from spanwise.stores.postgres import index as postgres_index
from spanwise.stores.postgres.parts import part_keys
from spanwise.stores.postgres.store import PostgresStore, open_postgres
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    make_corpus,
    make_entry,
    make_output,
    question,
)
from spanwise.testing.store_records import make_turn
from spanwise.testing.store_suite import check_scan

_WRITER = """
import sys
from spanwise.stores.postgres.store import open_postgres
from spanwise.testing.store_entries import make_entry
from spanwise.testing.store_records import make_turn

store = open_postgres(sys.argv[1], create=False)
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}/{number % 7}"
    store.put_document(make_entry(name, [f"lease {number} of {part}\\n" for part in range(20)]))
    store.append_turn("shared", make_turn(f"{sys.argv[2]} {number}"))
    print(number, flush=True)
store.close()
"""


@pytest.fixture
def address(postgres_url: str) -> str:
    """Return the address of a new schema."""
    return f"{postgres_url}?schema=base_{secrets.token_hex(6)}"


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    """Return an empty store with its settings."""
    store = open_postgres(address)
    store.ensure_settings(SETTINGS)
    yield store
    store.close()


def _writer(address: str, name: str, rounds: int) -> subprocess.Popen[str]:
    """Start a process that writes documents and turns, and prints a line after each."""
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, address, name, str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_it_works_behind_a_transaction_pooler(address: str) -> None:
    """Each transaction may use another session, which was reset before."""
    parts = conninfo_to_dict(address.partition("?")[0])
    host, port = str(parts["host"]), int(str(parts["port"]))
    entries = make_corpus()
    with transaction_pooler(host, port) as (pooled, pooler):
        pooled_address = address.replace(f":{port}/", f":{pooled}/")
        with closing(open_postgres(pooled_address)) as store:
            store.ensure_settings(SETTINGS)
            fill(store, entries)
            with ThreadPoolExecutor(5) as pool:
                found = list(pool.map(store.get_document, [e.document.id for e in entries]))
            assert found == [entry.document for entry in entries]
            check_scan(store, entries, question("lease margin goodwill"))
            store.append_turn("a", make_turn("Who?"))
            store.put_outputs([make_output("key", "output")])
            assert store.delete_document(entries[0].document.id)
            store.compact()
            check_scan(store, entries[1:], question("lease margin goodwill"))
            assert store.check().sound
        assert pooler.transactions > 3 * len(pooler.opened), "sessions took turns"


def test_broken_connections_are_replaced(store: PostgresStore, postgres_url: str) -> None:
    """After a restart of the server, the next call works."""
    store.put_document(make_entry("a", ["a lease"]))
    for _ in range(2):
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'spanwise' and pid <> pg_backend_pid()"
            )
        assert store.get_record("a") is not None
        assert store.put_document(make_entry("b", ["a rent"])) in ("added", "replaced")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
@pytest.mark.parametrize("in_a_write", [False, True])
def test_no_document_is_acknowledged_that_a_crash_of_the_server_has_lost(in_a_write: bool) -> None:
    """A group of commits is in the memory of the server until it is flushed."""
    for _ in range(3):  # a slow server may have flushed the document before the crash
        with postgres_server(durable=True, settings=("wal_writer_delay=10s",)) as server:
            address = f"{server.address}/postgres"
            with closing(open_postgres(address)) as store:
                store.ensure_settings(SETTINGS)
                with pytest.raises(StoreUnavailableError):
                    _lose_a_document(store, address, in_a_write=in_a_write)
                if store.get_record("a") is not None:
                    continue
                with store.group_commits() as commit:
                    store.put_document(make_entry("a", ["a lease"]))
                    commit()
            return
    pytest.fail("the server flushed the document before each crash")


def _lose_a_document(store: PostgresStore, address: str, *, in_a_write: bool) -> None:
    """Store a document in a group of commits before a crash of the server, and commit twice."""
    with store.group_commits() as commit:
        store.put_document(make_entry("a", ["a lease"]))
        if in_a_write:
            with pytest.raises(StoreUnavailableError):
                _put_during_a_crash(store, address)
        else:
            _crash(store, address)
        for _ in range(2):  # the document stays lost
            with pytest.raises(StoreUnavailableError):
                commit()


def _put_during_a_crash(store: PostgresStore, address: str) -> None:
    """Store a document while the server crashes."""

    def accept(_: object) -> bool:
        _crash(store, address)
        return True

    store.put_document(make_entry("b", ["a rent"]), accept=accept)


def _crash(store: PostgresStore, address: str) -> None:
    """Kill a process of the server, which ends all others, and wait until it answers again."""
    with store.connections.reading() as connection:
        process = connection.info.backend_pid
    os.kill(process, signal.SIGKILL)
    _wait_for_recovery(address)


def _wait_for_recovery(address: str) -> None:
    """Wait until the server answers after a crash."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with suppress(psycopg.OperationalError), psycopg.connect(address):
            return
        time.sleep(0.05)


def test_the_index_is_written_after_a_failure(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(postgres_index), "_FLUSH_ROWS", 1)
    with closing(open_postgres(address)) as store:
        store.ensure_settings(SETTINGS)
        with store.connections.maintaining() as connection:
            connection.execute(
                "create function fail() returns trigger language plpgsql as"
                " 'begin raise exception ''no space''; end'"
            )
            connection.execute(
                "create trigger fail before insert on index_part"
                " for each row execute function fail()"
            )
        store.put_document(make_entry("a", ["a lease"]))
        assert _parts(store) == []
        with store.connections.maintaining() as connection:
            connection.execute("drop trigger fail on index_part")
        store.put_document(make_entry("b", ["a rent"]))
        assert len(_parts(store)) == 1


def test_compact_deletes_parts_of_other_versions(store: PostgresStore) -> None:
    """Words of deleted documents do not stay in them."""
    store.put_document(make_entry("a", ["a lease"]))
    store.compact()
    older = _parts(store)
    with store.connections.maintaining() as connection:
        connection.execute("update index_part set version = 'older'")
    store.put_document(make_entry("b", ["a rent"]))
    store.delete_document("a")
    store.compact()
    parts = _parts(store)
    with store.connections.reading() as connection:
        rows = connection.execute("select key from part_row").fetchall()
    assert len(parts) == 1
    assert not set(parts) & set(older)
    assert all(key in part_keys(parts[0]) for (key,) in rows)


def _parts(store: PostgresStore) -> list[int]:
    with store.connections.reading() as connection:
        return [part for (part,) in connection.execute("select part from index_part").fetchall()]


def test_an_id_may_be_as_long_as_a_nested_path(store: PostgresStore) -> None:
    """A file deep inside archives does not end the ingest."""
    name = secrets.token_hex(5_000)
    assert store.put_document(make_entry(name, ["a lease"])) == "added"
    assert store.put_document(make_entry(name, ["a rent"])) == "replaced"
    with store.open_rebuild({**SETTINGS, "revision": "1"}) as rebuild:
        (item,) = rebuild.outdated()
        rebuild.put(make_entry(name, ["a rent"]), version=item[1])
        with rebuild.hold_writers():
            rebuild.switch()
    assert [record.id for record in store.list_records()] == [name]
    assert store.delete_document(name)


def test_a_connection_that_breaks_in_a_write_leaves_nothing(
    store: PostgresStore, postgres_url: str
) -> None:
    """The error says so, nothing of the transaction is stored, and the store stays usable."""

    def write() -> None:
        with store.connections.writing() as connection:
            connection.execute("insert into setting values ('half', 'written')")
            with psycopg.connect(postgres_url, autocommit=True) as admin:
                admin.execute("select pg_terminate_backend(%s)", (connection.info.backend_pid,))
            connection.execute("select 1")

    with pytest.raises(StoreError):
        write()
    assert "half" not in store.ensure_settings({})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork in a process with threads
def test_a_forked_process_uses_its_own_connections(store: PostgresStore) -> None:
    """Parent and child read and write with the store that was opened before the fork."""
    store.put_document(make_entry("parent", ["a lease"]))
    child = os.fork()
    if child == 0:
        try:
            store.put_document(make_entry("child", ["a rent"]))
            is_there = store.get_record("parent") is not None
            os._exit(0 if is_there else 1)
        finally:
            os._exit(2)
    for _ in range(5):
        assert store.get_record("parent") is not None
    assert os.waitpid(child, 0)[1] == 0
    assert [record.id for record in store.list_records()] == ["child", "parent"]


def test_processes_write_at_once(address: str, store: PostgresStore) -> None:
    """No document and no turn is lost, and the index agrees with the documents."""
    children = [_writer(address, name, 12) for name in ("left", "right")]
    for number in range(5):
        store.put_document(make_entry(f"own/{number}", ["a lease\n", "a rent\n"]))
        store.compact()
    assert [child.communicate(timeout=120)[0].count("\n") for child in children] == [12, 12]
    ids = [f"{name}/{n}" for name in ("left", "right") for n in range(7)]
    assert [r.id for r in store.list_records()] == sorted([*ids, *(f"own/{n}" for n in range(5))])
    thread = store.get_thread("shared")
    assert thread is not None
    asked = [turn.question for turn in thread.turns]
    for name in ("left", "right"):
        assert [one for one in asked if one.startswith(name)] == [f"{name} {n}" for n in range(12)]
    assert store.check().findings == ()


@pytest.mark.skipif(sys.platform == "win32", reason="this platform has no SIGKILL")
@pytest.mark.parametrize("rounds", [1, 8])
def test_a_killed_writer_loses_nothing_that_was_acknowledged(
    address: str, store: PostgresStore, rounds: int
) -> None:
    """Documents are there completely or not at all, and other writers continue at once."""
    with _writer(address, "one", 10_000) as child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline() for _ in range(rounds)]
        child.send_signal(signal.SIGKILL)
    last = int(acknowledged[-1])
    assert store.put_document(make_entry("next", ["a lease"])) == "added"
    for number in range(max(0, last - 6), last + 1):
        document = store.get_document(f"one/{number % 7}")
        assert document is not None
        lines = document.text.splitlines()
        assert len(lines) == 20, "complete"
        stored = int(lines[0].split()[1])
        assert stored == number or stored > last, "what was acknowledged, or a later version"
    thread = store.get_thread("shared")
    assert thread is not None
    assert len(thread.turns) > last
    assert store.check().findings == ()


def test_deadlocks_are_retried(store: PostgresStore) -> None:
    """Of two transactions that block each other, one is repeated; both succeed."""
    both = threading.Barrier(2)
    attempts: list[str] = []

    def lock(first: str, second: str) -> str:
        def action(connection: psycopg.Connection[tuple[object, ...]]) -> str:
            attempts.append(first)
            connection.execute("set local deadlock_timeout = '20ms'")
            store.connections.lock(connection, first)
            if len(attempts) <= 2:
                both.wait(timeout=30)
            store.connections.lock(connection, second)
            return first

        return store.connections.write(action)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(lock, "a", "b"), pool.submit(lock, "b", "a")]
        assert [future.result(timeout=60) for future in futures] == ["a", "b"]
    assert len(attempts) > 2, "one was repeated"


def test_a_writer_that_waits_for_too_long_says_so(store: PostgresStore) -> None:
    """A lock that is held for too long is a StoreBusyError."""
    with store.connections.writing() as holder, ThreadPoolExecutor(1) as pool:
        store.connections.lock_documents(holder)

        def wait() -> None:
            with store.connections.writing() as connection:
                connection.execute("set local lock_timeout = '50ms'")
                store.connections.lock_documents(connection)

        with pytest.raises(StoreBusyError, match="busy"):
            pool.submit(wait).result(timeout=30)


def test_a_missing_knowledge_base_is_not_created(postgres_url: str, address: str) -> None:
    """With `create=False`, a schema without tables is an error, and stays as it is."""
    with pytest.raises(FormatError, match="no knowledge base"):
        open_postgres(address, create=False)
    with pytest.raises(FormatError):
        open_postgres(address, create=False)


def test_a_newer_format_is_refused(store: PostgresStore, address: str) -> None:
    """Tables of a later version are not touched."""
    with store.connections.writing() as connection:
        connection.execute("update format set number = 999")
    with pytest.raises(FormatError, match="999"):
        open_postgres(address)


def test_a_schema_may_have_any_name(postgres_url: str) -> None:
    """Quotes, spaces and commas in the name of a schema are no SQL."""
    name = "%22%3B%20drop%20table%20'x'%20--,%25s{}\u00fc"
    with closing(open_postgres(f"{postgres_url}?schema={name}")) as store:
        store.ensure_settings(SETTINGS)
        entries = make_corpus()[:3]
        fill(store, entries)
        check_scan(store, entries, question("lease margin"))
        store.compact()
        with store.open_rebuild({**SETTINGS, "revision": "1"}) as rebuild:
            assert len(rebuild.outdated()) == 3
        assert store.discard_rebuild()
    with closing(open_postgres(f"{postgres_url}?schema={name}", create=False)) as store:
        assert len(store.list_records()) == 3


def test_several_processes_create_it_at_once(address: str) -> None:
    """The migrations run once."""
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(open_postgres, [address] * 4))
    for store in stores:
        store.ensure_settings(SETTINGS)
        store.close()


def test_a_role_that_may_not_create_it_is_told_what_to_do(postgres_url: str) -> None:
    """The error names the extension, and what an administrator has to run."""
    name = f"weak_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        url = f"{postgres_url.rpartition('/')[0]}/{name}"
        try:
            with pytest.raises(StoreError, match="create extension vector"):
                open_postgres(url.replace("postgres@", f"{name}@"))
        finally:
            drop = sql.SQL("drop database {} with (force)")
            admin.execute(drop.format(sql.Identifier(name)))
            admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:top-secret@127.0.0.1:1/base",
        "postgresql://me:top-secret@127.0.0.1:port/base",
        "postgresql://me:top-secret%zz@127.0.0.1:1/base",
        "postgresql://me@127.0.0.1:1/base?password=top-secret&unknown=1",
    ],
)
def test_no_error_repeats_a_password(address: str) -> None:
    """Neither the message nor its causes have the password of the address."""
    with pytest.raises((StoreError, OptionError)) as raised:
        open_postgres(address)
    shown: BaseException | None = raised.value
    while shown is not None:
        assert "secret" not in str(shown)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


def test_a_rebuild_needs_no_more_than_two_connections_of_the_pool(address: str) -> None:
    """One holds the writers back, and another one reads."""
    entry = make_entry("a", ["lease"])
    with closing(open_postgres(f"{address}&connections=2")) as store:
        store.ensure_settings(SETTINGS)
        store.put_document(entry)
        with store.open_rebuild({**SETTINGS, "revision": "1"}) as rebuild, rebuild.hold_writers():
            for name, version in rebuild.outdated():
                assert rebuild.version(name) == version
                rebuild.put(entry, version=version)
            rebuild.switch()
        assert store.rebuilt


def test_tenants_are_granted_listed_and_revoked_by_the_command_line(
    store: PostgresStore, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert store.list_tenants() == []
    role = f"role_{secrets.token_hex(6)}"
    command = ["acme", "--role", role, "--kb", address]
    assert main(["tenants", "grant", *command]) == ExitCode.ERROR
    assert role in capsys.readouterr().err, "there is no such role"
    with psycopg.connect(address.partition("?")[0]) as connection:
        connection.execute(sql.SQL("create role {}").format(sql.Identifier(role)))
    assert main(["tenants", "grant", *command]) == ExitCode.OK
    capsys.readouterr()
    assert main(["tenants", "list", "--kb", address, "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == [{"tenant": "acme", "role": role}]
    assert main(["tenants", "revoke", *command]) == ExitCode.OK
    assert main(["tenants", "revoke", *command]) == ExitCode.NOTHING_FOUND
    assert store.list_tenants() == []


def test_a_folder_has_no_tenants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None):
        pass
    command = ["tenants", "list", "--kb", str(tmp_path / "a.kb")]
    assert main(command) == ExitCode.USAGE
    assert "PostgreSQL" in capsys.readouterr().err

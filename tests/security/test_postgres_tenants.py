"""Tenants of a knowledge base in PostgreSQL are kept apart by the server."""

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg import errors, sql

from spanwise.errors import ConflictError, OptionError, StoreError
from spanwise.filters import parse_filter
from spanwise.stores.copy import StoreCopy
from spanwise.stores.embedded import open_embedded
from spanwise.stores.port import DocumentUpdate, Store
from spanwise.stores.postgres.parts import Kind, row_key
from spanwise.stores.postgres.store import PostgresStore, open_postgres
from spanwise.stores.postgres.uploads import PostgresUploads
from spanwise.stores.row_checksums import POSITION_BITS
from spanwise.testing.store_entries import SETTINGS, make_entry, make_output, question
from spanwise.testing.store_records import make_turn
from spanwise.testing.store_suite import check_scan

_TABLES = (
    "document",
    "section",
    "page",
    "chunk",
    "vector",
    "field",
    "former_field",
    "output",
    "thread",
    "turn",
    "index_part",
    "part_row",
)


@dataclass(frozen=True)
class Base:
    """Knowledge base with two tenants, and the roles that use it."""

    owner: str
    """Address of the role that owns the tables; it is no superuser."""
    app: str
    """Address of a role to which the tenant "acme" is granted."""
    stranger: str
    """Address of a role without any grant."""
    superuser: str
    """Address of a superuser."""


@pytest.fixture
def base(postgres_url: str) -> Iterator[Base]:
    """Return a knowledge base with a document of each of two tenants."""
    suffix = secrets.token_hex(4)
    schema, names = f"tenants_{suffix}", [f"{word}_{suffix}" for word in ("owner", "app", "other")]
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("create extension if not exists vector")
        database = sql.Identifier(admin.info.dbname)
        for name in names:
            admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        grant = sql.SQL("grant create on database {} to {}")
        admin.execute(grant.format(database, sql.Identifier(names[0])))
        owner, app, stranger = (
            postgres_url.replace("postgres@", f"{name}@") + f"?schema={schema}" for name in names
        )
        for tenant in ("acme", "globex"):
            with closing(open_postgres(f"{owner}&tenant={tenant}")) as store:
                store.ensure_settings(SETTINGS)
                entry = make_entry("report", [f"lease of {tenant}"], metadata={"of": tenant})
                store.put_document(entry)
                store.put_outputs([make_output("key", f"output of {tenant}")])
                store.append_turn("thread", make_turn(f"Who is {tenant}?"))
                store.record_former_fields([f"field of {tenant}"])
        with closing(open_postgres(owner)) as store:
            store.grant_tenant("acme", role=names[1])
        yield Base(owner, app, stranger, f"{postgres_url}?schema={schema}")
        admin.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(schema)))
        for name in names:
            admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(name)))


def _texts(store: PostgresStore) -> list[str]:
    """Return the texts of all documents that a store sees."""
    with store.connections.reading() as connection:
        return [text for (text,) in connection.execute("select text from chunk order by text")]


def test_a_tenant_sees_only_its_documents(base: Base) -> None:
    """Tenants use the same ids, and see neither documents nor outputs of each other."""
    for tenant, address in (("acme", base.app), ("acme", base.owner), ("globex", base.owner)):
        with closing(open_postgres(f"{address}&tenant={tenant}", create=False)) as store:
            assert [record.metadata for record in store.list_records()] == [{"of": tenant}]
            document = store.get_document("report")
            assert document is not None
            assert document.text == f"lease of {tenant}"
            assert _texts(store) == [f"lease of {tenant}"]
            assert store.list_records(parse_filter(f"of != '{tenant}'")) == []
            assert store.get_outputs(["key"]) == {"key": f"output of {tenant}"}
            assert store.count_outputs()[0] == 1
            assert [info.title for info in store.list_threads()] == [f"Who is {tenant}?"]
    with closing(open_postgres(base.owner)) as store:
        assert _texts(store) == ["lease of acme", "lease of globex"], "the owner sees all"


def test_a_search_counts_only_the_documents_of_its_tenant(base: Base) -> None:
    """Scores are those of a knowledge base without other tenants, in and outside of the index."""
    own = [make_entry("report", ["lease of acme"], metadata={"of": "acme"})]
    own += [make_entry(f"a{n}", [f"lease {n} goodwill\n", f"margin {n}\n"]) for n in range(3)]
    query = question("lease margin goodwill of")
    with ExitStack() as stack:
        owner, acme, globex = (
            stack.enter_context(closing(open_postgres(address)))
            for address in (base.owner, f"{base.app}&tenant=acme", f"{base.owner}&tenant=globex")
        )
        for number, entry in enumerate(own[1:]):
            acme.put_document(entry)
            globex.put_document(make_entry(f"g{number}", ["goodwill margin\n", "lease lease\n"]))
        check_scan(acme, own, query)
        for compacted in (acme, owner, globex, acme):
            compacted.compact()
            check_scan(acme, own, query)
            with owner.snapshot() as snapshot:
                assert snapshot.scan(query).all_documents == 8
            with globex.snapshot() as snapshot:
                assert snapshot.scan(query).all_documents == 4
        with acme.connections.reading() as connection:
            count = "select count(*) from index_part where tenant <> 'acme'"
            assert connection.execute(count).fetchone() == (0,), "parts of others are hidden"


def test_a_tenant_changes_only_its_documents(base: Base) -> None:
    """A tenant adds, replaces and deletes its documents; those of others stay."""
    with closing(open_postgres(f"{base.app}&tenant=acme")) as store:
        assert store.put_document(make_entry("new", ["rent"])) == "added"
        assert store.put_document(make_entry("report", ["loan"])) == "replaced"
        assert _texts(store) == ["loan", "rent"]
        assert store.delete_document("report")
        assert not store.delete_document("report")
    with closing(open_postgres(f"{base.owner}&tenant=globex")) as store:
        assert _texts(store) == ["lease of globex"]


def test_another_tenant_in_the_metadata_is_refused(base: Base) -> None:
    """An address with a tenant writes no document of another tenant."""
    with closing(open_postgres(f"{base.app}&tenant=acme")) as store:
        with pytest.raises(OptionError, match=r"tenant 'globex'.*'acme'"):
            store.put_document(make_entry("new", ["rent"], metadata={"tenant": "globex"}))
        record = store.get_record("report")
        assert record is not None
        update = DocumentUpdate(
            title="", metadata={"tenant": "globex"}, given_fields=(), origins=None
        )
        with pytest.raises(OptionError, match="tenant 'globex'"):
            store.update_document("report", update, record=record)
        store.put_document(make_entry("own", ["rent"], metadata={"tenant": "acme"}))
        assert _texts(store) == ["lease of acme", "rent"]


def test_metadata_of_the_owner_choose_the_tenant(base: Base) -> None:
    """Without a tenant in the address, the field `tenant` of the metadata decides."""
    with closing(open_postgres(base.owner)) as store:
        store.put_document(make_entry("new", ["rent"], metadata={"tenant": "acme"}))
        record = store.get_record("new")
        assert record is not None
        with closing(open_postgres(f"{base.app}&tenant=acme")) as acme:
            assert _texts(acme) == ["lease of acme", "rent"]
            update = DocumentUpdate(
                title="", metadata={"tenant": "globex"}, given_fields=(), origins=None
            )
            assert store.update_document("new", update, record=record)
            assert _texts(acme) == ["lease of acme"], "it belongs to another tenant now"
            assert acme.get_record("new") is None


def _update(store: Store, document_id: str, **metadata: str) -> bool:
    record = store.get_record(document_id)
    assert record is not None
    update = DocumentUpdate(title="", metadata=metadata, given_fields=(), origins=None)
    return store.update_document(document_id, update, record=record)


def test_without_the_field_a_document_leaves_its_tenant(base: Base) -> None:
    """But the tenant of the address under which a document was added stays."""
    with (
        closing(open_postgres(base.owner)) as store,
        closing(open_postgres(f"{base.app}&tenant=acme")) as acme,
    ):
        store.put_document(make_entry("new", ["rent"], metadata={"tenant": "acme"}))
        assert _update(store, "new", of="nobody")
        assert _texts(acme) == ["lease of acme"]
        assert "rent" in _texts(store)
        assert _update(store, "report", of="acme and others")
        assert _texts(acme) == ["lease of acme"]


def test_a_document_is_not_moved_to_a_tenant_with_its_id(base: Base) -> None:
    with closing(open_postgres(base.owner)) as store:
        store.put_document(make_entry("report", ["rent"]))
        with pytest.raises(ConflictError, match="'acme'"):
            _update(store, "report", tenant="acme")
        assert "rent" in _texts(store)


def test_a_document_of_another_tenant_disappears_from_searches(base: Base) -> None:
    """A document that changes its tenant is no longer found by processes that have read it."""
    query = question("rent")
    with ExitStack() as stack:
        owner, acme, globex = (
            stack.enter_context(closing(open_postgres(address)))
            for address in (base.owner, f"{base.app}&tenant=acme", f"{base.owner}&tenant=globex")
        )
        acme.put_document(make_entry("new", ["rent"], metadata={"tenant": "acme"}))
        for store, found in ((acme, 1), (globex, 0)):
            with store.snapshot() as snapshot:
                assert snapshot.scan(query).term_chunks.tolist() == [found]
        record = owner.get_record("new")
        assert record is not None
        update = DocumentUpdate(
            title="", metadata={"tenant": "globex"}, given_fields=(), origins=None
        )
        assert owner.update_document("new", update, record=record)
        for store, found in ((acme, 0), (globex, 1)):
            with store.snapshot() as snapshot:
                assert snapshot.scan(query).term_chunks.tolist() == [found]


def test_the_owner_uses_no_index_of_a_tenant(base: Base) -> None:
    """A role can write what it likes into its part of the index; searches of others ignore it."""
    query = question("lease of globex")
    with ExitStack() as stack:
        owner, acme = (
            stack.enter_context(closing(open_postgres(address)))
            for address in (base.owner, f"{base.app}&tenant=acme")
        )
        with owner.snapshot() as snapshot:
            expected = snapshot.scan(query)
        acme.compact()
        with acme.connections.writing() as connection:
            changed = connection.execute("update part_row set data = '\\x00', crc = 3523407757")
            assert changed.rowcount
        with (
            closing(open_postgres(base.owner)) as other,
            other.snapshot() as snapshot,
        ):
            found = snapshot.scan(query)
        assert found.all_documents == expected.all_documents
        assert found.handles.tolist() == expected.handles.tolist()


_SETTINGS: tuple[LiteralString, ...] = (
    "select set_config('spanwise.tenant', '', false)",
    "select set_config('spanwise.tenant', 'globex', false)",
    "reset spanwise.tenant",
)


@pytest.mark.parametrize("setting", _SETTINGS)
def test_a_role_reads_no_other_tenant_in_raw_sql(base: Base, setting: LiteralString) -> None:
    """Whatever a role sets, it reads and deletes no row of a tenant that is not granted to it."""
    schema = base.app.rpartition("=")[2]
    with psycopg.connect(base.app.partition("?")[0], autocommit=True) as connection:
        connection.execute("select set_config('search_path', %s, false)", (schema,))
        connection.execute(setting)
        for table in _TABLES:
            query = sql.SQL("select count(*) from {}").format(sql.Identifier(table))
            assert connection.execute(query).fetchone() == (0,), table
            deletion = sql.SQL("delete from {}").format(sql.Identifier(table))
            assert connection.execute(deletion).rowcount == 0, table
        connection.execute("select set_config('spanwise.tenant', 'acme', false)")
        assert connection.execute("select text from chunk").fetchall() == [("lease of acme",)]


def test_a_role_writes_no_other_tenant_in_raw_sql(base: Base) -> None:
    """The server refuses rows of another tenant, and every way around row-level security."""
    schema = base.app.rpartition("=")[2]
    statements: list[LiteralString] = [
        "insert into chunk values (1, 'globex', 0, 0, 1, 'text', '', '')",
        "insert into chunk values (1, '', 0, 0, 1, 'text', '', '')",
        "update chunk set tenant = 'globex'",
        "insert into tenant_role values (current_user, 'globex')",
        "update tenant_role set tenant = 'globex'",
        "insert into setting values ('a', 'b')",
        "alter table chunk disable row level security",
        "alter table chunk no force row level security",
        "drop policy tenant on chunk",
        "set local row_security = off; select * from chunk",
        "create or replace function sees_all() returns boolean language sql as $$ select true $$",
        "drop table chunk",
        "insert into change (document, gone) values (2, true)",
        "select setval('document_number', 1)",
    ]
    with psycopg.connect(base.app.partition("?")[0], autocommit=True) as connection:
        connection.execute("select set_config('search_path', %s, false)", (schema,))
        connection.execute("select set_config('spanwise.tenant', 'acme', false)")
        for statement in statements:
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement)


def test_a_role_adds_nothing_to_a_document_of_another_tenant(base: Base) -> None:
    """Rows of its own tenant cannot belong to a document, conversation or file of another one."""
    with closing(open_postgres(f"{base.owner}&tenant=globex")) as globex:
        globex.compact()
        file = PostgresUploads(globex.connections).create("job", "report.txt")
        with globex.connections.reading() as connection:
            own = connection.execute(
                "select (select number from document), (select number from thread),"
                " (select part from index_part)"
            ).fetchone()
    assert own is not None
    document, thread, part = own
    key = document << POSITION_BITS | 7
    statements: list[tuple[LiteralString, int]] = [
        ("insert into chunk values (%s, 'acme', 0, 0, 1, 'text', '', '')", key),
        ("insert into chunk values (%s, 'acme', 0, 0, 1, 'text', '', '')", key + (9 << 32)),
        ("update chunk set key = %s", key),
        ("update vector set key = %s", key),
        ("update vector set document = %s", document),
        ("update section set document = %s, position = 7", document),
        ("update page set document = %s, position = 7", document),
        ("update field set document = %s, position = 7", document),
        ("insert into signal values (%s, 'lease', 'acme', '')", document),
        ("insert into heading values (%s, 7, 'acme', 0, 1, 1, 'title')", document),
        ("insert into block values (%s, 7, 'acme', 0, 1, 'table')", document),
        ("insert into figure values (%s, 7, 'acme', 0, 1, '')", document),
        ("insert into turn values (%s, 1, 'acme', '{}')", thread),
        ("insert into upload_block values (%s, 0, 'acme', '')", file),
        ("insert into part_row values (%s, 'acme', 0, '')", row_key(part, Kind.ARRAYS, 1)),
        ("insert into index_part values (%s, 'acme', '', 1, 1, 1, 1)", part + 1000),
    ]
    schema = base.app.rpartition("=")[2]
    with psycopg.connect(base.app.partition("?")[0], autocommit=True) as connection:
        connection.execute("select set_config('search_path', %s, false)", (f"{schema},public",))
        connection.execute("select set_config('spanwise.tenant', 'acme', false)")
        for statement, number in statements:
            with pytest.raises((errors.InsufficientPrivilege, errors.CheckViolation)):
                connection.execute(statement, (number,))


def test_changes_of_a_role_are_logged_in_order(base: Base) -> None:
    """A change waits for the lock of documents, so that other processes see each change."""
    schema = base.app.rpartition("=")[2]
    with (
        psycopg.connect(base.app.partition("?")[0], autocommit=True) as connection,
        closing(open_postgres(base.owner)) as owner,
        owner.connections.writing() as other,
    ):
        owner.connections.lock_documents(other)
        connection.execute("select set_config('search_path', %s, false)", (schema,))
        connection.execute("select set_config('spanwise.tenant', 'acme', false)")
        connection.execute("set lock_timeout = '100ms'")
        with pytest.raises(errors.LockNotAvailable):
            connection.execute("delete from document")


def test_a_role_chooses_no_document_number(base: Base) -> None:
    """A number above the drawn ones would hide later documents from other processes."""
    schema = base.app.rpartition("=")[2]
    with psycopg.connect(base.app.partition("?")[0], autocommit=True) as connection:
        connection.execute("select set_config('search_path', %s, false)", (schema,))
        connection.execute("select set_config('spanwise.tenant', 'acme', false)")
        with pytest.raises(errors.RaiseException, match="was not drawn"):
            connection.execute("update document set number = 1000000")


def test_a_role_without_a_grant_reads_nothing(base: Base) -> None:
    """A role of the server without a grant cannot open the knowledge base."""
    for tenant in ("", "&tenant=acme"):
        with pytest.raises(StoreError, match="grant"):
            open_postgres(base.stranger + tenant, create=False)


def test_a_tenant_that_is_not_granted_is_refused(base: Base) -> None:
    """A role that names another tenant, or none, is told so, instead of seeing no documents."""
    for tenant in ("", "&tenant=globex"):
        with pytest.raises(StoreError, match=r"sees no documents.*\?tenant=: acme$"):
            open_postgres(base.app + tenant, create=False)


def test_a_role_that_may_read_without_a_grant_is_refused(base: Base) -> None:
    """Rights on the tables are not enough: row-level security hides all rows."""
    role = sql.Identifier(base.stranger.partition("//")[2].partition("@")[0])
    schema = sql.Identifier(base.stranger.rpartition("=")[2])
    with psycopg.connect(base.superuser.partition("?")[0], autocommit=True) as admin:
        rights = "grant usage on schema {0} to {1}; grant select on all tables in schema {0} to {1}"
        admin.execute(sql.SQL(rights).format(schema, role))
        with pytest.raises(StoreError, match="spanwise tenants grant"):
            open_postgres(base.stranger, create=False)
        admin.execute(sql.SQL("alter role {} bypassrls").format(role))
        with closing(open_postgres(base.stranger, create=False)) as store:
            assert _texts(store) == ["lease of acme", "lease of globex"], "it reads, and only that"
            with pytest.raises(StoreError, match="permission denied"):
                store.delete_document("report")


def test_a_revoked_tenant_is_no_longer_seen(base: Base) -> None:
    """A revoked grant takes effect at once."""
    with ExitStack() as stack:
        owner = stack.enter_context(closing(open_postgres(base.owner)))
        app = stack.enter_context(closing(open_postgres(f"{base.app}&tenant=acme")))
        assert len(app.list_records()) == 1
        role = base.app.partition("//")[2].partition("@")[0]
        owner.revoke_tenant("acme", role=role)
        assert app.list_records() == []
        with pytest.raises(StoreError):
            app.put_document(make_entry("new", ["rent"]))


def test_an_error_inside_a_round_trip_is_reported_once(base: Base, tmp_path: Path) -> None:
    """The database client prints no message of its own."""
    code = (
        "import sys\n"
        "from spanwise.stores.postgres.store import open_postgres\n"
        "from spanwise.testing.store_entries import make_entry\n"
        "app, owner = map(open_postgres, sys.argv[1:3])\n"
        "owner.revoke_tenant('acme', role=sys.argv[3])\n"
        "app.put_document(make_entry('new', ['rent ' * 100] * 4000))\n"
    )
    role = base.app.partition("//")[2].partition("@")[0]
    command = [sys.executable, "-c", code, f"{base.app}&tenant=acme", base.owner, role]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert "violates row-level security" in done.stderr
    assert "error ignored" not in done.stderr


def test_a_tenant_needs_a_role_under_row_level_security(base: Base) -> None:
    """A superuser would see all tenants, so an address with a tenant is refused."""
    with pytest.raises(OptionError, match="bypasses row-level security"):
        open_postgres(f"{base.superuser}&tenant=acme")


def test_a_copy_loses_no_document_of_a_tenant(base: Base, tmp_path: Path) -> None:
    """Ids of several tenants cannot be told apart; a copy of one tenant has its documents only."""
    with (
        closing(open_postgres(base.owner)) as store,
        closing(open_embedded(tmp_path / "all")) as target,
        pytest.raises(StoreError, match="tenant"),
    ):
        copy_of(store, target).run()
    with (
        closing(open_postgres(f"{base.app}&tenant=acme")) as store,
        closing(open_embedded(tmp_path / "acme")) as target,
    ):
        assert copy_of(store, target).run().documents == 1
        document = target.get_document("report")
        assert document is not None
        assert document.text == "lease of acme"


def copy_of(source: Store, target: Store) -> StoreCopy:
    """Return a copy to make."""
    return StoreCopy(
        source=source, target=target, source_name="source", target_name="target", origin="source"
    )


def test_a_rebuild_of_one_tenant_is_refused(base: Base) -> None:
    """A rebuild replaces the settings of all tenants, so it needs the owner."""
    with closing(open_postgres(f"{base.owner}&tenant=acme")) as store:
        settings = {**SETTINGS, "revision": "1"}
        with pytest.raises(StoreError, match="without a tenant"), store.open_rebuild(settings):
            pass


def test_a_grant_needs_a_tenant_and_the_owner(base: Base) -> None:
    """An empty tenant is refused, and so is a grant by another role."""
    role = base.stranger.partition("//")[2].partition("@")[0]
    calls: list[Callable[[PostgresStore], None]] = [
        lambda store: store.grant_tenant("globex", role=role),
        lambda store: store.grant_tenant("acme", role="no such role"),
    ]
    with closing(open_postgres(f"{base.app}&tenant=acme")) as store:
        for call in calls:
            with pytest.raises(StoreError):
                call(store)
    with closing(open_postgres(base.owner)) as store, pytest.raises(OptionError, match="empty"):
        store.grant_tenant("", role=role)

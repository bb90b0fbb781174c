"""Tables of a knowledge base in PostgreSQL, and their numbered migrations.

Rules:
    All tables are in one schema. A transaction finds them by its search path, so no statement names
        the schema (see `connections`).
    The table `format` has one row: the number of migrations that were applied.
    A change of the tables is a further function in `_MIGRATIONS`. Earlier ones are never changed
        after a release.

Tenants:
    Each row with text of a document has the tenant of its document; "" for none. Row-level security
        shows the rows of the tenant of the transaction, `spanwise.tenant`. The owner of the tables
        sees all rows if it names no tenant.
    A role that does not own the tables sees only the tenants that `tenant_role` grants to it,
        whatever it sets `spanwise.tenant` to.
    Row-level security is forced, so it applies to the owner too. Roles that bypass it may not use
        an address with a tenant.
    A row belongs to a row of the same tenant, such as a chunk to its document. A role that does not
        own the tables cannot write other rows.
    Index parts have the tenant of the transaction that wrote them, and only transactions with the
        same tenant read them, because the role of a tenant can write anything into its parts. Other
        documents count as missing there, and get further parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from psycopg import errors, sql

from spanwise.errors import FormatError, OptionError, StoreError
from spanwise.stores.postgres import job_tables
from spanwise.stores.postgres.connections import lock_key
from spanwise.stores.postgres.parts import PART_SHIFT
from spanwise.stores.row_checksums import POSITION_BITS

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection, PostgresConnections

_SHOWN_TENANTS = 5
_MIN_VECTOR_VERSION = "0.8"  # the first version with iterative scans

_TABLES = """
create table setting (
    name text primary key,
    value text not null
);

create sequence document_number as bigint;

create table document (
    number bigint primary key,
    tenant text not null default '',
    id text collate "C" not null,
    title text not null,
    summary text not null,
    title_words text not null,
    given_title text not null,
    metadata json not null,
    media_type text not null,
    source text not null,
    source_root text not null,
    content_hash text not null,
    text_hash text not null,
    warnings text not null,
    chars bigint not null,
    chunks bigint not null,
    tokens bigint not null,
    pages bigint not null,
    given_fields text not null,
    language text not null,
    status text not null,
    recipe text not null,
    changed bigint not null default 0
);
create index document_id on document using hash (id);
create unique index document_short_id on document (id, tenant) where length(id) <= 500;
create index document_language on document (language, tenant);
create index document_source_root on document using hash (source_root);

create table section (
    document bigint not null,
    position bigint not null,
    tenant text not null default '',
    start bigint not null,
    stop bigint not null,
    title text not null,
    path text not null,
    header_tokens bigint not null,
    summary text not null,
    extracted_title boolean not null,
    primary key (document, position)
);

create table page (
    document bigint not null,
    position bigint not null,
    tenant text not null default '',
    start bigint not null,
    stop bigint not null,
    label text,
    primary key (document, position)
);

create table heading (
    document bigint not null,
    position bigint not null,
    tenant text not null default '',
    start bigint not null,
    stop bigint not null,
    level bigint not null,
    title text not null,
    primary key (document, position)
);

create table block (
    document bigint not null,
    position bigint not null,
    tenant text not null default '',
    start bigint not null,
    stop bigint not null,
    kind text not null,
    primary key (document, position)
);

create table figure (
    document bigint not null,
    position bigint not null,
    tenant text not null default '',
    start bigint not null,
    stop bigint not null,
    detail text not null,
    primary key (document, position)
);

create table chunk (
    key bigint primary key,
    tenant text not null default '',
    section bigint not null,
    start bigint not null,
    tokens bigint not null,
    text text not null,
    table_head text not null,
    context text not null
);

create table vector (
    key bigint primary key,
    tenant text not null default '',
    document bigint not null,
    embedding halfvec not null,
    check (document = key >> 32)
);

create table signal (
    document bigint not null,
    landmark text not null,
    tenant text not null default '',
    data bytea not null,
    primary key (document, landmark)
);

create table field (
    document bigint not null,
    name text collate "C" not null,
    position bigint not null,
    tenant text not null default '',
    kind text not null,
    is_listed boolean not null,
    exact bytea,
    folded bytea,
    is_date boolean not null,
    number numeric,
    truth boolean,
    primary key (document, name, position)
);
create index field_kind on field (name, kind);
create index field_number on field (name, number) where number is not null;
create index field_text on field (name, substring(folded from 1 for 64)) where folded is not null;

create table former_field (
    tenant text not null default '',
    name text not null,
    primary key (tenant, name)
);

create table change (
    seq bigint generated always as identity primary key,
    document bigint not null,
    gone boolean not null
);

create table output (
    tenant text not null default '',
    key text not null,
    task text not null,
    model text not null,
    output bytea not null,
    created timestamptz not null default now(),
    primary key (tenant, key)
);

create table thread (
    number bigint generated always as identity primary key,
    tenant text not null default '',
    id text collate "C" not null,
    title text not null,
    turns bigint not null,
    created_at text not null,
    changed_at text not null,
    unique (id, tenant)
);

create table turn (
    thread bigint not null references thread on delete cascade,
    position bigint not null,
    tenant text not null default '',
    turn text not null,
    primary key (thread, position)
);

create table tenant_role (
    role name not null,
    tenant text not null check (tenant <> ''),
    primary key (role, tenant)
);

create sequence part_number as bigint;

create table index_part (
    part bigint primary key,
    tenant text not null default '',
    version text not null,
    first bigint not null,
    last bigint not null,
    documents bigint not null,
    rows bigint not null
);

create table part_row (
    key bigint primary key,
    tenant text not null default '',
    crc bigint not null,
    data bytea not null
) with (toast_tuple_target = 8160);
alter table part_row alter column data set storage external;

create table near (
    batch bigint not null,
    tenant text not null default '',
    document bigint not null,
    key bigint not null,
    embedding halfvec not null
);

create table near_index (
    batch bigint primary key,
    high bigint not null,
    rows bigint not null
);
"""
"""Tables of the first migration.

A B-tree index has no entries above 2,704 bytes, and the path of a file in nested archives may be
longer. `document_id` finds documents by any id. Ids above 500 characters are unique because writers
take the lock of documents.

`field` has a row for each item of a field, see `fields`. `part_row` has the contents of index
parts, see `parts`; PostgreSQL does not compress them. A later migration drops `near` and
`near_index`.
"""

_TENANT_TABLES = (
    "document",
    "section",
    "page",
    "heading",
    "block",
    "figure",
    "chunk",
    "vector",
    "signal",
    "field",
    "former_field",
    "output",
    "thread",
    "turn",
    "index_part",
    "part_row",
)
DOCUMENT_TABLES = ("section", "page", "heading", "block", "figure", "signal", "field")
"""Tables with rows of a document, besides `document`, `chunk` and `vector`."""

# A condition in a subselect is computed once per statement, not once per row.
_TENANTS = """
create function is_owner() returns boolean language sql stable set search_path = pg_catalog as
    $$ select pg_has_role(current_user, relowner, 'member') from pg_class where oid = {document} $$;

create function chosen_tenant() returns text language sql stable set search_path = pg_catalog as
    $$ select nullif(current_setting('spanwise.tenant', true), '') $$;

create function sees_all() returns boolean language sql stable as
    $$ select {schema}.is_owner() and {schema}.chosen_tenant() is null $$;

create function seen_tenant() returns text language sql stable as
    $$ select tenant from {schema}.tenant_role
       where tenant = {schema}.chosen_tenant() and not {schema}.is_owner()
       union select {schema}.chosen_tenant() where {schema}.is_owner()
       limit 1 $$;

alter table tenant_role enable row level security;
alter table tenant_role force row level security;
create policy own on tenant_role using (
    (select is_owner()) or case when to_regrole(quote_ident(role)) is null then false
        else pg_has_role(current_user, to_regrole(quote_ident(role)), 'member') end
) with check ((select is_owner()));
"""
# Triggers keep the log of changes, so no role can hide a document of another tenant by an entry.
# The lock is that of `lock_documents`, which a role may omit.
_CHANGES = """
create function record_change() returns trigger language plpgsql security definer
    set search_path = pg_catalog as $$
    begin
        perform pg_advisory_xact_lock({lock});
        if tg_op <> 'DELETE' and new.number > (select last_value from {schema}.document_number)
        then
            raise exception 'document number % was not drawn from document_number', new.number;
        end if;
        if tg_op = 'UPDATE' and old.number = new.number then
            insert into {schema}.change (document, gone) values (-new.number, false);
            return null;
        end if;
        if tg_op <> 'INSERT' then
            insert into {schema}.change (document, gone) values (old.number, true);
        end if;
        if tg_op <> 'DELETE' then
            insert into {schema}.change (document, gone) values (new.number, false);
        end if;
        return null;
    end $$;
create trigger change after insert or update or delete on document
    for each row execute function record_change();
"""
"""Log of changes: a row for each document that was added (its number) or deleted (`gone`), and one
with the negative number for each record that changed in place."""

_POLICY = """
alter table {table} enable row level security;
alter table {table} force row level security;
create policy tenant on {table}
    using ((select sees_all()) or tenant = (select seen_tenant()));
"""
_PARENT_POLICY = """
create policy parent on {table} as restrictive
    using (true)
    with check ((select is_owner()) or exists (select from {parent} where
        {parent}.{number} = {table}.{column} >> {shift} and {parent}.tenant = {table}.tenant));
"""
_PART_POLICY = """
create policy drawn on index_part as restrictive
    using (true)
    with check ((select is_owner()) or part <= (select last_value from part_number));
"""
_GRANTS = """
grant usage on schema {schema} to {role};
grant select on setting, format, change, tenant_role to {role};
grant select, insert, update, delete on {tables} to {role};
grant usage on all sequences in schema {schema} to {role};
grant select on sequence part_number to {role};
"""


class _Parent(NamedTuple):
    """Row to which the rows of another table belong. Both have the same tenant."""

    table: str
    number: str
    """Key of the parent."""
    column: str
    """Column with the key of the parent in its higher bits."""
    shift: int = 0
    """Number of the lower bits."""


_DOCUMENT = _Parent("document", "number", "document")
_PARENTS = {
    **dict.fromkeys(DOCUMENT_TABLES, _DOCUMENT),
    "chunk": _Parent("document", "number", "key", POSITION_BITS),
    "vector": _DOCUMENT,
    "turn": _Parent("thread", "number", "thread"),
    "part_row": _Parent("index_part", "part", "key", PART_SHIFT),
}
"""Parent of the rows of each table. A role that does not own the tables cannot add a row to a
parent of another tenant, which the owner would read as a part of it."""


def _create_tables(connection: Connection, schema: str) -> None:
    """Create all tables, functions and policies."""
    connection.execute(_TABLES)
    row = connection.execute("select 'document'::regclass::oid").fetchone()
    assert row is not None  # noqa: S101 - a select without a table returns one row
    connection.execute(
        sql.SQL(_TENANTS).format(document=sql.Literal(row[0]), schema=sql.Identifier(schema))
    )
    connection.execute(
        sql.SQL(_CHANGES).format(
            schema=sql.Identifier(schema), lock=sql.Literal(lock_key(schema, "documents"))
        )
    )
    for table in (*_TENANT_TABLES, "near"):
        connection.execute(sql.SQL(_POLICY).format(table=sql.Identifier(table)))
    for table, parent in _PARENTS.items():
        _require_parent(connection, table, parent)
    connection.execute(_PART_POLICY)


def _require_parent(connection: Connection, table: str, parent: _Parent) -> None:
    """Create the policy that the rows of a table belong to a parent of the same tenant."""
    connection.execute(
        sql.SQL(_PARENT_POLICY).format(
            table=sql.Identifier(table),
            parent=sql.Identifier(parent.table),
            number=sql.Identifier(parent.number),
            column=sql.Identifier(parent.column),
            shift=sql.Literal(parent.shift),
        )
    )


def _create_job_tables(connection: Connection, _: str) -> None:
    """Create the tables of ingest jobs and uploaded files."""
    connection.execute(job_tables.TABLES)
    for table in job_tables.JOB_TABLES:
        connection.execute(sql.SQL(_POLICY).format(table=sql.Identifier(table)))
    _require_parent(connection, "upload_block", _Parent("upload", "number", "upload"))


def _drop_near_tables(connection: Connection, _: str) -> None:
    """Drop the HNSW index and its copies of the vectors: searches compare all vectors."""
    connection.execute("drop table near, near_index")


_MIGRATIONS: tuple[Callable[[Connection, str], None], ...] = (
    _create_tables,
    _create_job_tables,
    _drop_near_tables,
)
"""Functions that migrate the tables to the next format, in order."""

FORMAT = len(_MIGRATIONS)
"""Format of the tables that this program works with."""


def prepare(connections: PostgresConnections, *, create: bool) -> None:
    """Check the server, and create or migrate the tables.

    Args:
        connections: Connections to the knowledge base.
        create: Whether to create a missing knowledge base.

    Raises:
        FormatError: If the knowledge base is missing and `create` is False, or is of a newer
            version.
        OptionError: If a tenant is given, and the role bypasses row-level security.
        StoreError: If the server cannot be reached, lacks pgvector, or refuses a statement; or if
            the tenant of the address is not granted to the role.
    """
    with connections.connect() as connection:
        _check_server(connection, connections)
        format_ = _read_format(connection, connections.schema)
        if format_ is None and not create:
            raise FormatError(
                f"there is no knowledge base in {connections.address}; check the address, or add "
                "documents to create one"
            )
        if format_ is not None:
            _check_format(format_, connections)
        if format_ != FORMAT:
            _migrate(connection, connections)
        _check_tenant(connection, connections)
        _read_types(connection, connections)


def check_format(connections: PostgresConnections) -> None:
    """Check that this program can use the tables, as they are now.

    Raises:
        FormatError: If a newer program has migrated them, or they are missing.
        StoreError: If the server cannot be reached.
    """
    with connections.reading() as connection:
        _check_format(_read_format(connection, connections.schema) or 0, connections)


def _check_format(format_: int, connections: PostgresConnections) -> None:
    if format_ > FORMAT:
        raise FormatError(
            f"{connections.address} has format {format_}, this program reads formats up to "
            f"{FORMAT}; update spanwise"
        )


def create_staged(connection: Connection, schema: str) -> None:
    """Create all tables in a new schema, inside a write transaction of its connections."""
    connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    _apply(connection, schema, since=0)


def schema_exists(connection: Connection, schema: str) -> bool:
    """Return whether a schema has the tables of a knowledge base."""
    return _read_format(connection, schema) is not None


def grant_tenant(connection: Connection, schema: str, *, tenant: str, role: str) -> None:
    """Let a role read and write the documents of a tenant, inside a write transaction.

    Args:
        connection: Connection of the owner of the tables.
        schema: Schema of the knowledge base.
        tenant: Tenant, not empty.
        role: Existing role of the server, which does not own the tables.

    Raises:
        OptionError: If the tenant is empty.
    """
    if not tenant:
        raise OptionError("the tenant to grant is empty; give its name")
    tables = sql.SQL(", ").join(map(sql.Identifier, (*_TENANT_TABLES, *job_tables.JOB_TABLES)))
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role), "tables": tables}
    connection.execute(sql.SQL(_GRANTS).format(**names))
    connection.execute(
        "insert into tenant_role (role, tenant) values (%s, %s) on conflict do nothing",
        (role, tenant),
    )


def _check_server(connection: Connection, connections: PostgresConnections) -> None:
    row = connection.execute(
        "select current_setting('server_encoding'), rolsuper or rolbypassrls, rolname::text"
        " from pg_roles where rolname = current_user"
    ).fetchone()
    if row is None:
        return
    encoding, bypasses, role = row
    if encoding != "UTF8":
        raise StoreError(
            f"the database of {connections.address} has the encoding {encoding}; create it with "
            "the encoding UTF8"
        )
    if bypasses and connections.address.tenant:
        raise OptionError(
            f"the role {role!r} bypasses row-level security, so {connections.address} would not "
            "be restricted to its tenant; use a role that is no superuser and has no BYPASSRLS"
        )


def _check_tenant(connection: Connection, connections: PostgresConnections) -> None:
    """Check that the role may see documents: it would get an empty knowledge base otherwise.

    Raises:
        StoreError: If the role is not the owner of the tables, and the tenant of the address is not
            granted to it.
    """
    schema, address = sql.Identifier(connections.schema), connections.address
    row = connection.execute(
        sql.SQL(
            "select rolname::text, (select array_agg(distinct tenant order by tenant)"
            " from {schema}.tenant_role) from pg_roles where rolname = current_user"
            " and not rolsuper and not rolbypassrls and not {schema}.is_owner()"
        ).format(schema=schema)
    ).fetchone()
    if row is None or address.tenant in (row[1] or ()):
        return
    role, granted = row[0], row[1] or ()
    reason = f"the tenant {address.tenant!r} is not granted to it" * bool(address.tenant)
    advice = (
        f"choose one of its tenants with ?tenant=: {', '.join(granted[:_SHOWN_TENANTS])}"
        if granted
        else "let the owner of the tables grant it a tenant (`spanwise tenants grant`)"
    )
    raise StoreError(
        f"the role {role!r} sees no documents in {address}: "
        f"{reason or 'it does not own the tables, and the address names no tenant'}; {advice}"
    )


def _read_format(connection: Connection, schema: str) -> int | None:
    """Return the format of the tables in a schema, or None."""
    exists = connection.execute(
        "select 1 from pg_class join pg_namespace on pg_namespace.oid = relnamespace"
        " where nspname = %s and relname = 'format' and relkind = 'r'",
        (schema,),
    ).fetchone()
    if exists is None:
        return None
    row = connection.execute(
        sql.SQL("select number from {}").format(sql.Identifier(schema, "format"))
    ).fetchone()
    return None if row is None else int(row[0])


def _migrate(connection: Connection, connections: PostgresConnections) -> None:
    """Apply the missing migrations in one transaction; other processes wait."""
    with connection.transaction():
        connection.execute(
            "select pg_advisory_xact_lock(%s)", (lock_key(connections.schema, "migration"),)
        )
        format_ = _read_format(connection, connections.schema)
        if format_ is None:
            _create_extension(connection, connections)
            connection.execute(
                sql.SQL("create schema if not exists {}").format(sql.Identifier(connections.schema))
            )
        vector_schema = _read_vector_schema(connection)
        path = sql.SQL(", ").join(
            [sql.Identifier(connections.schema), sql.Identifier(vector_schema)]
        )
        connection.execute(sql.SQL("set local search_path = {}").format(path))
        _apply(connection, connections.schema, since=format_ or 0)


def _apply(connection: Connection, schema: str, *, since: int) -> None:
    if since == 0:
        connection.execute("create table format (number bigint not null)")
        connection.execute("insert into format values (0)")
    for migrate in _MIGRATIONS[since:]:
        migrate(connection, schema)
    connection.execute("update format set number = %s", (FORMAT,))


def _create_extension(connection: Connection, connections: PostgresConnections) -> None:
    """Create the extension `vector` in the database, unless it exists.

    Raises:
        StoreError: If the server lacks it, or the role may not create it.
    """
    if connection.execute("select 1 from pg_extension where extname = 'vector'").fetchone():
        return
    try:
        connection.execute("create extension if not exists vector")
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise StoreError(
            f"the server of {connections.address} has no extension `vector`; install pgvector "
            f"{_MIN_VECTOR_VERSION} or later on it (package postgresql-NN-pgvector)"
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the role may not create the extension `vector` in {connections.address}; let an "
            "administrator run `create extension vector` in this database once"
        ) from error


def _read_vector_schema(connection: Connection) -> str:
    row = connection.execute(
        "select nspname::text from pg_extension join pg_namespace on pg_namespace.oid ="
        " extnamespace where extname = 'vector'"
    ).fetchone()
    return "public" if row is None else str(row[0])


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _read_types(connection: Connection, connections: PostgresConnections) -> None:
    """Record the schema of the extension and the OID of `halfvec`.

    Raises:
        StoreError: If the extension is missing or too old.
    """
    row = connection.execute(
        "select nspname::text, pg_type.oid, extversion from pg_extension"
        " join pg_namespace on pg_namespace.oid = extnamespace"
        " left join pg_type on typnamespace = extnamespace and typname = 'halfvec'"
        " where extname = 'vector'"
    ).fetchone()
    if row is None or row[1] is None or _version(row[2]) < _version(_MIN_VECTOR_VERSION):
        version = "is missing" if row is None else f"has version {row[2]}"
        raise StoreError(
            f"the extension `vector` of {connections.address} {version}; install pgvector "
            f"{_MIN_VECTOR_VERSION} or later, and run `alter extension vector update`"
        )
    connections.vector_schema, connections.halfvec_oid = str(row[0]), int(row[1])

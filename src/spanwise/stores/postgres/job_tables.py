"""Tables of the ingest jobs of servers, and of the files that were uploaded to them.

Structured fields of jobs are JSON in columns of the type `text`, as the server writes them.
"""

JOB_TABLES = ("job", "job_total", "upload", "upload_block")
TABLES = """
create table job (
    number bigint generated always as identity primary key,
    tenant text not null default coalesce(current_setting('spanwise.tenant', true), ''),
    id text not null unique,
    state text not null default 'queued',
    url text not null,
    forgets_url boolean not null,
    names text not null,
    is_replacing boolean not null,
    options text not null,
    created_at timestamptz not null default clock_timestamp(),
    queued_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    attempts bigint not null default 0,
    cancel boolean not null default false,
    discard boolean not null default false,
    owner text not null default '',
    lease_until timestamptz,
    progress text,
    report text,
    error text
);
create index job_state on job (state, number);
create unique index job_running on job (tenant) where state = 'running';

create table job_total (
    tenant text not null default coalesce(current_setting('spanwise.tenant', true), ''),
    name text not null,
    value double precision not null,
    primary key (tenant, name)
);

create table upload (
    number bigint generated always as identity primary key,
    tenant text not null default coalesce(current_setting('spanwise.tenant', true), ''),
    job text not null,
    name text not null,
    submitted boolean not null default false,
    written_at timestamptz not null default clock_timestamp()
);
create index upload_job on upload (job);
create index upload_name on upload using hash (name);

create table upload_block (
    upload bigint not null references upload on delete cascade,
    position bigint not null,
    tenant text not null default coalesce(current_setting('spanwise.tenant', true), ''),
    data bytea not null,
    primary key (upload, position)
);
alter table upload_block alter column data set storage external;

create function is_own(tenant text) returns boolean language sql stable as
    $$ select tenant = coalesce(current_setting('spanwise.tenant', true), '') $$;
"""
"""Tables, and a function for the rows of the tenant of a transaction, or of no tenant.

A server without a tenant runs no job of a tenant, although its role may see all rows.
"""
